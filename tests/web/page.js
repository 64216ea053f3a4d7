// SPDX-License-Identifier: Apache-2.0
// What the tests of the page share: profiles made by the real program, the installed Chromium, TAP.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const root = path.resolve(__dirname, '../..');
const build = path.resolve(root, process.env.O || 'build');

function loadPlaywright() {
	try {
		return require('playwright-core');
	} catch (e) {
		console.log('Bail out! playwright-core is missing; run: make deps-test');
		process.exit(1);
	}
}

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
		executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
		args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
	});
}

// A tab that has failed if the page threw, or broke its own security policy.
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

// Waits for a condition in the page; playwright's own waiting is forbidden by the page's policy.
async function until(page, condition, argument) {
	for (const end = Date.now() + 30000; Date.now() < end;) {
		if (await page.evaluate(condition, argument))
			return;
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
	throw new Fail(`never true: ${condition}`);
}

// Tests are functions named by a sentence; each gets { browser, dir, open(text or file, options) }.
async function run(tests) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sysflame-web-'));
	const browser = await launch();
	const names = Object.keys(tests);
	let bad = 0;
	console.log(`1..${names.length}`);
	for (const [i, name] of names.entries()) {
		const pages = [];
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
	}
	await browser.close();
	fs.rmSync(dir, { recursive: true });
	process.exitCode = bad ? 1 : 0;
}

module.exports = { build, check, equal, launch, loadPlaywright, makePage, near, openPage, run, until };
