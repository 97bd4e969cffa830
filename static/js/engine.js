// The forward pass: a list of steps, run over the given values (engine/steps.py). static/toy.js holds it for all pages,
// each page the steps that it uses beyond it.
"use strict";

const carried = JSON.parse(document.getElementById("toy").textContent);
const data = { ...TOY, ...carried, given: { ...TOY.given, ...carried.given }, runs: { ...TOY.runs, ...carried.recorded } };
const words = (text = "") => text.split(" ").filter(Boolean);
function asStep(line) {
	const [name, op, inputs, symbol, title, page, axes, via] = line.split("~");
	const lists = { inputs: words(inputs), axes: words(axes).map((k) => data.axes[k]), via: words(via) };
	return { name, op, symbol, title, page: Number(page), ...lists };
}
const mapped = (object, f) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, f(value)]));
const FORWARD = data.steps.map(asStep);
const DERIVED = mapped(data.derived, (lines) => lines.map(asStep));

/** Nested lists as an array. */
function nested(values) {
	const shape = [];
	for (let v = values; Array.isArray(v); v = v[0]) shape.push(v.length);
	return array(shape, [values].flat(3));
}
const GIVEN = mapped(data.given, nested);
const POSITIONS = GIVEN["size.positions"].data[0];

/** Where a text is cut, longest match first: [{start, fits}], then where nothing fits (-1: all of it is cut). */
function cuts(text) {
	const visible = text.replaceAll(" ", "␣");
	const longestFirst = data.vocabulary.filter(Boolean).sort((a, b) => b.length - a.length);
	const found = [];
	for (let start = 0; start < visible.length; start += found.at(-1).fits[0].length) {
		const fits = longestFirst.filter((token) => visible.startsWith(token, start));
		if (!fits.length) return [found, start];
		found.push({ start, fits });
	}
	return [found, -1];
}
const idsOf = (text) => cuts(text)[0].map(({ fits }) => data.vocabulary.indexOf(fits[0]));

/** A state is what a reader changed: given numbers, text, next token, switches, tokens appended. */
const SHIPPED = { set: {}, text: null, next: null, off: [], play: [] };

/** Every run under one state of the toy, made when it is asked for. */
class Runs {
	constructor(state) {
		Object.assign(this, { state, traces: {}, given: { ...GIVEN } });
		for (const [ref, value] of Object.entries(state.set)) {
			const [name, index] = split(GIVEN, ref) || [];
			if (!name) continue; // a dial of another page
			const { shape, data: old } = this.given[name];
			this.given[name] = array(shape, old);
			this.given[name].data[offset(shape, index)] = value;
		}
	}

	trace(run) {
		return (this.traces[run] ??= this.run(run, run === "generated" ? this.generated() : this.spec(run)));
	}

	/** What a run starts from. It takes from main what it does not say itself. */
	spec(run) {
		const { main } = data.runs;
		const { text, next, off, play } = this.state;
		const own = (run !== "main" && data.runs[run]) || {};
		const ids = [...(own.ids || (text === null ? main.ids : idsOf(text))), ...(run === "play" ? play : [])];
		const patches = [data.patch, ...off.map((name) => data.runs[name].patch), own.patch];
		return { ids, targets: [...ids.slice(1), own.next ?? next ?? main.next], patch: Object.assign({}, ...patches) };
	}

	/** The main text, continued greedily to the end token or the last position. */
	generated() {
		const { ids, targets, patch } = this.spec("main");
		const all = [...ids];
		for (let next; all.length < POSITIONS && next !== data.end; all.push(next)) {
			const { logits } = this.run("generated", { ids: all, targets: all, patch }).values;
			next = mostLikelyFirst(rowOf(logits, all.length - 1))[0];
		}
		if (all.length === ids.length) all.push(targets.at(-1));
		return { ids: all.slice(0, -1), targets: all.slice(1), patch };
	}

	run(run, { ids, targets, patch }) {
		const scene = data.runs[run]?.vocabulary && data.runs[run];
		const { vocabulary } = scene || data;
		const ofText = { ids: nested(ids), targets: nested(targets), "size.tokens": nested(ids.length) };
		const given = { ...this.given, ...ofText, ...mapped(scene?.given || {}, nested) };
		const values = {};
		const steps = {};
		for (const step of [...(scene ? [] : FORWARD), ...(scene?.given ? [] : DERIVED[""]), ...(DERIVED[run] || [])]) {
			const { name, op, inputs } = step;
			steps[name] = step;
			const made = () => {
				const found = inputs.map((ref) => split(values, ref));
				// A derived figure whose row this text does not have is left out.
				if (found.includes(null)) return null;
				return OPS[op] ? OPS[op](...found.map((input) => part(values, input))) : given[name];
			};
			whenAsked(values, name, () => (name in patch ? replacement(patch[name], made, values) : made()));
		}
		return { run, steps, values, patch, vocabulary, tokens: scene?.tokens || ids.map((id) => vocabulary[id]) };
	}

	/** {trace, name, index} of `[run/]name[.i[.j]]`, or null where this state has no such value. */
	find(ref) {
		const [rest, run = "main"] = ref.split("/").reverse();
		const trace = (run === "generated" || Object.hasOwn(data.runs, run)) && this.trace(run);
		const [name, index] = split(trace.values, rest) || [];
		return name ? { trace, name, index } : null;
	}

	at(ref) {
		const { trace, name, index } = this.find(ref) || {};
		return trace && valueAt(trace.values, [name, index]);
	}
}

/** A value is calculated when it is first read: a change need not wait for what is out of sight. */
function whenAsked(values, name, make) {
	const get = () => {
		const value = make();
		Object.defineProperty(values, name, { value });
		return value;
	};
	Object.defineProperty(values, name, { get, configurable: true, enumerable: true });
}

const offset = (shape, index) => index.reduce((at, i, axis) => at * shape[axis] + i, 0);

/** `name.i.j` into the name and the indices (`last` counts as one); null where there is no such value. */
function split(values = {}, ref, index = []) {
	const { shape } = (Object.hasOwn(values, ref) && values[ref]) || {};
	if (!shape) {
		const [, rest, item] = /^(.+)\.(\d+|last)$/.exec(ref) || [];
		return rest && index.length < 3 ? split(values, rest, [item, ...index]) : null;
	}
	const numbers = index.map((item, axis) => (item === "last" ? shape[axis] - 1 : Number(item)));
	return numbers.every((n, axis) => n < shape[axis]) ? [ref, numbers] : null;
}

/** What split found: an array, a row of it, or an entry as an array of no axes. */
function part(values, [name, index]) {
	const { shape, data: all } = values[name];
	const rest = shape.slice(index.length);
	const length = rest.reduce((a, b) => a * b, 1);
	const start = offset(shape, index) * length;
	return { shape: rest, data: all.subarray(start, start + length) };
}
/** The same, an entry as its number; undefined where there is none. */
function valueAt(values, found) {
	const x = found && part(values, found);
	return x?.shape.length === 0 ? x.data[0] : x || undefined;
}

function replacement(source, made, values) {
	if (typeof source === "number") return map(made(), () => source);
	const value = part(values, split(values, source.replace(/\.T$/, "")));
	return source.endsWith(".T") ? OPS.transpose(value) : value;
}

const shipped = new Runs(SHIPPED);
/** The toy as it is now: state.js replaces it at every change and then fires the event "toy" at the document. */
let live = shipped;
