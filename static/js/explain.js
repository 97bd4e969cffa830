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
const apply = (operator, ...operands) => ({ operator, operands });
const plus = (terms) => (terms[1] ? apply("+", ...terms) : terms[0]);

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

const row = (x, i) => Array.from({ length: width(x) }, (_, k) => x(...i.slice(0, x.shape.length - 1), k));
const dots = (x, i, other, ...more) => plus([...row(x, i).map((v, k) => apply("×", v, other(k))), ...more]);
const squares = (x, i) => plus(row(x, i).map((v) => apply("square", v)));
const largest = (x, i) => row(x, i).reduce((a, b) => (b.value > a.value ? b : a));
const gelu = (x, share) => apply("×", 0.5, x, apply("+", 1, share));
const copy = (i, x) => x(...i);
const kept = (i, p) => (p(...i).value === i.own ? p(...i) : null);
const by = (operator) => (i, ...all) => apply(operator, ...all.map((x) => x(...i)));
/** The second operand may be one row for all rows. */
const entrywise = (operator) => (i, a, b) => apply(operator, a(...i), b(...i.slice(-b.shape.length)));

/** op -> (index, with the entry's own value; inputs and what the step cites) -> expression; null: none. */
const ENTRIES = {
	taken: copy,
	rows: (i, table, ids) => table(ids(...i).value, i.at(-1)),
	first_rows: copy,
	transpose: (i, x) => x(...[...i].reverse()),
	add: entrywise("+"),
	multiply: entrywise("×"),
	subtract: by("−"),
	divide: by("/"),
	row_mean: (i, x) => apply("/", plus(row(x, i)), width(x)),
	row_mean_square: (i, x) => apply("/", squares(x, i), width(x)),
	root_with_epsilon: (...all) => apply("root", by("+")(...all)),
	square_root: by("root"),
	linear: (i, x, w, ...bias) => dots(x, i, (k) => w(k, i.at(-1)), ...bias.map((b) => b(i.at(-1)))),
	linear_part: (i, z, w, head) => dots(z, i, (k) => w(head().value * width(z) + k, i.at(-1))),
	scores: (i, q, k) => dots(q, i, (n) => k(i[1], n)),
	causal_mask: (i, x) => (i[1] > i[0] ? null : x(...i)),
	exp: by("exp"),
	row_sum: (i, x) => plus(row(x, i)),
	softmax: (i, x, e, total) => {
		// Where e^x leaves the range of float64, it is told from x − max.
		const all = e && total(...i).value;
		if (all > 0 && all < Infinity && (e(...i).value > 0 || i.own === 0)) return by("/")(i, e, total);
		const most = largest(x, i);
		const shifted = row(x, i).map((v) => apply("exp", apply("−", v, most)));
		return apply("/", shifted[i.at(-1)], plus(shifted));
	},
	concat: (i, ...parts) => parts.flatMap((part) => row(part, i))[i.at(-1)],
	relu: (i, x) => apply("max", 0, x(...i)),
	gelu_tanh: (i, at) => {
		const x = at(...i);
		const inner = apply("+", x, apply("×", 0.044715, apply("cube", x)));
		return gelu(x, apply("tanh", apply("×", apply("root", apply("/", 2, "π")), inner)));
	},
	gelu_erf: (i, x) => gelu(x(...i), apply("erf", apply("/", x(...i), apply("root", 2)))),
	pick: (i, table, columns) => table(...i, columns(...i).value),
	neg_log: (...all) => apply("negate", by("ln")(...all)),
	log: by("ln"),
	total: by("+"),
	product: by("×"),
	row_norm: (i, x) => apply("root", squares(x, i)),
	cosines: (i, x, length) => apply("/", x(...i), apply("×", length(i[0]), length(i[1]))),
	at_temperature: (i, z, t) => (t().value ? apply("/", apply("−", z(...i), largest(z, i)), t()) : null),
	cumulative: ([own], p) => {
		const order = mostLikelyFirst(row(p, []).map((v) => v.value));
		return plus(order.slice(0, order.indexOf(own) + 1).map((k) => p(k)));
	},
	keep_top_k: kept,
	keep_top_p: kept,
};

/** How one number comes about: {ref, value, expression, wording, operands}; null where there is no such number. */
function explain(runs, ref) {
	if (typeof runs.at(ref) !== "number") return null;
	const { trace, name, index } = runs.find(ref);
	const result = operand(trace, name)(...index);
	const source = trace.patch[name];
	let { op, inputs, via } = trace.steps[name];
	if (name in trace.patch) [op, inputs] = source.replace ? ["taken", [source.replace(".T", "")]] : ["set", []];
	const operands = [...inputs, ...via].map((input) => operand(trace, input));
	const entry = ENTRIES[/\.T$/.test(source) ? "transpose" : op];
	index.own = result.value;
	const expression = entry?.(index, ...operands);
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
	return e.ref ? readNumber(read(e.value)) : e === "π" ? Math.PI : e;
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
const tokenNode = (text) => make("code", { class: "token" }, text);
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
	const item = (i, k) => (step.axes[k] === "token" ? tokenNode(trace.vocabulary[i]) : structure(`${i + 1}`));
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
	if (!operator) return [structure(`${expression}`)];
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

// Notes of tables (web/tables.py): what the printed digits give, where it is not what is printed.
const readPrinted = (value) => readNumber(entered(value));
/** Whether a number, or what it is a copy of, is among the refs. */
const isThere = (runs, ref, there) =>
	there.has(ref) || (!!ref && isThere(runs, explain(runs, ref).expression?.ref, there));

/** [{ref, calculated}] where the printed result is more than one unit of its last digit away. */
function closingNotes(runs, refs) {
	const there = new Set(refs);
	return refs.flatMap((ref) => {
		const text = fromPrinted(runs, ref);
		if (text === null || !leaves(explain(runs, ref).expression).every((n) => isThere(runs, n.ref, there))) return [];
		const unit = 10 ** -Math.min(3, 11 - exponent(readNumber(text)));
		const off = Math.abs(readNumber(text) - readPrinted(runs.at(ref)));
		return off > 1.0001 * unit ? [{ ref, calculated: text }] : [];
	});
}

/** [{ref, calculated}] for each whole row of probabilities whose printed entries do not add up to 1. */
function sumNotes(runs, refs) {
	const there = new Set(refs);
	const rows = new Set(refs.map((ref) => ref.replace(/\.[^.]*$/, "")));
	return [...rows].flatMap((ref) => {
		const values = runs.at(ref)?.data;
		if (!values?.every((v, k) => isFinite(v) && there.has(`${ref}.${k}`)) || !isShare(runs.find(ref))) return [];
		const total = digits(sum([...values].map(readPrinted)), 3);
		return total === "1.000" ? [] : [{ ref, calculated: total }];
	});
}

/** Whether a step's rows add up to 1: softmax, or entries divided by their own sum. */
function isShare({ trace, name }) {
	const { op, inputs } = trace.steps[name];
	if (op !== "divide") return op === "softmax";
	const total = operand(trace, inputs[1]).step;
	return total.op === "row_sum" && total.inputs[0] === inputs[0];
}
