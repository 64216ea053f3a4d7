// The card with the numbers of the frame under the pointer or of the selected frame.
class Tip {
	constructor() {
		this.box = null;
		this.isPinned = false;
		this.timer = 0;
	}

	// `at`: the pointer and the row that must stay visible, in window coordinates.
	show(app, box, at, delay) {
		if (this.isPinned)
			return;
		clearTimeout(this.timer);
		if (this.box === box && !$('tip').hidden) {
			this.place(at);
			return;
		}
		this.box = box;
		this.timer = setTimeout(() => {
			$('tip').replaceChildren(...(box.fog ? fogParts(app, box) : frameParts(app, box)));
			$('tip').hidden = false;
			this.place(at);
		}, $('tip').hidden ? delay : 0);
	}

	place(at) {
		const tip = $('tip'), { offsetWidth: w, offsetHeight: h } = tip;
		const below = at.bottom + 8, above = at.top - 8 - h;
		tip.style.left = `${clamp(at.x - 40, 6, innerWidth - w - 6)}px`;
		tip.style.top = `${below + h < innerHeight - 6 || above < 6 ? Math.min(below, Math.max(6, innerHeight - h - 6)) : above}px`;
	}

	pin() {
		if ($('tip').hidden)
			return false;
		this.isPinned = !this.isPinned;
		$('tip').classList.toggle('pinned', this.isPinned);
		return true;
	}

	// Returns whether the card was visible.
	hide(isForced) {
		clearTimeout(this.timer);
		const was = !$('tip').hidden;
		if (this.isPinned && !isForced)
			return false;
		this.isPinned = false;
		this.box = null;
		$('tip').classList.remove('pinned');
		$('tip').hidden = true;
		return was;
	}
}

function tableOf(rows) {
	const table = element('table');
	for (const cells of rows) {
		const row = table.insertRow();
		for (const text of cells)
			row.insertCell().textContent = visible(text);
	}
	return table;
}

function fogParts(app, box) {
	const { view } = app, total = app.tree.total[0];
	return [element('h2', '', plural(box.fog.nodes, 'frame')), element('p', '', 'narrower than 1 px, drawn as one; searches count them'),
		tableOf([['Total', amount(box.fog.weight, view.unit), percent(box.fog.weight, total)]])];
}

const nameText = (view, node) => (view.nameOf(node) < 0 ? 'all' : view.names[view.nameOf(node)]);

function kindText(view, node) {
	if (view.nameOf(node) < 0)
		return 'everything in this profile';
	const tiers = HAS_JVM ? view.tiersOf(node) : [], module = view.moduleOf(node);
	const kind = tiers.length ? `Java \u00b7 ${tiers.map(([k, part]) => `${KINDS[k].name} ${percent(part, view.totalOf(node))}`).join(' \u00b7 ')}`
		: KINDS[view.kindOf(node)].long;
	const source = HAS_LINES && view.sourceOf ? view.sourceOf(node) : '';
	return [kind, module, source].filter(Boolean).join(' \u00b7 ');
}

// The weights of a frame at the box. A caller's self weight is that of the stacks that start at it. In a
// chain only the last frame has self weight.
function numbersOf(app, box) {
	const { view, zoom } = app, node = box.node, total = view.totalOf(node), isCaller = view.isCaller(node) && node !== view.root;
	const whole = app.tree.total[0], parent = view.parentOf(node), self = view.selfOf(box.last);
	const last = box.chain ? app.painter.texts.fit(app.painter.context, view.nameOf(box.last), 150) : '';
	const rows = [['Total', amount(total, view.unit), percent(total, whole)],
		[isCaller ? 'Starts here' : `Self${last && ` of ${last}`}`, amount(self, view.unit), percent(self, whole)]];
	if (parent >= 0)
		rows.push([isCaller ? 'Of callee' : 'Of parent', '', percent(total, view.totalOf(parent))]);
	if (total <= view.totalOf(zoom) && (zoom !== view.root || view.isSandwich && parent >= 0))
		rows.push(['Of view', '', percent(total, view.totalOf(zoom))]);
	if (HAS_DIFF && view.diff)
		rows.push(...view.diff.rows(node));
	return tableOf(rows);
}

function frameParts(app, box) {
	const { view } = app, { node } = box;
	const parts = [element('h2', '', nameText(view, node).slice(0, 2000)), element('p', '', kindText(view, node)), ...(HAS_JVM ? tierParts(view, node) : []), numbersOf(app, box)];
	if (box.chain)
		parts.push(chainList(view, box));
	return parts;
}

// A bar of the tiers of a method that has several.
function tierParts(view, node) {
	const bar = element('div', 'bar'), tiers = view.tiersOf(node);
	for (const [kind, part] of tiers) {
		const piece = element('span');
		piece.style.background = kindColour(kind);
		piece.style.width = `${part / view.totalOf(node) * 100}%`;
		bar.append(piece);
	}
	return tiers.length ? [bar] : [];
}

const CHAIN_SHOWN = 12;

function chainList(view, box) {
	const list = element('ol'), names = [];
	for (let node = box.last; node !== box.node; node = view.parentOf(node))
		names.unshift(nameText(view, node));
	for (const name of names.slice(0, CHAIN_SHOWN))
		list.append(element('li', '', `\u2193 ${name.slice(0, 300)}`));
	if (names.length > CHAIN_SHOWN)
		list.append(element('li', '', `and ${plural(names.length - CHAIN_SHOWN, 'more frame')}`));
	return list;
}
