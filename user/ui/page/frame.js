// In the daemon's interface, the page is in a frame without an origin of its own. It tells the page around it
// its view, and takes the zoom from it: the preview of a recording is loaded anew and keeps its view. A zoom is
// a path of names, because the numbers of nodes change while a profile grows.
const ZOOM_DEPTH_MOST = 2000;

const isFramed = () => parent !== window && window.origin === 'null';

function zoomPath({ view, zoom }) {
	const path = [];
	for (let node = zoom; !view.isSandwich && node > 0 && path.length < ZOOM_DEPTH_MOST; node = view.parentOf(node))
		path.push(nameStart(nameText(view, node)));
	return path.reverse();
}

// The node at the end of the path, -1 if there is none.
function nodeAt(view, path) {
	let node = 0;
	for (const name of path) {
		const next = view.children(node, 0).list.find((child) => nameStart(nameText(view, child)) === name);
		if (next === undefined)
			return -1;
		node = next;
	}
	return node;
}

function tellFrame(app) {
	if (isFramed())
		parent.postMessage({ sysflame: 'view', hash: writeHash(app.state).hash, path: zoomPath(app) }, '*');
}

function followFrame(app) {
	if (!isFramed())
		return;
	addEventListener('message', ({ source, data }) => {
		const path = data && data.sysflame === 'zoom' && data.path;
		if (source !== parent || !Array.isArray(path) || path.length > ZOOM_DEPTH_MOST || app.view.isSandwich)
			return;
		const { view } = app, node = nodeAt(view, path);
		if (node > 0)
			app.change({ link: view.linkOf(node), linkName: nameText(view, node) }, false);
	});
	tellFrame(app);
}
