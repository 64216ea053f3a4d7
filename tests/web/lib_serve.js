// SPDX-License-Identifier: Apache-2.0
// A daemon of a test's own, its API, and tabs of people who have logged in.
'use strict';
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { build, check, equal, temporary } = require('./page.js');

const PREFIX = '/behind/a/proxy'; // every address of the interface must be relative
const START_MS = 60000;
const program = path.join(build, 'sysflame'), store = temporary('serve');
let daemon, address;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const token = (role) => fs.readFileSync(path.join(store, role === 'viewer' ? 'token.viewer' : 'token'), 'utf8').trim();

const link = () => execFileSync(program, ['serve', '--dir', store, '--link'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim();

// Returns the address, which stays that of the first call.
async function begin(...options) {
	// Again on the same port, so that links stay good.
	const listen = address ? new URL(address).host : '127.0.0.1:0';
	daemon = spawn(program, ['serve', '--dir', store, '--listen', listen, '--prefix', PREFIX, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
	for (const end = Date.now() + START_MS; Date.now() < end; await sleep(100))
		try {
			address = link().split('/login')[0];
			if ((await fetch(`${address}/healthz`)).ok)
				return address;
		} catch (e) {
			check(daemon.exitCode === null, 'the daemon ended');
		}
	throw new Error('the daemon did not start');
}

async function end(signal = 'SIGTERM') {
	if (!daemon || daemon.exitCode !== null)
		return;
	const ended = new Promise((done) => daemon.once('exit', done));
	daemon.kill(signal);
	await ended;
}

process.on('exit', () => daemon && daemon.exitCode === null && daemon.kill('SIGKILL'));

async function call(method, what, body) {
	const response = await fetch(`${address}/api/v1/${what}`, { method, headers: { Authorization: `Bearer ${token()}` }, body });
	return { ok: response.ok, status: response.status, text: await response.text() };
}

async function api(method, what, body) {
	const { ok, status, text } = await call(method, what, body);
	check(ok, `${method} ${what}: ${status} ${text}`);
	return JSON.parse(text);
}

const upload = (name, bytes) => api('POST', `profiles?name=${encodeURIComponent(name)}`, bytes);
const listed = async () => (await api('GET', 'profiles')).profiles;

// Waits for something outside the page.
async function eventually(condition, what, ms = 30000) {
	for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(100)) {
		const result = await condition();
		if (result)
			return result;
	}
	throw new Error(`never: ${what}`);
}

// A tab of somebody who has logged in. It fails if a script throws or a policy is broken, but not while the daemon restarts.
async function visit(browser, role = 'operator', options = {}) {
	const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce', ...options });
	const page = await context.newPage();
	page.faults = [];
	page.on('pageerror', (e) => page.faults.push(String(e)));
	page.on('console', (m) => m.type() === 'error' && !/status of 4\d\d|net::ERR_CONNECTION_/.test(m.text()) && page.faults.push(m.text()));
	await page.goto(role === 'operator' ? link() : `${address}/login`);
	if (role !== 'operator') {
		await page.fill('#token', token(role));
		await page.keyboard.press('Enter');
	}
	await page.waitForSelector('#health .state');
	return page;
}

async function leave(page) {
	equal(page.faults, [], 'errors of the page');
	await page.context().close();
}

const row = (page, name) => page.locator('tr[data-id]').filter({ has: page.getByText(name, { exact: true }) });

// By the menu of a profile.
async function act(page, name, what) {
	await row(page, name).locator('summary').click();
	await row(page, name).locator('.menu').getByText(what, { exact: true }).click();
}

module.exports = { PREFIX, act, api, begin, call, daemonPid: () => daemon.pid, end, eventually, leave, link, listed, row, store, token, upload, visit };
