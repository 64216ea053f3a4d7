// Unpacks the page's style, body and script and runs them; packing saves three quarters of their size. The
// page's policy names the hashes of the unpacked texts, so nothing else can run.
(async function () {
	// There is nothing to lay out until the profile is decoded; start.js shows the page.
	document.body.hidden = true;
	if (typeof DecompressionStream === 'undefined' || !Object.hasOwn)
		throw new Error('This browser is too old: it has no DecompressionStream or no Object.hasOwn. Chrome 93, Firefox 113, Safari 16.4 and newer ones have both. A static picture works everywhere: sysflame report FILE -o FILE.svg');
	const bytes = armourBytes(document.getElementById('packed').textContent);
	const [script, style, body] = (await unpacked(bytes).text()).split('\f');
	const add = (tag, text) => document.body.append(Object.assign(document.createElement(tag), { textContent: text }));
	add('style', style);
	document.getElementById('before').hidden = true;
	document.body.insertAdjacentHTML('afterbegin', body);
	add('script', script);
})().catch(function (e) {
	window.sysflame = { error: e.message };
	const before = document.getElementById('before') || document.body.appendChild(document.createElement('p'));
	before.textContent = e.message;
	before.hidden = false;
	document.body.hidden = false;
});
