// What every other file uses: elements, numbers as text, kinds of frames.
const $ = (id) => document.getElementById(id);

// An element with text: names reach the page only through here and through fillText.
function element(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}

// Kinds as docs/profile-format.md numbers them. `group` decides what may be drawn as one chain.
const KINDS = [
	{ name: 'Unknown', long: 'unknown', group: 2 },
	{ name: 'Kernel', long: 'kernel', group: 1 },
	{ name: 'Native', long: 'native', group: 2 },
	{ name: 'JVM', long: 'JVM (C++)', group: 3 },
	{ name: 'Interp', long: 'Java, interpreted', group: 4 },
	{ name: 'C1', long: 'Java, C1', group: 4 },
	{ name: 'C2', long: 'Java, C2', group: 4 },
	{ name: 'Inlined', long: 'Java, inlined', group: 4 },
	{ name: 'Process', long: 'process or thread', group: 0 },
	{ name: 'Stub', long: 'code made by the JVM', group: 3 },
	{ name: 'Class', long: 'class of an object', group: 5 },
];
const KIND_GROUP = 8;
const isJava = (kind) => kind >= 4 && kind <= 7;

// The browser's own formatter takes 10 ms to load.
const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// Two digits behind the point, but never 0.00 % for what is there, or 100.00 % for what is not all.
function percent(part, whole) {
	if (!whole)
		return '0 %';
	const p = part / whole * 100;
	if (p >= 99.995 && part < whole)
		return '> 99.99 %';
	return p > 0 && p < 0.005 ? '< 0.01 %' : `${p.toFixed(2)} %`;
}

function scaled(value, steps, base, digits) {
	let i = 0;
	while (value >= base && i < steps.length - 1) {
		value /= base;
		i++;
	}
	return `${i ? value.toFixed(digits) : count(value)} ${steps[i]}`;
}

// A weight in its unit: 28,323 samples, 1.25 GiB, 3.20 s.
function amount(value, unit) {
	if (unit === 'bytes')
		return scaled(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024, 2);
	if (unit === 'ns')
		return scaled(value, ['ns', 'us', 'ms', 's'], 1000, 2);
	return unit === 'samples' ? plural(value, 'sample') : `${count(value)} ${unit}`;
}

// Lets the browser paint and take input between two slices of a long computation.
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();
function breathe() {
	return new Promise((resolve) => {
		waiting.push(resolve);
		channel.port2.postMessage(0);
	});
}

const PLAIN = /^[ -~]*$/; // a byte per character, all of them known

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

// A copy of a typed array with room for more.
function widened(list, length) {
	const wider = new list.constructor(length);
	wider.set(list);
	return wider;
}
