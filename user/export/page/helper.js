// Work that may take long, or for ever, is done by a worker: it runs this same script. A worker that
// takes too long is ended, so that no pattern can freeze the page.
class Helper {
	constructor() {
		this.worker = this.held = null;
		this.waiting = new Map();
		this.nr = 0;
		this.source = ''; // of this script
	}

	start() {
		const url = URL.createObjectURL(new Blob([this.source], { type: 'text/javascript' }));
		this.worker = new Worker(url);
		this.worker.onmessage = (e) => this.finish(e.data.id, e.data);
		this.worker.onerror = (e) => this.end(new Error(e.message || 'the helper of this page failed'));
		this.held = null;
	}

	// Fails with a RangeError after `limit` ms. What is asked last counts: what was asked before and
	// of the same kind is given up.
	async run(verb, input, limit) {
		for (const job of this.waiting.values())
			if (job.verb === verb)
				this.end(new RangeError('given up'));
		if (!this.worker)
			this.start();
		const id = ++this.nr;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => this.end(new RangeError('this pattern takes too long')), limit);
			this.waiting.set(id, { verb, resolve, reject, timer });
			// The profile is large and rarely changes: it is sent once.
			const isHeld = input.profile && input.profile === this.held;
			if (input.profile)
				this.held = input.profile;
			this.worker.postMessage({ id, verb, input: isHeld ? { ...input, profile: null } : input });
		});
	}

	finish(id, { output, error }) {
		const job = this.waiting.get(id);
		this.waiting.delete(id);
		if (!job)
			return;
		clearTimeout(job.timer);
		if (error)
			job.reject(new RangeError(error));
		else
			job.resolve(output);
	}

	end(why) {
		this.worker.terminate();
		this.worker = null;
		for (const job of this.waiting.values()) {
			clearTimeout(job.timer);
			job.reject(why);
		}
		this.waiting.clear();
	}
}

const helper = new Helper();

const HELPER_VERBS = {
	marks: ({ names, source, flags }) => markNames(names, new RegExp(source, flags)),
	transform: ({ transforms, split }, profile) => changedProfile(profile, split, transforms),
};

function serveAsHelper() {
	let profile = null;
	self.onmessage = (e) => {
		const { id, verb, input } = e.data;
		profile = input.profile || profile;
		try {
			self.postMessage({ id, output: HELPER_VERBS[verb](input, profile) });
		} catch (error) {
			self.postMessage({ id, error: String(error && error.message) });
		}
	};
}
