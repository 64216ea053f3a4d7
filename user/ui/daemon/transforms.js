// Saved transforms: lines as --transform takes them, and the form in which a page's address has them.
const VERBS = ['filter', 'only', 'remove', 'hide', 'focus', 'drop', 'merge', 'above', 'cut above', 'below', 'cut below', 'recursion', 'collapse', 'gaps', 'collapse gaps', 'fold', 'replace'];
const PAGE_VERBS = { only: 'filter', hide: 'remove', merge: 'drop', 'cut above': 'above', 'cut below': 'below', collapse: 'recursion', 'collapse gaps': 'gaps' };
const WITH_TO = ['fold', 'replace'], WITHOUT_WHAT = ['recursion', 'gaps'];
const BY_LENGTH = [...VERBS].sort((a, b) => b.length - a.length); // "collapse gaps" before "collapse"

// One line as [verb, what, to, 0]. Throws an Error with a sentence.
function parse(line) {
	const found = BY_LENGTH.find((v) => line === v || line.startsWith(`${v} `));
	if (!found)
		throw new Error(`"${line}" begins with no verb. The verbs are ${VERBS.filter((v) => !PAGE_VERBS[v]).join(', ')}.`);
	const verb = PAGE_VERBS[found] || found, rest = line.slice(found.length).trim();
	const [, what, to] = WITH_TO.includes(verb) ? /^(.+?) (?:->|→)(?: (.*))?$/.exec(rest) || [] : ['', rest, ''];
	if (what === undefined)
		throw new Error(`"${line}" takes a frame, an arrow and a name: ${verb} x -> y.`);
	if (!what && !WITHOUT_WHAT.includes(verb))
		throw new Error(`"${line}" lacks a name or an /expression/.`);
	const expression = /^\/(.+)\/$/.exec(what);
	if (expression)
		try {
			new RegExp(expression[1]);
		} catch (e) {
			throw new Error(`"${line}" has an invalid expression.`);
		}
	return [verb, what, to || '', 0];
}

export const parseLines = (lines) => lines.map(parse);

// The view of a page with these transforms, for an address that has none; "" if there are none.
export function viewOf(saved) {
	try {
		return saved?.lines?.length ? `#${new URLSearchParams({ t: JSON.stringify(parseLines(saved.lines)) })}` : '';
	} catch (e) {
		return '';
	}
}
