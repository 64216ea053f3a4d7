// SPDX-License-Identifier: Apache-2.0
// Evaluates expressions on JSON for tests/lib/json.sh: a process of node takes 0.2 s of CPU time to start, and tests
// ask hundreds of times. A client sends the expression and the JSON, each with a NUL, and gets 0 and what console.log
// would print, or 1 and the error, each with a NUL.
// usage: node json.js FILE; FILE gets the port.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const { format } = require('node:util');

function answer(expression, json) {
	try {
		const value = new Function('d', 'format', `return format(${expression})`)(JSON.parse(json), format);
		return `0\0${value}\0`;
	} catch (e) {
		return `1\0${e}: ${expression}\0`;
	}
}

const server = net.createServer((socket) => {
	const chunks = [];
	socket.on('error', () => socket.destroy());
	socket.on('data', (chunk) => {
		chunks.push(chunk);
		const parts = Buffer.concat(chunks).toString().split('\0');
		if (parts.length > 2)
			socket.end(answer(parts[0], parts[1]));
	});
});
server.listen(0, '127.0.0.1', () => {
	fs.writeFileSync(`${process.argv[2]}.new`, `${server.address().port}\n`);
	fs.renameSync(`${process.argv[2]}.new`, process.argv[2]);
});
