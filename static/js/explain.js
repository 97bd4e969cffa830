// The arithmetic behind any number (entries.py, explain.py, web/worked.py), in the words that come with the page.
"use strict";

/** An element with attributes (undefined: none) and children, nodes or texts. */
function make(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const key in attributes) if (attributes[key] !== undefined) element.setAttribute(key, attributes[key]);
	element.append(...children);
	return element;
}

// An expression is a number of the toy {ref, value}, a constant, or an operator with its operands.
/** Sums and products of any length are one; of a single operand they are the operand. */
function apply(operator, operands) {
	if (!"+×".includes(operator)) return { operator, operands };
	const parts = operands.flatMap((x) => (x?.operator === operator ? x.operands : (x ?? [])));
	return parts[1] ? { operator, operands: parts } : parts[0];
}

/** An input of a step as a function: index -> entry. Of the index it takes what it has axes for. */
function operand({ run, values, steps }, from) {
	const [name, first] = split(values, from);
	const { shape, data: all } = values[name];
	const entry = (...items) => {
		const index = [...first, ...items].slice(0, shape.length);
		const ref = [name, ...index].join(".");
		return { ref: run === "main" ? ref : `${run}/${ref}`, value: all[offset(shape, index)] };
	};
	return Object.assign(entry, { shape: shape.slice(first.length), step: steps[name] });
}

/** The expression of an entry, by the form that entries.py has for its op. */
function built(form, index, operands) {
	const [a, b, c] = operands;
	const [i, j, n] = [index.slice(0, -1), index.at(-1), width(a)];
	const row = () => [...Array(n).keys()];
	const upTo = (order) => order.slice(0, order.indexOf(j) + 1);
	const places = {
		x: () => index,
		y: (k, { shape }) => index.slice(-shape.length),
		i: () => i,
		j: () => j,
		k: (k) => k,
		q: () => j % n,
		m: () => row().reduce((best, k) => (a(...i, k).value > a(...i, best).value ? k : best)),
		B: () => b(...index).value,
		C: (k) => c().value * n + k,
	};
	let words = form.split(" ");
	function read(k) {
		const word = words.shift();
		const [first, ...letters] = word;
		if (first === "Σ") {
			const range = letters[0] ? upTo(mostLikelyFirst(row().map((k) => a(k).value))) : row();
			const start = words;
			return apply("+", range.map((k) => ((words = [...start]), read(k))));
		}
		if (letters[0] === "*") return apply(first, operands.map((x) => x()));
		const does = CALCULATE[word];
		if (does) return apply(word, [read(k), ...(does.length === 1 ? [] : [read(k)])]);
		if (!"abcp".includes(first)) return word === "n" ? `${n}` : word;
		const x = { a, b, c, p: operands[Math.floor(j / n)] }[first];
		return x?.(...letters.flatMap((letter) => places[letter](k, x)));
	}
	return read();
}

/** How one number comes about: {ref, value, expression, wording, operands}; without an expression: not calculated. */
function explain(runs, ref) {
	if (typeof runs.at(ref) !== "number") return null;
	const { trace, name, index } = runs.find(ref);
	const result = operand(trace, name)(...index);
	const source = trace.patch[name];
	let { op, inputs, via } = trace.steps[name];
	if (name in trace.patch) [op, inputs, via] = source.replace ? ["taken", [source.replace(".T", "")], []] : ["set", [], []];
	const operands = [...inputs, ...via].map((input) => operand(trace, input));
	const [first, second] = operands.slice(1).map((x) => x(...index).value);
	let form = data.entries[/\.T$/.test(source) ? "transpose" : op];
	// Where e^x or its sum leaves the range of float64.
	if (op === "softmax" && !(second > 0 && second < Infinity && (first > 0 || result.value === 0)))
		form = data.entries["softmax beyond"];
	if (op === "at_temperature" && !first) form = "";
	let expression = form && built(form, index, operands);
	// Masked, or filtered out.
	if (expression?.ref && expression.value !== result.value && !isNaN(result.value)) expression = null;
	const said = expression ? data.words : data.nothing;
	return { ...result, expression, wording: said[op + inputs.length] || said[op], operands };
}

