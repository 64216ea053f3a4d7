// Transforms of stacks: an ordered list of { verb, what, to, isOff }. Each maps paths to paths regardless of
// weights, so all value types and labels follow. tests/web/transforms.json defines their results.
const MOST_TRANSFORMS = 50;
const DEEPEST = 65000;
const LONGEST_NAME = 65535, MOST_TEXT = 2 ** 26; // bytes: of a name; of a stack, and of all new names
const NO_STACK = '(no stack)'; // stands for stacks without any frame, as in profile.h
const MANY_NODES = 200000; // writing more nodes as text takes noticeable time
const SLOWEST_TRANSFORM_MS = 10000; // for up to two million nodes; more nodes get more time

// `what` is text, or a regular expression between slashes. Filter, remove and replace match the whole stack,
// ";root;...;leaf;". The other verbs match each frame: text in ";name;", an expression in the name.
const VERBS = {
	filter: { name: 'only', long: 'Only stacks with it' },
	remove: { name: 'hide', long: 'Hide stacks with it' },
	focus: { name: 'focus', long: 'Focus: its callees only' },
	drop: { name: 'merge', long: 'Merge it into its caller' },
	above: { name: 'cut above', long: 'Hide its callees' },
	below: { name: 'cut below', long: 'Hide its callers' },
	recursion: { name: 'collapse', long: 'Collapse recursion', forAll: true },
	gaps: { name: 'collapse gaps', long: 'Collapse recursion with gaps', forAll: true },
	join: { name: 'join', long: 'Join such frames in a row', to: 'as' },
	fold: { name: 'fold', long: 'Fold the frames between', to: 'down to' },
	replace: { name: 'replace', long: 'Replace', to: 'by' },
};

// The kinds of frames in "kind:kernel,native".
const KIND_WORDS = { kernel: [1], native: [0, 2], jvm: [3], java: [4, 5, 6, 7], level: [8], stub: [9], class: [10] };

// "/A/ & /B/" needs a match of each: in the stack, or in the name for verbs that match frames.
function compileWhat(what) {
	if (/^\/.+\/ & \/.+\/$/s.test(what)) {
		const all = what.slice(1, -1).split('/ & /').map((part) => compileWhat(`/${part}/`));
		return { ...all[0], all, isLocal: all.every(({ isLocal }) => isLocal) };
	}
	const m = /^\/(.+)\/$/s.exec(what), words = what.startsWith('kind:') ? what.slice(5).split(',') : [''];
	if (words.every((word) => Object.hasOwn(KIND_WORDS, word)))
		return { kinds: words.flatMap((word) => KIND_WORDS[word]), regex: null, text: what, isLocal: true };
	if (what.startsWith('kind:'))
		throw new SyntaxError(`kinds are ${Object.keys(KIND_WORDS).join(', ')}`);
	return m ? { regex: new RegExp(m[1], 'g'), text: '', isLocal: isFrameLocal(m[1]) }
		: { regex: null, text: what, isLocal: !what.slice(1, -1).includes(';') };
}

