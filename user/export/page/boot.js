// Unpacks the page's script, which is a third of its size that way, and runs it. The page's policy names
// the hash of what comes out, so nothing else can run.
(async function () {
	if (typeof DecompressionStream === 'undefined')
		throw new Error('this browser is too old: it has no DecompressionStream. Chrome 80, Firefox 113, Safari 16.4 and newer ones have it. A static picture works everywhere: sysflame report FILE -o FILE.svg');
	const bytes = Uint8Array.from(atob(document.getElementById('packed').textContent), (c) => c.charCodeAt(0));
	const script = document.createElement('script');
	script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
	document.body.append(script);
})().catch(function (e) {
	window.sysflame = { error: e.message };
	document.getElementById('message').textContent = e.message;
});
