// The places of a view's frames. Row 0 is the root; boxes of a row are sorted by x.
const ROW = 20;
const THINNEST = 1;

class Layout {
	constructor() {
		this.boxes = [];
		this.rows = [];
		this.top = 0;
		this.isCut = false;
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
// `chain` nodes. Fog stands for siblings too thin to draw.
function makeBox(view, node, x, w, fold) {
	const box = { node, last: node, chain: 0, x, w, row: 0, fog: null, isAbove: false };
	for (let child; fold(node) && (child = view.chainChild(box.last)) >= 0; box.chain++)
		box.last = child;
	return box;
}

// `options`: zoom (node), width, collapse (except nodes of view.expanded), byName, maxRows. At most `maxRows`
// rows below the zoom are laid out; `isCut` says that there are more.
function layOut(view, options) {
	const layout = new Layout(), { zoom, width } = options;
	const total = view.totalOf(zoom), scale = total ? width / total : 0;
	const fold = (node) => options.collapse && !view.expanded.has(node);

	addAncestors(layout, view, options);
	const row = layout.rows.length;
	layout.top = row;
	layout.add(row, makeBox(view, zoom, 0, width, fold));
	growRows(layout, view, row, scale, options);
	return layout;
}

// Lays out the rows below `row`.
function growRows(layout, view, row, scale, options) {
	const fold = (node) => options.collapse && !view.expanded.has(node);
	let r = row;
	for (; layout.rows[r] && r < row + options.maxRows; r++)
		for (const box of layout.rows[r])
			if (!box.fog)
				addChildren(layout, view, box, scale, options, fold);
	layout.isCut = Boolean(layout.rows[r]);
}

function addAncestors(layout, view, options) {
	const path = [];
	for (let node = view.parentOf(options.zoom); node >= 0; node = view.parentOf(node))
		path.push(node);
	let box = null;
	for (const node of path.reverse()) {
		const isInside = box && options.collapse && !view.expanded.has(box.node) &&
			view.chainChild(box.last) === node;
		if (isInside) {
			box.last = node;
			box.chain++;
			continue;
		}
		box = layout.add(layout.rows.length, makeBox(view, node, 0, options.width, () => false));
		box.isAbove = true;
	}
}

function addChildren(layout, view, box, scale, options, fold) {
	const { list, rest } = view.children(box.last, THINNEST / scale);
	let x = box.x + view.selfOf(box.last) * scale;
	if (options.byName)
		list.sort((a, b) => compareNames(view, a, b));
	for (const child of list) {
		const w = view.totalOf(child) * scale;
		layout.add(box.row + 1, makeBox(view, child, x, w, fold));
		x += w;
	}
	if (rest.weight * scale >= 0.3)
		layout.add(box.row + 1, { node: box.last, last: box.last, chain: 0, x, w: rest.weight * scale, row: 0, fog: rest, isAbove: false });
}

function compareNames(view, a, b) {
	const x = view.names[view.nameOf(a)], y = view.names[view.nameOf(b)];
	return x < y ? -1 : x > y ? 1 : a - b;
}
