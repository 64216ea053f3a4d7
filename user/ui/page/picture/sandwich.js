// One method with its callers above it and its callees below. Nodes of callees have even numbers, those of
// callers odd ones. The method is 0.
class Sandwich {
	constructor(tree, name) {
		const { frames } = tree.profile, start = tree.outermost((frame) => frames.name[frame] === name);
		const method = start.length ? frames.method[tree.frame[start[0]]] : -2;
		const total = start.reduce((sum, node) => sum + tree.total[node], 0);
		const root = { method, name, kind: start.length ? -1 : 0, module: start.length ? frames.module[tree.frame[start[0]]] : 0, total };
		Object.assign(this, { tree, profile: tree.profile, names: tree.names, unit: tree.unit, root: 0, isSandwich: true, name, start, total });
		this.callees = new Callees(tree, start, root);
		this.callers = new Callers(tree, start, tree.total, tree.diff && tree.diff.totals, root);
		this.diff = HAS_DIFF && tree.diff && tree.diff.of((id) => this.side(id).compared(id >> 1));
		for (const key of ['totalOf', 'selfOf', 'nameOf', 'kindOf', 'methodOf', 'moduleOf'])
			this[key] = (id) => this.side(id)[key](id >> 1);
	}

	side(id) {
		return id & 1 ? this.callers : this.callees;
	}

	// The callers' root is the method itself and is not drawn.
	parentOf(id) {
		const parent = this.side(id).parentOf(id >> 1);
		return parent <= 0 ? parent : parent * 2 + (id & 1);
	}

	children(id, min) {
		const { list, rest } = this.side(id).children(id >> 1, min), double = (n) => n * 2 + (id & 1);
		return { list: list.map(double), rest };
	}

	isCaller(id) {
		return (id & 1) === 1;
	}

	// Counts a stack once, whichever half matches.
	match(marks) {
		const { tree } = this, above = markedPaths(tree, marks), weigh = (node) => (above[node] ? tree.total[node] : tree.match(marks, node).weight);
		return { weight: this.start.reduce((sum, node) => sum + weigh(node), 0), hits: [] };
	}

	tiersOf() {
		return [];
	}
}

// Draws the callers above the method, the direct callers next to it.
function layOutSandwich(view, options) {
	const above = new Layout(), layout = new Layout(), down = layOut(view, { ...options, zoom: 0, pan: null });
	above.add(0, makeBox(view, 1, 0, options.width, null));
	growRows(above, view, 0, view.total ? options.width / view.total : 0, options, null);
	const rows = above.rows.length - 1;
	for (let row = rows; row > 0; row--)
		for (const box of above.rows[row])
			layout.add(rows - row, box);
	for (const row of down.rows)
		for (const box of row)
			layout.add(rows + box.row, box);
	layout.top = rows;
	layout.isCut = down.isCut;
	layout.isCutAbove = above.isCut;
	layout.isFolded = layout.hasPath = false;
	return layout;
}
