// SPDX-License-Identifier: Apache-2.0
// For tests/bench/page: prints "WHAT CPU_MS WALL_MS" of a page's first picture and of user actions:
// main-thread CPU until the second frame after the action, the least of several runs. First come the
// browser's own costs: `nothing` for a page of one line, `bytes` for this page without its script, `frame`
// for a thousand redrawn boxes and a step of the history, which is the least that a zoom can take.
// usage: node tests/web/page_timing.js PAGE.html
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { widest } = require('./lib_actions.js');
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

// Polling from outside would count as the page's work.
const whenReady = () => new Promise((resolve) => {
	const look = () => (window.sysflame && window.sysflame.ready ? resolve() : setTimeout(look, 5));
	look();
});

const FRAME = `<!doctype html><title>frame</title><canvas id="canvas" width="1020" height="780"></canvas><script>
function step(hash) {
	const c = document.getElementById('canvas').getContext('2d', { alpha: false });
	history.pushState({}, '', hash);
	requestAnimationFrame(() => {
		c.fillStyle = '#fff';
		c.fillRect(0, 0, 1020, 780);
		c.fillStyle = '#8cd17c';
		for (let i = 0; i < 1000; i++)
			c.fillRect(i % 40 * 25, Math.floor(i / 40) * 20, 24, 19);
	});
}
</script>`;

// The first one creates the canvas.
async function frameTime(browser, file) {
	const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
	const page = await context.newPage(), cdp = await context.newCDPSession(page);
	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
	await page.goto(`file://${file}`);
	await measure(page, cdp, () => page.evaluate(() => step('#1')));
	const time = await measure(page, cdp, () => page.evaluate(() => step('#2')));
	await context.close();
	return time;
}

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
	// Finding the frame is the benchmark's work, not the page's.
	const node = await page.evaluate(widest);
	await run('zoom', () => page.evaluate((n) => sysflame.app.zoomTo(n), node));
	await page.evaluate(() => sysflame.app.zoomTo(0));
	await run('search', () => page.evaluate(() => sysflame.app.change({ query: 'futex|HashMap', isRegex: true, isExact: true })));
	await page.evaluate(() => sysflame.app.change({ query: '' }));
	await run('reverse', () => page.evaluate(() => sysflame.app.change({ isUp: true }, true)));
	await context.close();
	return out;
}

async function main() {
	const browser = await launch(), best = {}, dir = temporary('timing'), [, , file] = process.argv;
	const written = (name, text) => {
		fs.writeFileSync(path.join(dir, name), text);
		return path.join(dir, name);
	};
	const nothing = written('nothing.html', '<!doctype html><title>nothing</title><p>nothing'), bytes = written('bytes.html', fs.readFileSync(file, 'utf8').replace(/<script>[^]*?<\/script>/, '')), frame = written('frame.html', FRAME);
	const keep = (what, t) => {
		if (!best[what] || t.cpu < best[what].cpu)
			best[what] = t;
	};
	for (let i = 0; i < RUNS; i++) {
		keep('nothing', (await timings(browser, nothing, false)).ready);
		keep('bytes', (await timings(browser, bytes, false)).ready);
		keep('frame', await frameTime(browser, frame));
		for (const [what, t] of Object.entries(await timings(browser, file, true)))
			keep(what, t);
	}
	await browser.close();
	for (const [what, t] of Object.entries(best))
		console.log(what, t.cpu.toFixed(0), t.wall);
}

main();
