// The places of a view's frames. Row 0 is the root; boxes of a row are sorted by x.
const ROW = 20;
const THINNEST = 1;

class Layout {
	constructor() {
		this.boxes = [];
		this.rows = [];
		this.top = 0;
		this.isCut = this.isCutAbove = false;
	}

	add(row, box) {
		box.row = row;
		(this.rows[row] || (this.rows[row] = [])).push(box);
		this.boxes.push(box);
		return box;
	}

	at(row, x) {
		const boxes = this.rows[row] || [];
		let low = 0, high = boxes.length;
		while (low < high) {
			const middle = low + high >> 1;
			if (boxes[middle].x + boxes[middle].w <= x)
				low = middle + 1;
			else
				high = middle;
		}
		return low < boxes.length && boxes[low].x <= x ? boxes[low] : null;
	}
}

// A box: { node, last, chain, x, w, row, fog }. `last` is the end of a chain that starts at `node` and hides
// `chain` nodes. Fog stands for siblings too thin to draw. An ancestor that stands for others has their
// number, `more`. `canFold`: whether a node may be in a chain; null if none may.
function makeBox(view, node, x, w, canFold) {
	const box = { node, last: node, chain: 0, x, w, row: 0, fog: null, isAbove: false, more: 0 };
	if (canFold && canFold(node))
		for (let child; (child = view.chainChild(box.last)) >= 0 && canFold(child); box.chain++)
			box.last = child;
	return box;
}

// `options`: zoom (node), width, height (of the window), collapse (except nodes of view.expanded and names for
// which `isHeld`), byName, maxRows, pan (the part of the zoom that is shown, or null), isPathOpen, textWidth. At
// most `maxRows` rows below the zoom are laid out; `isCut` says that there are more, `isCutAbove` that callers
// above a sandwich are missing.
function layOut(view, options) {
	const layout = new Layout(), { zoom, width, pan } = options;
	const total = view.totalOf(zoom), full = pan ? width / (pan[1] - pan[0]) : width, scale = total ? full / total : 0;

	addAncestors(layout, view, options);
	const row = layout.rows.length;
	layout.top = row;
	layout.isFolded = Boolean(options.collapse && view.isFoldable && scale && isTooHigh(view, zoom, THINNEST / scale, options.height / ROW - row - 2));
	const canFold = layout.isFolded ? (node) => !view.expanded.has(node) && !(node && options.isHeld(view.nameOf(node), view.kindOf(node))) : null;
	layout.add(row, makeBox(view, zoom, pan ? -pan[0] * full : 0, full, canFold));
	growRows(layout, view, row, scale, options, canFold);
	return layout;
}

// Whether a frame of at least `min` is more than `rows` below the zoom.
function isTooHigh({ total, end, depth }, zoom, min, rows) {
	for (let i = zoom, deepest = depth[zoom] + rows; i < end[zoom];) {
		if (!(total[i] >= min))
			i = end[i];
		else if (depth[i++] > deepest)
			return true;
	}
	return false;
}

// Lays out the rows below `row`.
function growRows(layout, view, row, scale, options, canFold) {
	let r = row;
	for (; layout.rows[r] && r < row + options.maxRows; r++)
		for (const box of layout.rows[r])
			if (!box.fog)
				addChildren(layout, view, box, scale, options, canFold);
	layout.isCut = Boolean(layout.rows[r]);
}

// The ancestors of the zoom: a row each, or all of them in one row, which stays in view.
function addAncestors(layout, view, { zoom, width, isPathOpen, textWidth }) {
	const path = [];
	for (let node = view.parentOf(zoom); node >= 0; node = view.parentOf(node))
		path.unshift(node);
	const add = (row, node, x, w, more) => Object.assign(layout.add(row, makeBox(view, node, x, w, null)), { isAbove: true, more });
	layout.hasPath = path.length > 1 && !isPathOpen;
	if (!layout.hasPath) {
		path.forEach((node, row) => add(row, node, 0, width, 0));
		return;
	}
	let x = 0;
	for (const { node, more } of shortPath(view, path, width, textWidth)) {
		const w = textWidth(node, more);
		add(0, node, x, w, more);
		x += w;
	}
	const last = layout.boxes[layout.boxes.length - 1];
	last.w = Math.max(width - last.x, 1);
}

// The places of a path that its row names: the first two, the first Java frame and the last, as far as they
// fit. Each gap between them is one item.
function shortPath(view, path, width, textWidth) {
	const last = path.length - 1, java = Math.max(path.findIndex((node) => isJava(view.kindOf(node))), 0);
	let items;
	for (const places of [[0, 1, 2, 3, 4, last], [0, 1, java, last - 1, last], [0, 1, java, last], [0, 1, last], [0, last], [last]]) {
		const shown = [...new Set(places)].filter((i) => i >= 0 && i <= last).sort((a, b) => a - b);
		if (places.length === 6 && last > 5)
			continue;
		items = [];
		let from = 0;
		for (const i of shown) {
			if (i - from > 1)
				items.push({ node: path[i - 1], more: i - from });
			else if (i > from)
				items.push({ node: path[from], more: 0 });
			items.push({ node: path[i], more: 0 });
			from = i + 1;
		}
		if (items.reduce((sum, { node, more }) => sum + textWidth(node, more), 0) <= width)
			break;
	}
	return items;
}

function addChildren(layout, view, box, scale, options, canFold) {
	const { list, rest } = view.children(box.last, THINNEST / scale);
	let x = box.x + view.selfOf(box.last) * scale;
	if (options.byName)
		list.sort((a, b) => compareNames(view, a, b));
	for (const child of list) {
		const w = view.totalOf(child) * scale;
		if (x < options.width && x + w > 0)
			layout.add(box.row + 1, makeBox(view, child, x, w, canFold));
		x += w;
	}
	if (rest.weight * scale >= 0.3 && x < options.width && x + rest.weight * scale > 0)
		layout.add(box.row + 1, { node: box.last, last: box.last, chain: 0, x, w: rest.weight * scale, row: 0, fog: rest, isAbove: false, more: 0 });
}

function compareNames(view, a, b) {
	const x = view.names[view.nameOf(a)], y = view.names[view.nameOf(b)];
	return x < y ? -1 : x > y ? 1 : a - b;
}
