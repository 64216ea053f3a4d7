// Shortens names in steps and keeps the significant part: a.b.Class.method, Class.method, method.
const WIDEST_LETTER = 13, NARROWEST_LETTER = 2.5; // px; limits for letters of PLAIN

class NameTexts {
	constructor(names) {
		this.letters = new Map();
		this.setNames(names);
	}

	setNames(names) {
		this.names = names;
		this.cache = new Map();
	}

	forms(index) {
		let forms = this.cache.get(index);
		if (!forms)
			this.cache.set(index, forms = { ...shorten(this.names[index]), widths: [] });
		return forms;
	}

	// The first form that fits into `room`. Otherwise the last form, cut to at least three letters;
	// otherwise "".
	fit(context, index, room) {
		const { texts, widths } = this.forms(index);
		for (let i = 0; i < texts.length; i++) {
			// Adding up letters is slow too. Usually their number decides.
			const { length } = texts[i], isLast = i === texts.length - 1;
			if (widths[i] === undefined && length * WIDEST_LETTER <= room && PLAIN.test(texts[i]))
				return texts[i];
			if (widths[i] === undefined && length * NARROWEST_LETTER > room && !isLast)
				continue;
			if (widths[i] === undefined)
				widths[i] = PLAIN.test(texts[i]) ? this.sum(context, texts[i], Infinity).width : context.measureText(texts[i]).width;
			if (widths[i] <= room)
				return texts[i];
		}
		const last = texts[texts.length - 1], { length } = this.sum(context, last, room - this.widthOf(context, '\u2026'));
		return length >= 3 ? `${last.slice(0, length)}\u2026` : '';
	}

	// The part of a text that fits into `room`, letter by letter, because measuring texts is slow.
	sum(context, text, room) {
		let width = 0, length = 0;
		for (const letter of text) {
			width += this.widthOf(context, letter);
			if (width > room)
				break;
			length += letter.length;
		}
		return { width, length };
	}

	// All text uses one font.
	widthOf(context, letter) {
		let width = this.letters.get(letter);
		if (width === undefined)
			this.letters.set(letter, width = context.measureText(letter).width);
		return width;
	}

	// Class.method, for columns of one width.
	short(index) {
		return this.forms(index).short;
	}
}

// Measuring a name of 64 KB would take longer than painting a picture, and no place shows that much.
const LONGEST = 400;

// Suffixes that compilers append to copies of a function.
const CLONE = /\.(isra|constprop|part|cold|llvm|lto_priv|localalias)\b/;

// Methods that say nothing without their class.
const GENERIC = /^(run|call|invoke\w*|apply|accept|doFilter|service|process|execute|<init>|<clinit>)$/;

// A function of a stripped file, whose name is its address or inferred: user/profile/unnamed.h.
const STRIPPED = /^\[(.+?)(\.so\b[^\]]*)?\] (function at )?(0x[\da-f]+|\S+\+\?)$/;

// The forms of a name from the longest to the shortest, and the one for columns.
function shorten(name) {
	name = visible(name);
	if (name.length > LONGEST)
		name = `${name.slice(0, LONGEST)}\u2026`;
	const stripped = STRIPPED.exec(name);
	if (stripped) {
		const short = `[${stripped[1]}] ${stripped[4]}`;
		return { texts: [name, short, stripped[4]], short };
	}
	if (/^[[(<]/.test(name))
		return { texts: [name], short: name };
	if (/ - \d+$/.test(name)) // a JVM: its service, its main class, its PID
		return { texts: [name, name.replace(/ - \d+$/, ''), name.replace(/ - .*/, '')], short: name };
	const base = name.includes('::') ? stripArguments(name) : name;
	const cuts = [], separator = /::|\.(?!so\b)(?=[^./\d])|\/(?=[^./])/g, clone = base.search(CLONE);
	const plain = clone > 0 ? base.slice(0, clone) : base;
	for (let m; (m = separator.exec(plain));)
		cuts.push(m.index + m[0].length);
	const last = base.slice(cuts[cuts.length - 1]), before = base.slice(0, cuts[cuts.length - 2] || 0);
	// Of java.lang.String the last part is the class, of java.lang.String.trim the one before it.
	const isClass = /^([a-z]\w*\.)+$/.test(base.slice(0, cuts[cuts.length - 1])) && /^[A-Z]/.test(last);
	const inPackage = isClass ? base.slice(0, cuts[cuts.length - 1]) : before, short = base.slice(inPackage.length);
	const texts = base === name ? [name] : [name, base];
	if (/^([a-z]\w*\.){2,}$/.test(inPackage))
		texts.push(inPackage.replace(/(\w)\w*/g, '$1') + short);
	if (inPackage)
		texts.push(short);
	if (cuts.length && !isClass && (/::/.test(base) || !GENERIC.test(last)))
		texts.push(last);
	return { texts, short };
}

// Turns ns::Type<A<B>>::call(int) into ns::Type::call.
function stripArguments(name) {
	let depth = 0, out = '';
	for (const ch of name) {
		if (ch === '<' || ch === '(')
			depth++;
		if (depth === 0)
			out += ch;
		if ((ch === '>' || ch === ')') && depth > 0)
			depth--;
	}
	return depth === 0 && out.length > 1 && !/operator/.test(name) ? out : name;
}
