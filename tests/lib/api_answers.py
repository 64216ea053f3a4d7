#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates answers of the daemon against docs/api.yaml.

usage: api_answers.py API.YAML FOLDER [PREFIX..]
Each file in FOLDER has an answer: a line "METHOD STATUS PATH", or "EVENT NAME" for an event of the
stream, and the body. An answer must not have fields that the schema does not have. Every operation
with JSON whose path begins with a PREFIX must have an answer that is no error.
"""
import json
import pathlib
import re
import sys

import yaml
from jsonschema import Draft202012Validator


def closed(node):
    """The schema without room for undocumented fields."""
    if isinstance(node, list):
        return [closed(n) for n in node]
    if not isinstance(node, dict):
        return node
    out = {key: closed(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and node.get("type") == "object":
        out.setdefault("additionalProperties", False)
    return out


def operations(api):
    for path, methods in api["paths"].items():
        pattern = re.compile(re.sub(r"\\{\w+\\}", r"[^/]+", re.escape(path)) + r"$")
        for method, operation in methods.items():
            if method != "parameters":
                yield method.upper(), path, pattern, operation


def schema_of(api, method, status, path):
    """The operation's path and the schema of this answer; None if it is not documented."""
    found = [o for o in operations(api) if o[0] == method and o[2].match(path)]
    # "/api/v1/profiles/delete-all" is no {id}.
    for _, template, _, operation in sorted(found, key=lambda o: o[1].count("{")):
        answer = operation["responses"].get(status) or (int(status) >= 400 and operation["responses"]["default"])
        if answer and "$ref" in answer:
            answer = api["components"]["responses"][answer["$ref"].split("/")[-1]]
        return template, answer and answer.get("content", {}).get("application/json", {}).get("schema")
    return path, None


def faults_of(api, components, file, answered):
    head, body = file.read_text().split("\n", 1)
    words = head.split(" ")
    if words[0] == "EVENT":
        name = api["paths"]["/api/v1/stream"]["get"]["x-events"].get(words[1])
        schema = name and {"$ref": f"#/components/schemas/{name}"}
    else:
        method, status, path = words
        template, schema = schema_of(api, method, status, path.split("?")[0])
        if int(status) < 400:
            answered.add((method, template))
    if not schema:
        return [f"{head}: docs/api.yaml has no schema for it"]
    validator = Draft202012Validator({**schema, "components": components})
    return [f"{head}: {e.json_path}: {e.message[:300]}" for e in validator.iter_errors(json.loads(body))]


def main():
    api = yaml.safe_load(open(sys.argv[1]))
    components = closed(api["components"])
    answered = set()
    faults = []
    files = sorted(pathlib.Path(sys.argv[2]).iterdir())
    for file in files:
        faults += faults_of(api, components, file, answered)
    for method, path, _, operation in operations(api):
        has_json = any("application/json" in r.get("content", {}) for s, r in operation["responses"].items() if s != "default")
        if has_json and path.startswith(tuple(sys.argv[3:])) and (method, path) not in answered:
            faults.append(f"{method} {path}: no answer was tested")
    print("\n".join(faults) or f"{len(files)} answers of {len(answered)} operations")
    sys.exit(bool(faults))


main()
