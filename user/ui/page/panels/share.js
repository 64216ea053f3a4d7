// What leaves the page: links, stacks as text, the page itself with its view, drawings and pictures.
const MARKDOWN_DEPTH = 200;
const PICTURE_MOST = 16000; // px, the height of a canvas
const DRAWING_HEAD = 44, DRAWING_FOOT = 26; // px

function exportMenu(app, button) {
	const name = fileStem(app.title);
	openMenu(button, [
		closing('Copy link to this view', '', () => copyLink(app)),
		closing('Copy stack as Markdown', 'y', () => copyMarkdown(app)),
		element('hr'),
		closing('Page with this view', 'html', () => save(`${name}.html`, new Blob([pageText(app)], { type: 'text/html' }))),
		closing('Picture of all rows', 'png', () => savePicture(app, name)),
		closing('Drawing of all rows', 'svg', () => save(`${name}.svg`, new Blob([drawing(app)], { type: 'image/svg+xml' }))),
		closing('Collapsed stacks', 'txt', () => save(`${name}.txt`, new Blob(collapsedText(app.tree), { type: 'text/plain' }))),
	]);
}

function copyLink(app) {
	const { hash, left } = writeHash(app.state);
	copyText(app, location.href.replace(/#.*|$/, hash), left ? `copied without ${left}: too long` : 'link copied');
}

// The stack of the selected frame, of the zoom, or the heaviest one below the root.
function copyMarkdown(app, node = (app.selected && !app.selected.fog ? app.selected : app.layout.rows[app.layout.top][0]).node) {
	const { view } = app;
	for (let child; node === view.root && !view.isSandwich && (child = view.children(node, 0).list[0]) >= 0;)
		for (node = child; view.selfOf(node) < view.totalOf(node) / 2 && (child = view.children(node, 0).list[0]) >= 0;)
			node = child;
	copyText(app, markdownOf(app, node), 'stack copied');
}

// A heading with the numbers, and the frames with their shares, outermost first.
function markdownOf({ view, tree, title }, node) {
	const whole = tree.total[0], path = [], share = (n) => percent(view.totalOf(n), whole).padStart(9), name = (n) => nameText(view, n).replace(/[\r\n]/g, ' ');
	for (let at = node; at >= 0 && view.nameOf(at) >= 0 && path.length < MARKDOWN_DEPTH; at = view.parentOf(at))
		path.push(`${share(at)}  ${name(at)}`);
	const fence = '`'.repeat(Math.max(3, ...(path.join().match(/`+/g) || []).map((ticks) => ticks.length + 1)));
	return `**${title.replace(/[\\*_[\]<>`]/g, '\\$&')}**: ${amount(view.totalOf(node), view.unit)} (${percent(view.totalOf(node), whole)}) of ${amount(whole, view.unit)}, self ${percent(view.selfOf(node), whole)}\n\n${fence}\n${(view.isCaller(node) ? path : path.reverse()).join('\n')}\n${fence}\n`;
}

// The file that this page was loaded from, with the view as a text that the page reads at its start.
function pageText({ state, block, before }) {
	const scripts = [...document.body.querySelectorAll(':scope > script')].filter((s) => s.id !== 'saved' && s.textContent !== Helper.source);
	const view = `<script type="text/plain" id="saved">${writeHash({ ...state, hasOwn: true }).whole}</script>`;
	return `<!doctype html>\n<html lang="en">\n${document.head.outerHTML}\n<body>\n${before}\n${scripts.map((s) => s.outerHTML).join('\n')}\n${view}\n${block.outerHTML}\n</body>\n</html>\n`;
}

// The view as SVG with title, legend and all rows. Every box has its name and numbers as title.
function drawing(app) {
	const { view, painter, state, title } = app, layout = app.layoutOf(Infinity), rows = layout.rows.length, height = rows * ROW + DRAWING_HEAD + DRAWING_FOOT, { width } = painter;
	const escape = (text) => visible(text).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd').replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
	const write = (x, y, text, fill = painter.text) => `<text x="${x.toFixed(2)}" y="${y}" fill="${fill}">${escape(text)}</text>`;
	const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui,sans-serif" font-size="12"><rect width="100%" height="100%" fill="${painter.bg}"/>\n`,
		`<text x="${PAD}" y="17" font-size="14" font-weight="600" fill="${painter.text}">${escape(title)}</text>`, write(PAD, 35, $('facts').textContent, painter.fg2)];
	const mark = HAS_DIFF && view.diff && diffMarker(painter, parts);
	painter.scene = { ...painter.scene, view, layout };
	for (const box of layout.boxes) {
		const y = (state.isFlipped ? rows - 1 - box.row : box.row) * ROW + DRAWING_HEAD, x = Math.max(box.x, 0), w = Math.max(Math.min(box.w > 2.5 ? box.x + box.w - 1 : box.x + box.w, width) - x, 0.5);
		const name = box.fog ? plural(box.fog.nodes, 'thin frame') : nameText(view, box.node), weight = box.fog ? box.fog.weight : view.totalOf(box.node);
		const { text, badge, at } = box.fog || w < 20 ? { text: '' } : layout.hasPath && box.row === 0 ? { text: painter.pathText(box.node, box.more) }
			: box.node === view.root && view.nameOf(box.node) < 0 ? { text: 'all' } : painter.labelOf(box, w - 2 * PAD);
		const isHit = painter.isHit(box), place = `x="${x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${ROW - 1}" rx="2"`;
		parts.push(`<g><title>${escape(name)}, ${escape(amount(weight, view.unit))}, ${percent(weight, app.tree.total[0])}</title><rect ${place} fill="${box.fog ? painter.fog : painter.fillOf(view, box)}" opacity="${painter.strength(box, isHit)}"${isHit ? ` stroke="${painter.hl}" stroke-width="2"` : ''}/>`,
			HAS_DIFF && mark && !box.fog ? mark(place, view.diff.isGone(box.node), view.diff.isNew(box.node)) : '',
			text ? write(x + PAD, y + 14, text) : '', badge ? write(x + PAD + at, y + 14, badge) : '', '</g>\n');
	}
	let x = PAD;
	for (const { text, colour, dot } of legendOf(app)) {
		const place = `x="${x}" y="${height - 17}" width="10" height="10" rx="3"`;
		parts.push(`<rect ${place} fill="${colour}"/>`, HAS_DIFF && mark && dot ? mark(place, dot.matches('.gone'), dot.matches('.hatched')) : '', write(x + 14, height - 8, text, painter.fg2));
		x += Math.ceil(painter.context.measureText(text).width) + 32;
	}
	return parts.concat('</svg>\n').join('');
}

// The legend as it is shown: texts, and the colours of their dots.
const legendOf = ({ painter: { bg } }) => [...$('legend').children].map((item) => {
	const dot = item.querySelector('.dot'), colour = dot && getComputedStyle(dot).backgroundColor;
	return { text: item.textContent, colour: dot ? colour : bg, dot };
});

function savePicture(app, name) {
	const image = new Image(), canvas = element('canvas');
	image.onload = () => {
		const ratio = Math.min(2, PICTURE_MOST / image.height);
		canvas.width = image.width * ratio;
		canvas.height = image.height * ratio;
		canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
		canvas.toBlob((blob) => save(`${name}.png`, blob));
	};
	image.onerror = () => app.say('this picture is too large; save the drawing', true);
	image.src = `data:image/svg+xml,${encodeURIComponent(drawing(app))}`;
}
