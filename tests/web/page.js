// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the page: profiles made by the real program, the installed Chromium, TAP.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const zlib = require('node:zlib');

const root = path.resolve(__dirname, '../..');
const build = path.resolve(root, process.env.O || 'build');
// The shell takes a third of the whole browser's CPU time.
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const chromium = process.env.CHROMIUM || BROWSERS.find((file) => fs.existsSync(file)) || 'chromium';

// A folder that is removed at the end of this program, also after a failure.
function temporary(what) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), `sysflame-${what}-`));
	process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
	return dir;
}

function loadPlaywright() {
	try {
		return require('playwright-core');
	} catch (e) {
		console.log('Bail out! playwright-core is missing; run: make deps-test');
		process.exit(1);
	}
}

// Says which of the commands, and of the things that a browser needs, is missing here; undefined if none is.
function lacking(commands = []) {
	const found = (name) => process.env.PATH.split(':').concat('/usr/sbin').some((dir) => fs.existsSync(path.join(dir, name)));
	const name = [...commands, chromium].find((one) => !fs.existsSync(one) && !found(one)) ||
		(!fs.existsSync(path.join(__dirname, 'node_modules/playwright-core')) && 'playwright-core');
	return name ? `${name} is not installed` : undefined;
}

// Writes a page around a data block made here, independently of the C encoder. `sections` are [id, bytes] in
// ascending order, `nodes` is the number of nodes.
function makePageOf(dir, sections, nodes) {
	const crc = (bytes) => {
		const b = Buffer.alloc(4);
		b.writeUInt32LE(crc32(bytes));
		return b;
	};
	const body = Buffer.concat([Buffer.from(varints([sections.length, ...sections.flatMap(([id, b]) => [id, b.length])])),
		...sections.map(([, b]) => Buffer.from(b))]);
	const payload = zlib.gzipSync(body), header = Buffer.alloc(36);
	header.write('SFLM');
	header.writeUInt8(1, 4);
	header.writeUInt8(1, 5);
	header.writeUInt16LE(36, 6);
	header.writeBigUInt64LE(BigInt(payload.length), 8);
	header.writeBigUInt64LE(BigInt(body.length), 16);
	crc(payload).copy(header, 24);
	header.writeUInt32LE(nodes, 28);
	crc(header.subarray(0, 32)).copy(header, 32);
	const file = wholePage(dir), page = fs.readFileSync(file, 'utf8'), at = page.indexOf('id="profile">') + 13;
	fs.writeFileSync(file, page.slice(0, at) + armour(Buffer.concat([header, payload])) + page.slice(page.indexOf('</script>', at)));
	return file;
}

// A page that has every part, also those for comparisons and times.
function wholePage(dir) {
	const [a, out] = ['a.txt', `page-${fs.readdirSync(dir).length}.html`].map((name) => path.join(dir, name));
	fs.writeFileSync(a, 'main 1\n');
	execFileSync(path.join(build, 'sysflame'), ['diff', a, a, '-o', out]);
	return out;
}

// 13 bits in two of 91 characters, the lower one first.
function armour(bytes) {
	const digits = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((c) => !'"<\\'.includes(c)), out = [];
	let bits = 0, nr = 0;
	for (const byte of bytes) {
		bits += byte * 2 ** nr;
		nr += 8;
		if (nr >= 13) {
			out.push(digits[bits % 8192 % 91], digits[Math.floor(bits % 8192 / 91)]);
			bits = Math.floor(bits / 8192);
			nr -= 13;
		}
	}
	if (nr)
		out.push(digits[bits % 91], nr > 6 ? digits[Math.floor(bits / 91)] : '');
	return out.join('');
}

const crc32 = (bytes) => (zlib.crc32 ? zlib.crc32(bytes) : gzipCrc(bytes));

// The checksum that gzip writes after its data is the one that the header needs.
function gzipCrc(bytes) {
	const packed = zlib.gzipSync(bytes);
	return packed.readUInt32LE(packed.length - 8);
}

function varints(values) {
	const out = [];
	for (let v of values.flat(9)) {
		for (; v > 127; v = Math.floor(v / 128))
			out.push(v % 128 + 128);
		out.push(v);
	}
	return out;
}

const texts = (list) => list.map((t) => [Buffer.byteLength(t), [...Buffer.from(t)]]);

class Fail extends Error {}

function equal(got, wanted, what = 'value') {
	const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
	if (a !== b)
		throw new Fail(`${what}: got ${a}, wanted ${b}`);
}

function check(condition, what) {
	if (!condition)
		throw new Fail(what);
}

