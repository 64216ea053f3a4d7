// Whose code a frame is. The user's own packages are guessed: the deepest prefix that the frames outside the
// JDK and known frameworks have in common. `own` of the state replaces the guess.
const OWNERS = ['My code', 'Libraries', 'JDK', 'Native', 'JVM', 'Kernel', 'Processes'];
const OF_KIND = [3, 5, 3, 4, 1, 1, 1, 1, 6, 4, 1];
const GUESS_MOST = 4000; // frames that a guess looks at; those that most nodes use come first
const GUESS_NODES = 1e5; // nodes that it counts
const OWN_MOST = 4, OWN_LEAST = 0.2; // packages that are guessed, and their least weight against the first
const JDK = /^(java|javax|jdk|sun|com\.sun|netscape|org\.(ietf|w3c|xml|omg))\./;
const LIBRARY = /^(javax\.(servlet|persistence|inject|ws|ejb)|jakarta|kotlinx?|scala|clojure|groovy|akka|reactor|rx|cats|zio|io\.(netty|grpc|micrometer|undertow|vertx|quarkus|micronaut|lettuce|opentelemetry|prometheus|jsonwebtoken)|ch\.qos|net\.(bytebuddy|sf|jpountz)|redis|okhttp3|okio|oracle|liquibase|freemarker|javassist|antlr|junit|com\.(google|fasterxml|zaxxer|mysql|amazonaws|azure|microsoft|ibm|codahale|datastax|mongodb|github|esotericsoftware|lmax|netflix|squareup|hazelcast|oracle)|org\.(apache(?!\.jsp\b)|spring\w*|hibernate|jboss|wildfly|eclipse|slf4j|postgresql|h2|hsqldb|mariadb|xerial|elasticsearch|opensearch|lz4|jetbrains|codehaus|glassfish|objectweb|ow2|aspectj|mockito|junit|openjdk|graalvm|rocksdb|bouncycastle|quartz|redisson|thymeleaf|yaml|joda|json|jooq|mybatis|flywaydb|reactivestreams|jctools|agrona|springframework))\./;

const dotted = (name) => (name.includes('/') ? name.replace(/\//g, '.') : name);

// com.acme.shop for com.acme.shop.Cart.add. The name of a class ends in the class.
function packageIn(name, isClass) {
	const dot = name.lastIndexOf('.'), slash = name.lastIndexOf('/'), end = name.lastIndexOf('.', isClass ? Infinity : dot - 1);
	// com/acme/shop/Cart.add
	if (!isClass && end <= 0 && slash > 0 && slash < dot)
		return dotted(name.slice(0, slash));
	return end > 0 ? dotted(name.slice(0, end)) : dotted(name) === name ? '' : packageIn(dotted(name), isClass);
}

// Whose code a package is, without the user's choice.
const usualOwner = (name) => (JDK.test(`${name}.`) && !LIBRARY.test(`${name}.`) ? 2 : 1);

const guessOwn = (profile) => (HAS_JVM && profile.frames.kind.some(isJava) ? commonPackages(profile) : []);

function commonPackages({ frames, names, nodes }) {
	const nr = Math.min(frames.nr, GUESS_MOST), weights = new Uint32Array(frames.nr), packages = new Map(), groups = new Map();
	for (let i = 1, step = Math.ceil(nodes.nr / GUESS_NODES); i < nodes.nr; i += step)
		weights[nodes.frame[i]]++;
	for (let f = 0; f < nr; f++)
		if (isJava(frames.kind[f])) {
			const name = packageIn(names[frames.name[f]], false);
			packages.set(name, (packages.get(name) || 0) + weights[f]);
		}
	for (const [name, weight] of packages) {
		if (JDK.test(`${name}.`) || LIBRARY.test(`${name}.`))
			continue;
		const path = name.split('.').filter((part) => /^[a-z_]/.test(part)), key = path.slice(0, 2).join('.'), group = groups.get(key) || { weight: 0, path };
		let same = 0;
		while (same < group.path.length && group.path[same] === path[same])
			same++;
		groups.set(key, { weight: group.weight + weight, path: group.path.slice(0, same) });
	}
	// Classes without a package count only if there is nothing else.
	const list = [...groups].filter(([key]) => key || groups.size === 1).map(([, group]) => group).sort((a, b) => b.weight - a.weight);
	return list.slice(0, OWN_MOST).filter((group) => group.weight >= OWN_LEAST * list[0].weight).map((group) => group.path.join('.') || '(no package)');
}

// Names are looked at when they are asked for: a picture needs few of them.
class Owners {
	// `text`: packages with commas between them; null for a guess.
	constructor(profile, text) {
		if (!HAS_JVM)
			return;
		this.names = profile.names;
		this.packages = text === null ? guessOwn(profile) : text.split(/[\s,;]+/).filter(Boolean);
		this.starts = this.packages.filter((p) => p[0] !== '(').map((p) => `${dotted(p).replace(/\.$/, '')}.`);
		this.isBare = this.starts.length < this.packages.length;
		this.known = new Map(); // by package
		this.of = new Int8Array(profile.names.length).fill(-1);
	}

	ofName(name, kind) {
		return HAS_JVM && OF_KIND[kind] === 1 ? ownerOfJava(this, name, kind) : OF_KIND[kind];
	}

	isMine(name, kind) {
		return this.ofName(name, kind) === 0;
	}
}

function ownerOfJava({ of, names, known, starts, isBare }, name, kind) {
	if (of[name] >= 0)
		return of[name];
	const text = packageIn(names[name], kind === 10);
	if (!known.has(text))
		known.set(text, starts.some((start) => `${text}.`.startsWith(start)) || isBare && !text ? 0 : usualOwner(text));
	return of[name] = kind === 10 && !text ? 2 : known.get(text);
}

// The packages that count as the user's own, edited.
function ownForm(app, button) {
	const { line, input } = field('packages, with commas between them', app.owners().packages.join(', '));
	const apply = (own) => {
		closeMenu();
		app.change({ own, colour: 'owner' }, true);
	};
	onEnter(input, () => apply(input.value));
	openMenu(button, [element('h2', '', 'My packages'), line, menuItem('Apply', 'Enter', null, () => apply(input.value)), menuItem('Guess them', '', null, () => apply(null))]);
}