const leaves = (e) => (e.ref ? [e] : (e.operands || []).flatMap(leaves));
const numbersOf = (expression) => leaves(expression).map((number) => number.ref);

// A calculator has fifteen digits. Where they end in a tie, the double may lie a hair below it.
const CALCULATE = {
	"+": (...all) => sum(all),
	"×": (...all) => all.reduce((a, b) => a * b),
	"−": (a, b) => a - b,
	"/": (a, b) => (b ? a / b : NaN),
	max: Math.max,
	negate: (x) => -x,
	square: (x) => x * x,
	cube: (x) => x ** 3,
	root: Math.sqrt,
	exp: Math.exp,
	ln: Math.log,
	tanh: Math.tanh,
	erf: (x) => 1 - erfc(x),
};
function calculated(e, read) {
	if (e.operator) return CALCULATE[e.operator](...e.operands.map((x) => calculated(x, read)));
	return e.ref ? readNumber(read(e.value)) : e === "π" ? Math.PI : Number(e);
}
const digits = (x, places) =>
	rounded(Number(x.toPrecision(15)) * (1 + 4e-16) + (Math.sign(x) * 1e-9) / 10 ** places, places);
const printed = (value, places) => (places === undefined ? shown(value) : withPlaces(value, places));

/** The fewest places {operands, result} with which the printed line closes; null where none do. */
function closingPlaces({ expression, value }) {
	if (!expression?.operator || !isFinite(value) || leaves(expression).some((n) => n.value === Infinity)) return null;
	for (const result of [undefined, 4, 5, 6, 9, 12, 11 - exponent(value)])
		for (const operands of [3, 4, 5, 6, 8, 10, 12, 15, 30])
			if ((result ?? 0) <= operands && closes(calculated(expression, (v) => withPlaces(v, operands)), value, result))
				return { operands, result };
	return null;
}

function closes(x, value, places) {
	const text = printed(value, places);
	// For <0.001 a calculator shows less than that on the same side of 0, or 0.
	const same = x * Math.sign(value) + 1e-9;
	if (/[<>]/.test(text)) return same > 0 && same < 0.001;
	return isFinite(x) && readNumber(digits(x, places ?? 3)) === readNumber(text);
}

/** What a reader enters for a printed number: 0 for <0.001. */
const entered = (value) => shown(value).replace(/[<>].*/, "0");
/** What a calculator gives from the printed operands, as text; null: nothing. */
function fromPrinted(runs, ref) {
	const { value, expression } = explain(runs, ref) || {};
	if (!expression?.operator || ![{ value }, ...leaves(expression)].every((n) => isFinite(n.value))) return null;
	const x = calculated(expression, entered);
	return isFinite(x) ? digits(x, Math.min(3, 11 - exponent(x))) : null;
}

/** Digits that count or name. */
const structure = (text) => (/\d/.test(text) ? make("span", { "data-structure": "" }, text) : text);
const isSpaced = (text) => text[0] === "␣";
const tokenNode = (text) => make("code", { class: isSpaced(text) ? "token spaced" : "token" }, text);
const numberNode = (ref, value, places) =>
	make("data", { class: "num", value, "data-ref": ref, "data-places": places }, printed(value, places));

/** What a value is called: its symbol, or its title where it has none. */
const calledNodes = ({ symbol, title, name }) => (symbol ? symbolNodes(symbol) : [structure(title || name)]);
/** W1, WQ2, d_head as a letter with its index, e^z with z raised. */
function symbolNodes(text) {
	const [base, power] = text.split(/\^(.*)/);
	if (power) return [make("var", {}, base), make("sup", {}, ...symbolNodes(power))];
	const [, letter, index] = /^([^_]+?)(?:_|(?<=[Wb])(?=[A-Z])|(?=\d))([^_]+)$/.exec(text) || [text, text];
	return [make("var", {}, letter, index ? make("sub", {}, structure(index)) : "")];
}