function near(got, wanted, what) {
	check(Math.abs(got - wanted) < 1e-6 * Math.max(1, Math.abs(wanted)), `${what}: got ${got}, wanted ${wanted}`);
}

// Writes `text` as a page and returns its path.
function makePage(dir, text, ...options) {
	const out = path.join(dir, `page-${fs.readdirSync(dir).length}.html`);
	execFileSync(path.join(build, 'sysflame'), ['report', '-', '-o', out, ...options], { input: text });
	return out;
}

async function launch() {
	return loadPlaywright().chromium.launch({
		executablePath: chromium,
		args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
	});
}

// Opens a tab. It fails if the page throws or breaks its own security policy.
async function openPage(browser, file, { hash = '', before, ...options } = {}) {
	const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce', ...options });
	const page = await context.newPage();
	page.faults = [];
	page.on('pageerror', (e) => page.faults.push(String(e)));
	page.on('console', (m) => m.type() === 'error' && page.faults.push(m.text()));
	if (before)
		await page.addInitScript(before);
	await page.goto(`file://${file}${hash}`);
	await until(page, () => window.sysflame && (window.sysflame.ready || window.sysflame.error));
	return page;
}

// Waits for a condition in the page. The page's policy forbids playwright's own way of waiting.
async function until(page, condition, argument) {
	for (const end = Date.now() + 30000; Date.now() < end;) {
		if (await page.evaluate(condition, argument))
			return;
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
	throw new Fail(`never true: ${condition}`);
}

// Files of the page's own script in a context without a browser; `tail` chooses what the context shows.
function pageScript(files, tail) {
	const context = vm.createContext({ HAS_JVM: true, HAS_NOTES: true, HAS_LABELS: true, HAS_TIME: true, HAS_DIFF: true, HAS_LINES: true, HAS_REQUESTS: true, performance, TextDecoder, TextEncoder, URLSearchParams, DecompressionStream, Blob, Response, atob, MessageChannel: class {
		port1 = {};
		port2 = { postMessage: () => setImmediate(() => this.port1.onmessage()) };
	} });
	const texts = files.map((f) => fs.readFileSync(path.join(root, `user/ui/page/${f}.js`), 'utf8'));
	vm.runInContext(`${texts.join('\n')}\n${tail}`, context);
	return context;
}

const chosen = (tests) => Object.keys(tests).filter((name) => (process.env.ONLY ? new RegExp(process.env.ONLY).test(name) : +process.env.MORE || !name.startsWith('more: ')));

// ONLY=EXPRESSION in the environment runs the tests whose names match.
// Without one of the commands all tests are skipped.
// Tests are functions with a sentence as name. Each gets { browser, dir, open(text or file, options) }.
// Those whose names begin with "more: " are run by `make check-more` only.
async function run(tests, commands) {
	const names = chosen(tests);
	const missing = lacking(commands);
	console.log(`1..${names.length}`);
	if (missing) {
		names.forEach((name, i) => console.log(`ok ${i + 1} - ${name} # SKIP ${missing}`));
		process.exit(0); // also where a daemon was started for the tests
	}
	const dir = temporary('web');
	const browser = await launch();
	let bad = 0;
	for (const [i, name] of names.entries()) {
		const pages = [], begun = Date.now();
		const open = async (source, options) => {
			const page = await openPage(browser, source.startsWith('/') ? source : makePage(dir, source), options);
			pages.push(page);
			return page;
		};
		try {
			await tests[name]({ browser, dir, open });
			for (const page of pages)
				equal(page.faults, [], 'errors of the page');
			console.log(`ok ${i + 1} - ${name}`);
		} catch (e) {
			bad++;
			console.log(`not ok ${i + 1} - ${name}`);
			console.log(String(e instanceof Fail ? e.message : e.stack).replace(/^/gm, '# '));
		}
		for (const page of pages)
			await page.context().close();
		console.log(`# ${Math.round((Date.now() - begun) / 1000)} s`);
	}
	await browser.close();
	process.exitCode = bad ? 1 : 0;
}

// Runs tests that need no browser.
async function runAlone(tests) {
	const names = chosen(tests);
	let bad = 0;
	console.log(`1..${names.length}`);
	for (const [i, name] of names.entries())
		try {
			await tests[name]();
			console.log(`ok ${i + 1} - ${name}`);
		} catch (e) {
			bad++;
			console.log(`not ok ${i + 1} - ${name}`);
			console.log(String(e instanceof Fail ? e.message : e.stack).replace(/^/gm, '# '));
		}
	process.exitCode = bad ? 1 : 0;
}

module.exports = { build, check, crc32, equal, lacking, launch, loadPlaywright, makePage, makePageOf, near, openPage, pageScript, run, runAlone, temporary, texts, until, varints };
