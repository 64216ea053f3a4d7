// The graph of something that still grows: pages follow each other, and the last one stays.
import { el, graphFrame } from './dom.js';

const FAILED_MS = 5000, FAILED_MOST_MS = 60000;

// The zoom is kept as a path of names, because numbers of nodes change.
function withoutZoom(hash) {
	const parts = new URLSearchParams(String(hash).slice(1, 8000));
	parts.delete('z');
	return `#${parts}`;
}

// A page is loaded behind the one that is shown, so that nothing flickers, and gets its view. `address` and `caption`
// take the number of the page.
export class Preview {
	constructor({ title, waiting, refreshMs, address, caption }) {
		Object.assign(this, { title, address, caption, hash: '', path: null, seen: 0, patience: FAILED_MS, isLive: true });
		this.live = el('label', { className: 'check' }, el('input', { type: 'checkbox', checked: true, on_change: (e) => {
			this.isLive = e.target.checked;
		} }), `refresh every ${refreshMs / 1000} s`);
		this.box = el('div', { className: 'preview' }, el('div', { className: 'bar' }, this.state = el('p', { className: 'quiet' }, waiting), this.live));
		this.onMessage = (e) => {
			if (e.data?.sysflame !== 'view' || !e.source)
				return;
			if (e.source === this.next?.contentWindow)
				return this.show();
			if (e.source !== this.frame?.contentWindow)
				return;
			this.hash = withoutZoom(e.data.hash);
			this.path = e.data.path;
		};
		addEventListener('message', this.onMessage);
		this.timer = setInterval(() => this.isLive && !document.hidden && this.refresh(), refreshMs);
	}

	// Only if something arrived since the last time.
	setParts(nr, isOver) {
		this.parts = nr;
		this.isOver = isOver;
		if (!this.seen)
			this.refresh();
	}

	// The page that replaces all others.
	finish(src, caption) {
		clearInterval(this.timer);
		this.live.remove();
		this.next?.remove();
		this.next = null;
		this.load(src, caption);
	}

	refresh() {
		if (this.next || this.isOver || !this.parts || this.parts === this.seen)
			return;
		this.nr = this.parts;
		this.load(this.address(this.nr), this.caption(this.nr));
	}

	load(src, caption) {
		const next = graphFrame(this.title, 'frame next');
		next.src = src + this.hash;
		this.next = next;
		this.nextCaption = caption;
		this.box.append(next);
		// A page that fails says nothing.
		next.addEventListener('load', () => setTimeout(() => this.next === next && this.giveUp(), this.patience), { once: true });
	}

	// Keeps the page that is shown. The next turn loads another one, with more time: a large page is slow.
	giveUp() {
		this.next.remove();
		this.next = null;
		this.patience = Math.min(2 * this.patience, FAILED_MOST_MS);
		this.state.textContent = this.frame ? `${this.shownCaption}. A fresher one could not be shown.` : 'The profile so far could not be shown.';
	}

	// The new page is ready: it gets the zoom of the old one and takes its place.
	show() {
		const { next, nr } = this, hadFocus = this.frame && document.activeElement === this.frame;
		if (this.path?.length)
			next.contentWindow?.postMessage({ sysflame: 'zoom', path: this.path }, '*');
		this.frame?.remove();
		next.classList.remove('next');
		this.frame = next;
		this.next = null;
		this.seen = nr;
		this.state.textContent = this.shownCaption = this.nextCaption;
		if (hadFocus)
			next.focus();
	}

	close() {
		clearInterval(this.timer);
		removeEventListener('message', this.onMessage);
		this.box.remove();
	}
}