function labelNodes(runs, ref) {
	const { trace, name, index } = runs.find(ref);
	const step = trace.steps[name];
	const item = (i, k) => {
		if (step.axes[k] === "token") return tokenNode(trace.vocabulary[i]);
		return structure(step.axes[k] === "prompt" ? trace.tokens[i] : `${i + !data.fromZero.includes(step.axes[k])}`);
	};
	const place = index.flatMap((i, k) => [k ? ", " : "[", item(i, k)]);
	return [
		...calledNodes(step),
		place[0] ? make("span", { class: "place" }, ...place, "]") : "",
		...(trace.run === "main" ? [] : [" (", structure(trace.run.replaceAll("_", " ")), ")"]),
	];
}

function sentenceNodes(runs, ref) {
	const { wording, operands } = explain(runs, ref);
	return wording.split(/\{(\d)\}/).flatMap((text, k) => (k % 2 ? calledNodes(operands[text].step) : text));
}

/** From left to right. Inside a product (tight) any sum is in brackets; inside a sum (not tight) a negative number. */
function formulaNodes(expression, number, tight) {
	const { ref, value, operator, operands } = expression;
	const isInfix = "+−×/".includes(operator);
	const write = (x, inside) => formulaNodes(x, number, inside);
	if (value < 0 ? tight !== undefined : tight && isInfix) return ["(", ...write(expression), ")"];
	if (ref) return [number(expression)];
	if (!operator) return [structure(expression)];
	const [first, ...rest] = operands;
	if (isInfix) {
		const isProduct = "×/".includes(operator);
		// A line may break between terms, never inside a product.
		const gap = operator === "×" ? "\u00a0" : " ";
		const more = rest.flatMap((x) => [gap + operator + gap, ...write(x, isProduct)]);
		return [...write(first, isProduct || undefined), ...more];
	}
	const power = { square: "2", cube: "3" }[operator];
	if (power) return [...write(first, false), make("sup", {}, structure(power))];
	if (operator === "exp") return ["e", make("sup", {}, ...write(first))];
	if (operator === "negate") return [MINUS, ...write(first)];
	return [operator.replace("root", "√"), ...operands.flatMap((x, k) => [k ? ", " : "(", ...write(x)]), ")"];
}

function workedKind(runs, ref) {
	const worked = explain(runs, ref);
	return worked.expression?.operator ? (closingPlaces(worked) ? "line" : "open") : "copy";
}

/** What stands inside a worked line: label = arithmetic = result. */
function workedNodes(runs, ref, number = numberNode) {
	const worked = explain(runs, ref);
	const { operands, result } = closingPlaces(worked) || {};
	const write = (n) => number(n.ref, n.value, operands);
	const line = worked.expression?.operator ? [...formulaNodes(worked.expression, write), " = "] : [];
	const label = make("span", { class: "label" }, ...labelNodes(runs, ref));
	return [label, " = ", ...line, number(ref, worked.value, result)];
}

const CLAIMED = {
	abs: Math.abs,
	max: ({ data: row }) => Math.max(...row),
	min: ({ data: row }) => Math.min(...row),
	rank: (value, { data: row }) => 1 + row.filter((v) => v > value).length,
	sum: ({ data: row }) => sum(row),
	top: ({ data: row }) => mostLikelyFirst(row)[0],
};

/** Whether a compiled condition is true (claims.py). One on a value that is not there does not hold. */
function holds(compiled, runs) {
	const term = (text) => {
		const [call, ref = call] = text.split(/[()]/);
		const value = runs.at(ref) ?? readNumber(ref);
		if (Number.isNaN(value) || ref === call) return value;
		return CLAIMED[call](value, runs.at(ref.replace(/\.\d+$/, "")));
	};
	return compiled.split(" and ").every((part) => {
		const [left, sign, right] = part.split(/ ([=≠<>≤≥≈]) /);
		const [a, b] = [term(left), term(right)];
		if (sign === "≈") return Math.abs(a - b) < 0.0005;
		return (a < b ? "<≤≠" : a > b ? ">≥≠" : a === b ? "=≤≥" : "").includes(sign);
	});
}
