// SPDX-License-Identifier: Apache-2.0
// User actions on the page, and profiles that several tests use.
'use strict';
const { makePageOf, texts, until, varints } = require('./page.js');

// Recursion, two kinds of Java, native code and an idle kernel: 30 samples.
const SMALL = `main;a_[j];b_[j] 3
main;a_[j];b_[j];memcpy 2
main;c_[0] 1
main;c_[0];a_[j];b_[j] 4
swapper_[k] 20
`;

// Stacks with direct and indirect recursion, tiers and chains; the same in every run.
function randomStacks(nr) {
	let seed = 11;
	const pick = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % 65536 % n;
	const lines = [];
	for (let i = 0; i < nr; i++) {
		const stack = ['java-7', 'start_thread'];
		for (let depth = 2 + pick(9); depth > 0; depth--)
			stack.push(`com.acme.T${pick(4)}.m${pick(3)}${['_[j]', '_[0]', '_[i]', '_[1]', '_[k]'][pick(5)]}`);
		lines.push([stack, 1 + pick(5)]);
	}
	return lines;
}
const asText = (stacks) => stacks.map(([stack, n]) => `${stack.join(';')} ${n}\n`).join('');
const plain = (frame) => frame.replace(/_\[.\]$/, '');

// The centre of a frame in the window, found by name. Tests use the mouse as users do.
const centre = (page, name) => page.evaluate((wanted) => {
	const { app } = sysflame, frame = document.getElementById('canvas').getBoundingClientRect();
	if (!app.painter.scene) // a busy browser has not drawn it yet
		app.paint();
	const box = app.layout.boxes.find((b) => !b.fog && app.view.names[app.view.nameOf(b.node)] === wanted);
	return { x: frame.left + box.x + Math.min(box.w / 2, 20), y: frame.top + app.painter.top(box.row) + 10, w: box.w };
}, name);
async function clickOn(page, name) {
	const at = await centre(page, name);
	await page.mouse.click(at.x, at.y);
}
const zoomed = (page) => page.evaluate(() => sysflame.app.view.names[sysflame.app.view.nameOf(sysflame.app.zoom)] || 'all');
// Table and legend follow the picture.
const text = (page, id) => page.evaluate(async (i) => {
	if (sysflame.listed)
		await sysflame.listed();
	return document.getElementById(i).textContent;
}, id);
const colours = (page) => page.evaluate(() => {
	sysflame.app.paint();
	const c = document.getElementById('canvas'), data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	const seen = new Map();
	for (let i = 0; i < data.length; i += 4) {
		const key = (data[i] << 16 | data[i + 1] << 8 | data[i + 2]).toString(16).padStart(6, '0');
		seen.set(key, (seen.get(key) || 0) + 1);
	}
	return Object.fromEntries([...seen].filter(([, n]) => n > 200));
});
// The widest frame of 5 to 35 % of the whole at depth 5 to 59, as a target for a zoom. Runs in the page.
function widest() {
	const { tree } = sysflame.app, whole = tree.total[0];
	let best = 0;
	for (let i = 1; i < tree.nr; i++)
		if (tree.depth[i] >= 5 && tree.depth[i] < 60 && tree.total[i] >= whole * 0.05 && tree.total[i] <= whole * 0.35 && (!best || tree.total[i] > tree.total[best]))
			best = i;
	return best;
}
const search = async (page, query) => {
	await page.fill('#query', query);
	await until(page, (q) => sysflame.app.state.query === q, query);
	return page.evaluate(() => sysflame.matched());
};

// all > {java-7 > {f, g}, sh-8 > f}: two types, two threads in java-7, a library, notes; and a section
// unknown to readers.
function labelledPage(dir) {
	const meta = { title: 'shop', types: [{ name: 'cpu', unit: 'samples' }, { name: 'alloc', unit: 'bytes' }],
		dims: [{ name: 'process' }, { name: 'thread' }], duration_ns: 10e9, rate_hz: 99, host: 'node-1',
		notes: [{ key: 'samples', text: 'samples taken', value: 100 }, { key: 'lost', text: 'samples lost: ring buffer full', value: 7 }] };
	return makePageOf(dir, [
		[1, Buffer.from(JSON.stringify(meta))],
		[2, varints([5, 0, texts(['f']), 0, texts(['g']), 0, texts(['java-7']), 0, texts(['libx.so']), 0, texts(['sh-8'])])],
		[3, varints([4, 0, 1, 2, 4, 2, 6, 8, 8])],
		[4, varints([0, 0, 1, 2, 0])],
		[5, varints([0, 0, 0, 0, 0])],
		[6, varints([2, 1, 0, 3, 0])],
		[7, varints([0, 0, 50, 30, 0, 20])],
		[7, varints([0, 0, 0, 2048, 0, 1024])],
		[9, varints([2, 2, texts(['java-7', 'sh-8']), 3, texts(['exec-1', 'exec-2', 'sh']), 3, 0, 0, 1, 0, 1, 2])],
		[10, varints([1, 0, 2, 0, 0, 2, 0, 0, 1, 2, 1, 2])],
		[11, varints([10, 1000])],
		[13, varints([4, 0, 0, 0])],
		[99, varints([1, 2, 3])],
	], 6);
}
// 60 samples of java-7 whose stacks are complete, 10 whose stacks are stacks[1], and 30 of sh-8.
function notedPage(dir, notes, stacks) {
	const meta = { types: [{ name: 'cpu', unit: 'samples' }], dims: [{ name: 'process' }, { name: 'stack' }], host: 'node-1', notes };
	return makePageOf(dir, [
		[1, Buffer.from(JSON.stringify(meta))],
		[2, varints([1, 0, texts(['f'])])],
		[3, varints([1, 0, 2])],
		[4, varints([0])],
		[5, varints([0])],
		[6, varints([0])],
		[7, varints([0, 100])],
		[9, varints([2, 2, texts(['java-7', 'sh-8']), stacks.length, texts(stacks), 3, 0, 0, 1, 0, 1, 0])],
		[10, varints([3, 0, 0, 0])],
		[11, varints([60, 10])],
	], 2);
}
const pickLabel = async (page, chip, value) => {
	await page.click(chip);
	await page.click(`#menu button:has-text("${value}")`);
	await page.keyboard.press('Escape');
};

// Opens the menu of a chip and clicks its items one after another.
async function fromMenu(page, chip, ...items) {
	await page.click(chip);
	for (const item of items)
		await page.click(`#menu button:has-text("${item}")`);
}
// Switches one of the things to hide on or off.
async function switchHidden(page, name) {
	await page.click('#filter');
	await page.click(`#menu [data-toggle="${name}"]`);
	await page.keyboard.press('Escape');
}
const namesOfLegend = async (page) => (await text(page, 'legend')).replace(/ (?:[<>] )?[\d.]+ %/g, '');

module.exports = { SMALL, asText, centre, clickOn, colours, fromMenu, labelledPage, namesOfLegend, notedPage, pickLabel, plain, randomStacks, search, switchHidden, text, widest, zoomed };
