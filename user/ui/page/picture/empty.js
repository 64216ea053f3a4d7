// The message that replaces an empty picture.
function showEmpty(app) {
	const { transforms } = app.state;
	showMessage(...emptyText(app));
	if (!transforms.some((t) => !t.isOff))
		return;
	const undo = element('button', 'chip', 'Undo the last one');
	undo.addEventListener('click', () => setTransforms(app, transforms.slice(0, -1)));
	$('message').append(undo);
}

// The message if a comparison has weights but nothing to draw.
function nothingToCompare({ before, after }) {
	if (before && after)
		return ['Nothing differs', `All stacks weigh the same before and after; the modes ${DIFF_MODES.slice(1, 3).map((m) => m.name).join(' and ')} show them.`];
	return ['No samples', `There are none ${before ? 'after' : 'before'}; another mode shows the other side.`];
}

function emptyText({ state, profile, tree: { diff } }) {
	if (HAS_DIFF && diff && diff.whole.before + diff.whole.after > 0)
		return nothingToCompare(diff.whole);
	if (state.transforms.some((t) => !t.isOff))
		return ['No samples', 'The transforms have left none.'];
	if (HAS_LABELS && state.picked.some((p) => p.length))
		return ['No samples', `The chosen ones of ${profile.labels.dims.filter((_, d) => (state.picked[d] || []).length).map((dim) => dim.name).join(' and ')} have none in common.`];
	if (HAS_TIME && state.time)
		return ['No samples', 'There are none in this range of time.'];
	return nothingRecorded(profile.meta, profile.meta.types[state.type].name);
}

// The remedy depends on the event: nothing used a CPU, or nothing was sampled often enough.
const REMEDIES = {
	cpu: ['Nothing of it used a CPU for long enough. To see where its threads wait, record another event:', 'wall'],
	alloc: ['It may have allocated less than a sample stands for. Sample smaller amounts:', 'alloc --alloc-interval 16k'],
};

function nothingRecorded({ target, host, duration_ns: ns }, event) {
	const isOption = /^--[\w-]+ [\w.,:@/-]+$/.test(target || ''), [why, instead] = REMEDIES[event === 'samples' ? 'cpu' : event] || [`No ${event} happened, or the filter left none. Record for longer:`, event];
	return ['No samples', `This profile of ${target || host || 'the node'} holds none${ns > 0 ? ` in ${(ns / 1e9).toFixed(1)} s` : ''}. ${why}`,
		`sysflame record -e ${/^[\w:.-]+( .*)?$/.test(instead) ? instead : 'cpu'}${isOption ? ` ${target}` : ''} -d 60 -o flame.html`];
}
