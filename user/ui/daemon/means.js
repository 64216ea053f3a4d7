// The arithmetic of the strip: means of the time that has slices, and the time that has none.

const LATE_MS = 30000; // until a slice is written
const SLACK_MS = 1500; // between two slices

const sum = (list) => list.reduce((a, b) => a + b, 0);

// Per ms of the covered time. A step without slices has no value: null.
export function perCovered(values, covered) {
	return values.map((v, i) => (covered[i] > 0 ? v / covered[i] : null));
}

export const meanOf = (values, covered) => (sum(covered) > 0 ? sum(values) / sum(covered) : null);

// Which steps lack slices of more than a tenth of their time. The newest slices are not written yet.
export function gapsOf({ from_ms: from, step_ms: step, covered_ms: covered }, now) {
	return covered.map((ms, i) => {
		const begin = from + i * step, expected = Math.min(Math.max(now - LATE_MS - begin, 0), step);
		return ms + SLACK_MS < expected * 0.9;
	});
}
