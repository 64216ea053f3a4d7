// Splits stacks by a label or by the tier of the leaf: a level below the root.
const SPLIT_TIER = 'tier';

// The names that a profile may be split by. If it is `chosen`, as by report --split, a label with one value too, and
// the number of a trace.
function splitsOf({ labels }, chosen) {
	if (!HAS_LABELS)
		return HAS_JVM ? [SPLIT_TIER] : [];
	const isUseful = ({ name, values }) => values.length > 1 && !(HAS_REQUESTS && /^(trace|span)_id$/.test(name));
	const dims = labels ? labels.dims.filter((dim) => !dim.isNumeric && dim.name !== 'jvm' && !(HAS_REQUESTS && dim.name === 'tags') && (dim.name === chosen || isUseful(dim))) : [];
	return [...(HAS_REQUESTS ? withFewTags(dims, chosen) : dims).map((dim) => dim.name), SPLIT_TIER];
}

// Calls run(type, node, value, weight, set) for every weight; `texts` are the values.
function splitter(profile, by) {
	const { labels, selfs, nodes, frames } = profile, dim = HAS_LABELS && labels && labels.dims.find((d) => d.name === by);
	const texts = dim ? dim.values.map((text) => text || '(none)') : KINDS.map((kind) => kind.long);
	const valueOf = dim ? (node, set) => dim.ofSet[set] : (node) => (node ? frames.kind[nodes.frame[node]] : 0);
	const each = (run) => selfs.forEach((self, type) => {
		const own = HAS_LABELS && labels && labels.ofType[type];
		for (let i = 0; own && i < own.node.length; i++)
			run(type, own.node[i], valueOf(own.node[i], own.set[i]), own.weight[i], own.set[i]);
		for (let i = 0; !own && i < self.length; i++)
			if (self[i])
				run(type, i, valueOf(i), self[i], -1);
	});
	return { texts, each };
}

// The paths below each value, made on demand.
class SplitPaths {
	constructor(profile, firstFrame) {
		Object.assign(this, { profile, firstFrame, parent: [-1], frame: [-1], known: new Map() });
	}

	add(parent, frame) {
		this.parent.push(parent);
		return this.frame.push(frame) - 1;
	}

	of(value, node) {
		const { nr, parent, frame } = this.profile.nodes, { known } = this, missing = [], key = (n) => value * nr + n;
		for (; !known.has(key(node)); node = parent[node]) {
			missing.push(node);
			if (!node)
				break;
		}
		let at = known.has(key(node)) ? known.get(key(node)) : 0;
		for (let n; missing.length; known.set(key(n), at)) {
			n = missing.pop();
			at = this.add(at, n ? frame[n] : this.firstFrame + value);
		}
		return at;
	}
}

function splitProfile(profile, by) {
	const { frames, labels } = profile, { texts, each } = splitter(profile, by), paths = new SplitPaths(profile, frames.nr);
	const own = profile.selfs.map(() => ({ node: [], set: [], weight: [] }));
	each((type, node, value, weight, set) => {
		own[type].node.push(paths.of(value, node));
		own[type].set.push(set);
		own[type].weight.push(weight);
	});
	const nr = paths.parent.length, names = profile.names.concat(texts), widen = (list, value) => list.constructor.from({ length: frames.nr + texts.length }, (_, i) => (i < frames.nr ? list[i] : value(i - frames.nr)));
	const selfs = profile.selfs.map((self, type) => {
		const moved = new self.constructor(nr);
		own[type].node.forEach((node, i) => moved[node] += own[type].weight[i]);
		return moved;
	});
	return profileOf(new Stacks({ ...profile, names, selfs, tiers: new Map(),
		frames: { ...frames, nr: frames.nr + texts.length, name: widen(frames.name, (v) => profile.names.length + v), kind: widen(frames.kind, () => KIND_GROUP),
			module: widen(frames.module, () => 0), method: widen(frames.method, (v) => frames.nrMethods + v), nrMethods: frames.nrMethods + texts.length },
		nodes: { nr, parent: Int32Array.from(paths.parent), frame: Int32Array.from(paths.frame), total: profile.nodes.total },
		labels: HAS_LABELS && labels && { ...labels, ofType: own } }));
}

const changedProfile = (profile, split, transforms, isBrief) => transformProfile(HAS_JVM && split ? splitProfile(profile, split) : profile, transforms, isBrief);
