// SPDX-License-Identifier: Apache-2.0
// Checks the objects of a file of JSON, one a line, against the published schemas of Kubernetes and of the operator of
// Prometheus, and refuses fields that these do not have. Prints the kinds.
// usage: node check-objects.mjs FILE
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const packages = ["kubernetes-models", "@kubernetes-models/prometheus-operator"];

/* The file of an object's model: its validator is what it imports from _schemas. */
async function validatorOf(object) {
	const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["", object.apiVersion];
	for (const name of packages) {
		const folder = path.join(here, "node_modules", name);
		for (const of_group of [group, `${group}.k8s.io`]) {
			const file = path.join(folder, of_group, version, `${object.kind}.js`);
			if (!existsSync(file))
				continue;
			const schema = /_schemas\/\w+\.js/.exec(readFileSync(file, "utf8"))[0];
			return (await import(path.join(folder, schema))).validate;
		}
	}
	throw new Error(`${object.apiVersion} ${object.kind}: there is no schema`);
}

/* A view of a value in which the validator's reads are noted: what it never reads is no field of the schema. */
function watched(value, read, at) {
	if (value === null || typeof value !== "object")
		return value;
	return new Proxy(value, {
		get(target, key) {
			if (typeof key === "symbol" || (Array.isArray(target) && key === "length"))
				return target[key];
			read.add(`${at}/${key}`);
			return watched(target[key], read, `${at}/${key}`);
		},
	});
}

function unread(value, read, at) {
	if (value === null || typeof value !== "object")
		return [];
	return Object.keys(value).flatMap((key) =>
		read.has(`${at}/${key}`) ? unread(value[key], read, `${at}/${key}`) : [`${at}/${key}`]);
}

let nrFaults = 0;
for (const line of readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean)) {
	const object = JSON.parse(line), read = new Set();
	const validate = await validatorOf(object);
	const isValid = validate(watched(object, read, ""));
	const faults = isValid ? unread(object, read, "").map((at) => `${at} is no field`)
			       : validate.errors.map((e) => `${e.instancePath} ${e.message ?? JSON.stringify(e.params)}`);
	for (const fault of faults)
		console.log(`${object.kind} ${object.metadata.name}: ${fault}`);
	nrFaults += faults.length;
	if (!faults.length)
		console.log(`ok ${object.kind} ${object.metadata.name}`);
}
process.exit(nrFaults ? 1 : 0);
