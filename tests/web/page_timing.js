// SPDX-License-Identifier: Apache-2.0
// Prints "WHAT CPU_MS WALL_MS" of a page's first picture and of what people do with it: main-thread
// CPU until the second frame after it, the least of several runs. Before that what the browser takes by
// itself: `nothing` for a page of one line, `bytes` for this page without its script. For tests/bench/page.
// usage: node tests/web/page_timing.js PAGE.html
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { launch, temporary } = require('./page.js');

const RUNS = 5;

const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

async function measure(page, cdp, action) {
	const task = async () => (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
	const before = await task(), start = Date.now();
	await action();
	await page.evaluate(frames);
	return { cpu: await task() - before, wall: Date.now() - start };
}

// Asking again and again from outside would count as the page's work.
const whenReady = () => new Promise((resolve) => {
	const look = () => (window.sysflame && window.sysflame.ready ? resolve() : setTimeout(look, 5));
	look();
});

async function timings(browser, file, hasScript) {
	const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce' });
	const page = await context.newPage(), cdp = await context.newCDPSession(page), out = {};
	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
	const run = async (what, action) => out[what] = await measure(page, cdp, action);
	await run('ready', async () => {
		await page.goto(`file://${file}`, { timeout: 300000 });
		if (hasScript)
			await page.evaluate(whenReady);
	});
	if (!hasScript) {
		await context.close();
		return out;
	}
	// Finding the frame is the bench's work, not the page's.
	const node = await page.evaluate(() => sysflame.widest());
	await run('zoom', () => page.evaluate((n) => sysflame.app.zoomTo(n), node));
	await page.evaluate(() => sysflame.unzoom());
	await run('search', () => page.evaluate(() => sysflame.search('futex|HashMap')));
	await page.evaluate(() => sysflame.clear());
	await run('reverse', () => page.evaluate(() => sysflame.reverse()));
	await context.close();
	return out;
}

async function main() {
	const browser = await launch(), best = {}, dir = temporary('timing'), [, , file] = process.argv;
	const written = (name, text) => {
		fs.writeFileSync(path.join(dir, name), text);
		return path.join(dir, name);
	};
	const nothing = written('nothing.html', '<!doctype html><title>nothing</title><p>nothing'), bytes = written('bytes.html', fs.readFileSync(file, 'utf8').replace(/<script>[^]*?<\/script>/, ''));
	const keep = (what, t) => {
		if (!best[what] || t.cpu < best[what].cpu)
			best[what] = t;
	};
	for (let i = 0; i < RUNS; i++) {
		keep('nothing', (await timings(browser, nothing, false)).ready);
		keep('bytes', (await timings(browser, bytes, false)).ready);
		for (const [what, t] of Object.entries(await timings(browser, file, true)))
			keep(what, t);
	}
	await browser.close();
	for (const [what, t] of Object.entries(best))
		console.log(what, t.cpu.toFixed(0), t.wall);
}

main();
