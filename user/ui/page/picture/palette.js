// The colours of frames. A category is a small number with a name and a colour. The legend lists the heaviest
// categories.
const LEGEND_MOST = 9;
const HUES = 24;
const COLOUR_NAMES = { kind: 'frame kind', owner: 'whose code', package: 'package', module: 'module', self: 'self weight' };

class Palette {
	constructor(profile) {
		this.setProfile(profile);
	}

	setProfile(profile) {
		this.profile = profile;
		this.mode = '';
	}

	// `style`: the colours of the style sheet (`kinds`, `fog`). `isDark` selects the colours made here.
	// `owners`: for the mode of that name.
	setMode(mode, style, owners) {
		this.style = style;
		this.owners = owners;
		if (mode !== this.mode)
			this.categories = mode === 'package' || mode === 'module' ? this.categorise(mode) : null;
		this.mode = mode;
	}

	// Finds the category of each frame by rank: the text that its names share.
	categorise(mode) {
		const { frames, names } = this.profile, known = new Map(), list = [], of = new Int32Array(frames.nr), used = new Set();
		// The most frequent categories come first and get different hues.
		const freeHue = (hue) => {
			while (used.has(hue) && used.size < HUES)
				hue = (hue + 7) % HUES;
			used.add(hue);
			return hue;
		};
		for (let f = 0; f < frames.nr; f++) {
			const module = frames.module[f] ? withoutBuild(names[frames.module[f] - 1]) : '';
			const text = mode === 'module' ? module || (isJava(frames.kind[f]) ? 'Java' : KINDS[frames.kind[f]].name) : packageOf(names[frames.name[f]], frames.kind[f], module);
			if (!known.has(text)) {
				known.set(text, list.length);
				list.push({ text, hue: freeHue(hueOf(text)) });
			}
			of[f] = known.get(text);
		}
		// Merged nodes have a name and a module, but no frame.
		this.byName = new Map();
		for (let f = 0; f < frames.nr; f++)
			this.byName.set(frames.name[f] * 16 + frames.kind[f], of[f]);
		return { list, of };
	}

	categoryOf(view, node) {
		return this.categoryFor(view.nameOf(node), view.kindOf(node));
	}

	categoryFor(name, kind) {
		if (this.mode === 'owner')
			return this.owners.ofName(name, kind);
		return this.categories ? this.byName.get(name * 16 + kind) ?? -1 : kind;
	}

	// `last`: the end of the chain that starts at `node`.
	colourOf(view, node, last = node) {
		const { style } = this, kind = view.kindOf(node);
		if (this.mode === 'owner')
			return style.owners[this.categoryOf(view, node)];
		if (view.nameOf(node) < 0 || kind === KIND_GROUP || this.mode === 'kind')
			return style.kinds[kind];
		if (this.mode === 'self') {
			const tree = view.tree || view, self = view.isCaller(node) ? tree.hotMethods().self[view.methodOf(node)] : view.selfOf(last);
			return mix(style.same, style.more, Math.min(1, Math.sqrt(self / (tree.total[0] || 1)) * 3));
		}
		const category = this.categoryOf(view, node);
		return category < 0 ? style.kinds[0] : this.hue(this.categories.list[category].hue);
	}

	// The colour for a method in a list.
	dotOf(name, kind) {
		if (this.mode === 'owner')
			return this.style.owners[this.owners.ofName(name, kind)];
		const category = this.categories ? this.categoryFor(name, kind) : -1;
		return category < 0 ? kindColour(kind) : this.hue(this.categories.list[category].hue);
	}

	hue(hue) {
		return this.style.isDark ? `hsl(${hue * 360 / HUES} 32% 30%)` : `hsl(${hue * 360 / HUES} 50% 78%)`;
	}

	// The categories with the most self weight.
	legend(tree) {
		if (this.mode === 'owner')
			return this.ownerLegend(tree);
		const { of, list } = this.categories, weights = new Float64Array(list.length), { frame, self } = tree;
		for (let i = 1; i < tree.nr; i++)
			weights[of[frame[i]]] += self[i];
		return [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, LEGEND_MOST).filter((c) => weights[c] > 0)
			.map((c) => ({ category: c, name: list[c].text, colour: this.hue(list[c].hue), weight: weights[c] }));
	}

	// Owners of frames in the tree, in their own order.
	ownerLegend({ nr, frame, self, total, profile: { frames } }) {
		const weights = new Float64Array(OWNERS.length), isUsed = new Uint8Array(OWNERS.length), of = Uint8Array.from(frames.kind, (kind, f) => this.owners.ofName(frames.name[f], kind));
		for (let i = 1; i < nr; i++) {
			weights[of[frame[i]]] += self[i];
			isUsed[of[frame[i]]] |= total[i] > 0;
		}
		return OWNERS.map((name, c) => ({ category: c, name, colour: this.style.owners[c], weight: weights[c] })).filter((c) => isUsed[c.category]);
	}
}

// FNV-1a: equal text usually has the same colour in every page.
function hueOf(text) {
	let hash = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	return ((hash ^ hash >>> 15) >>> 0) % HUES;
}

// Only functions without a name have the build id of their file (user/profile/unnamed.h).
const withoutBuild = (module) => module.replace(/ \[build [0-9a-f]+\]$/, '');

// java.util.concurrent for java.util.concurrent.FutureTask.run; for other languages the library or the
// namespace.
function packageOf(name, kind, module) {
	if (kind === 1)
		return 'kernel';
	if (isJava(kind)) {
		const parts = name.split(/[./]/);
		let n = 0;
		while (n < 3 && n < parts.length - 1 && /^[a-z_]/.test(parts[n]))
			n++;
		return parts.slice(0, n).join('.') || '(no package)';
	}
	const space = /^([A-Za-z_]\w*)::/.exec(name);
	return module || (space ? space[1] : KINDS[kind].name);
}
