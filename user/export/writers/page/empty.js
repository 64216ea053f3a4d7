// The message that replaces an empty picture.
function showEmpty(app) {
	const { transforms } = app.state;
	showMessage(...emptyText(app));
	if (!transforms.some((t) => !t.isOff))
		return;
	const undo = element('button', 'chip', 'Undo the last one');
	undo.type = 'button';
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
	if (diff && diff.whole.before + diff.whole.after > 0)
		return nothingToCompare(diff.whole);
	if (state.transforms.some((t) => !t.isOff))
		return ['No samples', 'The transforms have left none.'];
	if (state.picked.some((p) => p.length))
		return ['No samples', `The chosen ones of ${profile.labels.dims.filter((_, d) => (state.picked[d] || []).length).map((dim) => dim.name).join(' and ')} have none in common.`];
	if (state.time)
		return ['No samples', 'There are none in this range of time.'];
	return ['No samples', `This profile of ${profile.meta.target || profile.meta.host || 'the node'} holds none: nothing that was asked for ran while it was taken.`,
		'Record for longer, at a higher rate, or without a filter:', 'sysflame record -d 30 -F 999 -o flame.html'];
}
