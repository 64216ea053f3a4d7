// Runs work that may take long, or forever, in workers. Each verb has its own worker, so none waits for
// another; each runs this same script. A worker that takes too long is ended: no pattern can freeze the page.
class Helper {
	constructor(verb) {
		this.verb = verb;
		this.worker = this.job = this.held = null;
	}

	start() {
		const worker = new Worker(URL.createObjectURL(new Blob([armourBytes, unpacked, Helper.source], { type: 'text/javascript' })));
		worker.onmessage = (e) => worker === this.worker && this.hear(e.data);
		worker.onerror = (e) => worker === this.worker && this.end(new Error(e.message || 'the helper of this page failed'));
		this.worker = worker;
		this.held = null;
	}

	// Fails with a RangeError when the worker has run for `limit` ms. A new request cancels the previous
	// one.
	async run(input, limit) {
		if (this.job)
			this.end(new RangeError('given up'));
		if (!this.worker)
			this.start();
		return new Promise((resolve, reject) => {
			this.job = { resolve, reject, limit, timer: 0 };
			// The profile is large and rarely changes: it is sent once.
			const isHeld = input.profile && input.profile === this.held;
			if (input.profile)
				this.held = input.profile;
			this.worker.postMessage({ verb: this.verb, input: isHeld ? { ...input, profile: null } : input });
		});
	}

	hear({ hasBegun, output, error }) {
		const { job } = this;
		if (hasBegun) {
			job.timer = setTimeout(() => this.end(new RangeError('this takes too long')), job.limit);
			return;
		}
		this.job = null;
		clearTimeout(job.timer);
		if (error)
			job.reject(new RangeError(error));
		else
			job.resolve(output);
	}

	end(why) {
		const { job } = this;
		this.worker.terminate();
		this.worker = this.job = null;
		if (!job)
			return;
		clearTimeout(job.timer);
		job.reject(why);
	}
}

Helper.source = ''; // the text of this script
const helpers = { marks: new Helper('marks'), transform: new Helper('transform'), decode: new Helper('decode') };

const HELPER_VERBS = {
	marks: ({ names, patterns }) => markNames(names, ...patterns),
	transform: ({ transforms, split }, profile) => changedProfile(profile, split, transforms),
	decode: ({ text }) => decode(text),
};

function serveAsHelper() {
	let profile = null;
	self.onmessage = async (e) => {
		const { verb, input } = e.data;
		self.postMessage({ hasBegun: true });
		profile = input.profile || profile;
		try {
			const output = await HELPER_VERBS[verb](input, profile);
			self.postMessage({ output }, input.text ? [...Object.values(output.nodes).slice(1), ...output.selfs].map((list) => list.buffer) : []);
		} catch (error) {
			self.postMessage({ error: String(error && error.message) });
		}
	};
}