// Whether a frame's name alone decides about a match: no part of the expression matches a ";". Returns false
// when in doubt, which is correct but slow.
function isFrameLocal(source) {
	const rest = source.replace(/\\[wds.$/()[\]{}+*?|\\-]/g, 'x').replace(/\[(?:a-z|A-Z|0-9|\w)+\]/g, 'x').replace(/\(\?:/g, '(');
	return !/[.^$;\\[\]]|\(\?/.test(rest) && !new RegExp(source).test('');
}

// Whether a transform needs whole stacks as text.
function takesStacks({ verb, to }, { isLocal, text }) {
	return verb === 'replace' ? !isLocal || text.includes(';') || to.includes(';') || /\$[`'&<]/.test(to)
		: (verb === 'filter' || verb === 'remove') && !isLocal;
}

// Whether a transform may take more than a moment. `sizes` has the sizes of all names, and of all stacks as
// text.
function mayTakeLong(t, sizes) {
	try {
		const patterns = [t.what, ...(t.verb === 'fold' ? [t.to] : [])].map(compileWhat).flatMap((p) => p.all || p), isOfStacks = patterns.some((p) => takesStacks(t, p));
		if (isOfStacks && sizes.nrNodes() > MANY_NODES)
			return true;
		const size = isOfStacks ? sizes.ofStacks() : sizes.ofNames();
		return isOfStacks && size.sum > STEPS_MOST || patterns.some(({ regex }) => regex && !isTame(regex.source, size));
	} catch (e) {
		return false; // the caller reports what is wrong with it at once
	}
}

// Text between ";" in written stacks. A ";" inside a name becomes ":", because it would look like the next
// frame.
const plainName = (name) => (name.includes(';') ? name.replace(/;/g, ':') : name);

// Repeated replacing by longer names can double them each time.
const tooLong = () => new RangeError('this makes names or stacks too long');

// The length of a text in UTF-8. Throws if it is more than `most`.
function bytesOf(text, most) {
	const length = PLAIN.test(text) ? text.length : new TextEncoder().encode(text).length;
	if (length > most)
		throw tooLong();
	return length;
}

// The frames of a profile, and those that replacing adds.
class FrameSet {
	constructor(profile) {
		const { frames } = profile;
		this.names = profile.names;
		for (const key of ['name', 'kind', 'module', 'method'])
			this[key] = frames[key];
		this.sources = frames.sources;
		this.nr = frames.nr;
		this.nrMethods = frames.nrMethods;
		this.byName = null;
		this.added = 0; // bytes of new names
	}

	// A frame of that name: preferably one like the frame `like`, else a known one, else a new one. The
	// choice decides which frames are one method in the next transform. The C program makes the same
	// choice.
	named(text, like) {
		if (!this.byName)
			this.indexNames();
		const known = this.byName.get(text);
		if (known) {
			const order = (f) => this.kindClass(f) * 2 ** 32 + this.module[f];
			return known.find((f) => like >= 0 && order(f) === order(like)) ?? known.reduce((a, b) => (order(b) < order(a) ? b : a));
		}
		const bytes = bytesOf(text, LONGEST_NAME);
		if (this.added + bytes > MOST_TEXT)
			throw tooLong();
		this.added += bytes;
		return this.addFrame(text, like);
	}

	addFrame(text, like) {
		const f = this.nr++;
		this.byName.set(text, (this.byName.get(text) || []).concat(f));
		this.name.push(this.names.push(text) - 1);
		this.kind.push(like >= 0 ? this.kind[like] : 0);
		this.module.push(like >= 0 ? this.module[like] : 0);
		this.method.push(this.nrMethods++);
		return f;
	}

	// The frame for stacks without frames.
	ofNoStack() {
		if (!this.byName)
			this.indexNames();
		return this.byName.get(NO_STACK)?.find((f) => this.kind[f] === 0 && this.module[f] === 0) ?? this.addFrame(NO_STACK, -1);
	}

	// Treats all tiers of Java as one kind.
	kindClass(f) {
		return isJava(this.kind[f]) ? 4 : this.kind[f];
	}

	indexNames() {
		this.byName = new Map();
		this.names = this.names.slice();
		for (const key of ['name', 'kind', 'module', 'method'])
			this[key] = Array.from(this[key]);
		for (let f = 0; f < this.nr; f++) {
			const name = plainName(this.names[this.name[f]]);
			this.byName.set(name, (this.byName.get(name) || []).concat(f));
		}
	}

	text(f) {
		return plainName(this.names[this.name[f]]);
	}

	// Returns a byte per frame. An empty `what` marks all.
	marks({ regex, text, kinds, all }) {
		if (all)
			return both(all.map((part) => this.marks(part)));
		if (kinds)
			return Uint8Array.from(this.kind, (kind) => kinds.includes(kind));
		const marks = new Uint8Array(this.nr), plain = regex && new RegExp(regex.source);
		for (let f = 0; f < this.nr; f++)
			marks[f] = plain ? plain.test(this.text(f)) : `;${this.text(f)};`.includes(text);
		return marks;
	}

	result() {
		return { nr: this.nr, name: Int32Array.from(this.name), kind: Uint8Array.from(this.kind),
			module: Int32Array.from(this.module), method: Int32Array.from(this.method), nrMethods: this.nrMethods, sources: this.sources };
	}
}

const both = (lists) => lists.reduce((a, b) => a.map((x, i) => x & b[i]));

// The paths under construction. Children of a node differ by method and are found by open addressing.
class Paths {
	constructor(capacity) {
		this.nr = 1;
		this.parent = new Int32Array(capacity);
		this.frame = new Int32Array(capacity);
		this.method = new Int32Array(capacity);
		this.weight = new Float64Array(capacity);
		this.parent[0] = this.frame[0] = -1;
		this.fillSlots();
	}

	fillSlots() {
		this.mask = 2 ** (Math.ceil(Math.log2(this.parent.length)) + 1) - 1;
		this.slots = new Int32Array(this.mask + 1);
		for (let i = 1; i < this.nr; i++)
			this.slots[this.slotOf(this.parent[i], this.method[i])] = i;
	}

	grow() {
		for (const key of ['parent', 'frame', 'method', 'weight'])
			this[key] = widened(this[key], 2 * this[key].length);
		this.fillSlots();
	}

	// The first slot tried is near the parent's, which is in the processor's cache.
	slotOf(parent, key) {
		const { slots, mask } = this, parents = this.parent, methods = this.method;
		let slot = 2 * parent + (key & 1) & mask, i = slots[slot];
		if (i === 0 || parents[i] === parent && methods[i] === key)
			return slot;
		slot = Math.imul(Math.imul(parent, 0x9e3779b1) ^ key, 0x85ebca6b);
		for (slot = (slot ^ slot >>> 15) & mask; (i = slots[slot]) !== 0; slot = slot + 1 & mask)
			if (parents[i] === parent && methods[i] === key)
				break;
		return slot;
	}

	// The kind of a merged node is that of the frame with the most weight.
	child(parent, frame, method, weight) {
		let slot = this.slotOf(parent, method), i = this.slots[slot];
		if (i === 0) {
			if (this.nr === this.parent.length) {
				this.grow();
				slot = this.slotOf(parent, method);
			}
			i = this.slots[slot] = this.nr++;
			this.parent[i] = parent;
			this.frame[i] = frame;
			this.method[i] = method;
			this.weight[i] = weight;
		} else if (weight > this.weight[i]) {
			this.frame[i] = frame;
			this.weight[i] = weight;
		}
		return i;
	}
}

// The functions return where the path of node i goes, when its caller's path went to `up`; -1 removes it.
const STEPS = {
	drop: (w, marks) => (i, up) => (marks[w.frame[i]] ? up : w.add(up, w.frame[i])),
	focus: (w, marks) => (i, up) => (up > 0 ? w.add(up, w.frame[i]) : marks[w.frame[i]] ? w.add(0, w.frame[i]) : -1),
	below: (w, marks) => (i, up) => w.add(marks[w.frame[i]] ? 0 : up, w.frame[i]),
	above(w, marks) {
		const isCut = new Uint8Array(w.nr);
		return (i, up) => {
			isCut[i] = isCut[w.parent[i]] | marks[w.frame[i]];
			return isCut[w.parent[i]] ? up : w.add(up, w.frame[i]);
		};
	},
	recursion: (w, marks) => (i, up) => (marks[w.frame[i]] && up > 0 && w.next.method[up] === w.frames.method[w.frame[i]] ? up : w.add(up, w.frame[i])),
	gaps: (w, marks) => (i, up) => {
		const frame = w.frame[i], method = w.frames.method[frame];
		for (let above = marks[frame] ? up : 0; above > 0; above = w.next.parent[above])
			if (w.next.method[above] === method)
				return above;
		return w.add(up, frame);
	},
	// `frame` stands for frames in `marks` that call each other.
	join: (w, marks, frame) => (i, up) => (!marks[w.frame[i]] ? w.add(up, w.frame[i]) : up > 0 && w.next.method[up] === w.frames.method[frame] ? up : w.add(up, frame)),
	// Keeps the outermost frame in `marks`. Removes the frames between it and the last of `ends` towards
	// the leaf.
	fold(w, marks, ends) {
		const open = new Int32Array(w.nr);
		return (i, up) => {
			const from = open[w.parent[i]], at = w.add(from && ends[w.frame[i]] ? from : up, w.frame[i]);
			open[i] = from || (marks[w.frame[i]] ? at : 0);
			return at;
		};
	},
	rename: (w, frames) => (i, up) => (frames[w.frame[i]] < 0 ? up : w.add(up, frames[w.frame[i]])),
};

// The stacks between two transforms. `where`: for each node of the profile, the node with its weight. A
// parent's number is smaller than its child's.
class Stacks {
	constructor(profile) {
		const { nr, parent, frame } = profile.nodes;
		Object.assign(this, { nr, parent, frame, profile, frames: new FrameSet(profile), where: new Int32Array(nr) });
		for (let i = 0; i < nr; i++)
			this.where[i] = i;
	}

	// Throws a SyntaxError for an invalid expression, a RangeError for one that takes too long or makes
	// too much text.
	apply({ verb, what, to }) {
		const pattern = compileWhat(what), { frames } = this;
		if (verb === 'filter' || verb === 'remove')
			this.keep(this.hits(pattern), verb === 'filter' ? 1 : 0);
		else if (verb === 'replace')
			this.replace(pattern, to);
		else if (verb === 'join')
			this.join(frames.marks(pattern), to);
		else
			this.move(STEPS[verb](this, frames.marks(pattern), verb === 'fold' ? frames.marks(compileWhat(to)) : null), verb === 'focus' ? -1 : 0);
	}

	join(marks, to) {
		const { frames } = this, first = marks.indexOf(1);
		if (first >= 0)
			this.move(STEPS.join(this, marks, frames.named(plainName(to), first)), 0);
	}

	add(up, frame) {
		return this.next.child(up, frame, this.frames.method[frame], this.weight);
	}

	sizes() {
		const { nr, parent, frame, frames } = this, lengths = () => Array.from({ length: frames.nr }, (_, f) => frames.text(f).length);
		const ofStacks = () => {
			const own = lengths(), length = new Float64Array(nr).fill(1), isEnd = this.ends();
			for (let i = 1; i < nr; i++)
				length[i] = length[parent[i]] + own[frame[i]] + 1;
			return sizeOf(length.map((n, i) => n * isEnd[i]));
		};
		return { nrNodes: () => nr, ofNames: () => sizeOf(lengths()), ofStacks };
	}

	keep(hit, wanted) {
		const { where } = this;
		for (let i = 0; i < where.length; i++)
			if (where[i] >= 0 && hit[where[i]] !== wanted) {
				where[i] = -1;
				this.isChanged = true;
			}
	}

	// A byte per node: whether its stack matches.
	hits(pattern) {
		if (pattern.all)
			return both(pattern.all.map((part) => this.hits(part)));
		const hit = new Uint8Array(this.nr), { parent, frame } = this;
		if (pattern.isLocal) {
			const marks = this.frames.marks(pattern);
			for (let i = 1; i < this.nr; i++)
				hit[i] = hit[parent[i]] | marks[frame[i]];
			return hit;
		}
		const regex = pattern.regex && new RegExp(pattern.regex.source);
		this.eachText((i, text) => hit[i] = regex ? regex.test(text) : text.includes(pattern.text));
		return hit;
	}

	// A byte per node: whether it has self weight.
	ends() {
		const { where } = this, isEnd = new Uint8Array(this.nr);
		for (const self of this.profile.selfs)
			for (let i = 0; i < where.length; i++)
				if (where[i] >= 0 && self[i] > 0)
					isEnd[where[i]] = 1;
		return isEnd;
	}

	// Calls `run` with the text of every stack that has a weight. Its first part is that of the previous
	// stack. `path` holds the frames of that stack, `ends` the ends of their texts; the common frames
	// stay.
	eachText(run) {
		const words = [], path = [], ends = [1], { parent, frame } = this, place = new Int32Array(this.nr), isEnd = this.ends();
		let text = ';';
		for (let f = 0; f < this.frames.nr; f++)
			words.push(`${this.frames.text(f)};`);
		for (let i = 1; i < this.nr; i++) {
			if (!isEnd[i])
				continue;
			const fresh = [];
			let node = i;
			for (; node > 0 && !place[node]; node = parent[node])
				fresh.push(node);
			while (path.length > place[node])
				place[path.pop()] = 0;
			ends.length = path.length + 1;
			text = text.slice(0, ends[path.length]);
			while (fresh.length) {
				node = fresh.pop();
				text += words[frame[node]];
				place[node] = path.push(node);
				ends.push(text.length);
			}
			run(i, text);
		}
	}

	// Adds a frame to stacks that lost all frames.
	nameEmpty() {
		const { where, nr, profile: { selfs } } = this, empty = [];
		for (let i = 1; i < where.length; i++)
			if (where[i] === 0 && selfs.some((self) => self[i] > 0))
				empty.push(i);
		if (!empty.length)
			return;
		const { frames } = this, frame = frames.ofNoStack(), method = frames.method[frame];
		let node = 1;
		while (node < nr && (this.parent[node] !== 0 || frames.method[this.frame[node]] !== method))
			node++;
		if (node === nr)
			for (const [key, value] of [['parent', 0], ['frame', frame]]) {
				this[key] = widened(this[key].subarray(0, nr), nr + 1);
				this[key][nr] = value;
			}
		this.nr = Math.max(nr, node + 1);
		for (const i of empty)
			where[i] = node;
	}

	totals() {
		return sumUp(this, moveWeights(this.profile.selfs[0], this.where, this.nr));
	}

	move(step, root) {
		const at = new Int32Array(this.nr), total = this.totals();
		this.next = new Paths(this.nr + 1);
		at[0] = root;
		for (let i = 1; i < this.nr; i++) {
			this.weight = total[i];
			at[i] = step(i, at[this.parent[i]]);
		}
		this.follow(at);
	}

	follow(at) {
		const { where, next, nr } = this;
		// Unchanged paths are added in the same order.
		let same = 1;
		while (same < nr && at[same] === same && next.parent[same] === this.parent[same] && next.frame[same] === this.frame[same])
			same++;
		this.isChanged = this.isChanged || same < nr;
		for (let i = 0; i < where.length; i++)
			if (where[i] >= 0)
				where[i] = at[where[i]];
		Object.assign(this, { nr: next.nr, parent: next.parent, frame: next.frame, next: null });
	}

	replace(pattern, to) {
		const change = pattern.regex ? (text) => text.replace(pattern.regex, to) : (text) => text.split(pattern.text).join(to);
		const swap = (text) => {
			const changed = change(text);
			if (changed.length > MOST_TEXT / 3)
				bytesOf(changed, MOST_TEXT);
			return changed;
		};
		const { frames } = this;
		if (takesStacks({ verb: 'replace', to }, pattern)) {
			this.replaceTexts(swap);
			return;
		}
		const renamed = new Int32Array(frames.nr);
		for (let f = 0, nr = frames.nr; f < nr; f++) {
			const old = frames.text(f), text = swap(old);
			renamed[f] = text === old ? f : text === '' ? -1 : frames.named(text, f);
		}
		this.move(STEPS.rename(this, renamed), 0);
	}

	// Replaces in whole stacks as text, for expressions that may match across frames.
	replaceTexts(swap) {
		const { frames, parent, frame } = this, at = new Int32Array(this.nr).fill(-1), same = new Int32Array(this.nr), total = this.totals();
		this.next = new Paths(this.nr + 1);
		const copy = (i) => {
			const todo = [];
			for (; i > 0 && !same[i]; i = parent[i])
				todo.push(i);
			while (todo.length) {
				i = todo.pop();
				same[i] = this.next.child(same[parent[i]], frame[i], frames.method[frame[i]], total[i]);
			}
			return same[i];
		};
		let isChanged = false;
		this.eachText((i, text) => {
			const changed = swap(text);
			isChanged = isChanged || changed !== text;
			at[i] = changed === text ? copy(i) : this.addText(i, changed.split(';').filter(Boolean), total[i]);
		});
		at[0] = 0;
		this.follow(at);
		this.isChanged = isChanged;
	}

	addText(i, words, weight) {
		const { frames } = this, old = [], known = new Map();
		for (; i > 0; i = this.parent[i])
			old.push(this.frame[i]);
		old.reverse();
		for (const f of old)
			known.set(frames.text(f), f);
		this.weight = weight;
		let at = 0;
		words.slice(0, DEEPEST).forEach((word, k) => {
			at = this.add(at, known.has(word) ? known.get(word) : frames.named(word, words.length === old.length ? old[k] : -1));
		});
		return at;
	}
}

// Returns the profile after the active transforms, a message for each one that failed, and whether it changed
// nothing (`idle`). With `isBrief` it
// stops before a transform that has become slow because previous ones made names longer; `longAt` is its
// index.
function transformProfile(profile, list, isBrief) {
	const stacks = new Stacks(profile), errors = [], idle = [];
	for (const [i, t] of list.entries()) {
		idle[i] = true;
		if (t.isOff || !t.what && !VERBS[t.verb].forAll || (t.verb === 'fold' || t.verb === 'join') && !t.to)
			continue;
		if (isBrief && stacks.frames.added > 0 && mayTakeLong(t, stacks.sizes()))
			return { longAt: i };
		try {
			stacks.isChanged = false;
			stacks.apply(t);
			idle[i] = !stacks.isChanged;
		} catch (e) {
			if (!(e instanceof SyntaxError || e instanceof RangeError))
				throw e;
			errors[i] = e.message.replace(/^Invalid regular expression: /, '');
		}
	}
	stacks.nameEmpty();
	return { profile: profileOf(stacks), errors, idle };
}
