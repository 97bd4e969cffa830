// The arithmetic behind any number (entries.py, explain.py, web/worked.py), in the words that come with the page.
"use strict";

/** An element with attributes (undefined: none) and children, nodes or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// An expression is {ref, value}, {constant}, or an operator with its operands.
const apply = (operator, ...operands) => ({ operator, operands });
const constant = (text) => ({ constant: String(text) });
const plus = (terms) => (terms[1] ? apply("+", ...terms) : terms[0]);

/** An input of a step as a function: index -> entry. It takes as many items of the index as it has axes. */
function operand(trace, from) {
  const [name, first] = split(trace.values, from);
  const { shape, data: values } = trace.values[name];
  const x = (...items) => {
    const index = [...first, ...items].slice(0, shape.length);
    const ref = [name, ...index].join(".");
    return { ref: trace.run === "main" ? ref : `${trace.run}/${ref}`, value: values[offset(shape, index)] };
  };
  return Object.assign(x, { axes: shape.length - first.length, size: shape.at(-1), step: trace.steps[name] });
}

const row = (x, i) => Array.from({ length: x.size }, (_, k) => x(...i.slice(0, x.axes - 1), k));
const dots = (x, i, other, more = []) => plus([...row(x, i).map((v, k) => apply("×", v, other(k))), ...more]);
const squares = (x, i) => plus(row(x, i).map((v) => apply("square", v)));
const largest = (all) => all.reduce((a, b) => (b.value > a.value ? b : a));
const half = (x, share) => apply("×", constant(0.5), x, apply("+", constant(1), share));
const copy = (i, x) => x(...i);
const nothing = () => null;
const by = (operator) => (i, ...all) => apply(operator, ...all.map((x) => x(...i)));
/** The second operand may be one row for all rows. */
const entrywise = (operator) => (i, a, b) => apply(operator, a(...i), b(...i.slice(-b.axes)));
const kept = (i, p) => (p(...i).value === i.own ? p(...i) : null);

/** op -> (index, with the entry's own value; inputs and what the step cites) -> expression; null: none. */
const ENTRIES = {
  given: nothing,
  draw: nothing,
  set: nothing,
  taken: copy,
  rows: (i, table, ids) => table(ids(...i).value, i.at(-1)),
  first_rows: copy,
  transpose: (i, x) => x(...[...i].reverse()),
  add: entrywise("+"),
  multiply: entrywise("×"),
  subtract: by("−"),
  divide: by("/"),
  row_mean: (i, x) => apply("/", plus(row(x, i)), constant(x.size)),
  row_mean_square: (i, x) => apply("/", squares(x, i), constant(x.size)),
  root_with_epsilon: (...all) => apply("root", by("+")(...all)),
  square_root: by("root"),
  linear: (i, x, w, ...bias) => dots(x, i, (k) => w(k, i.at(-1)), bias.map((b) => b(i.at(-1)))),
  linear_part: (i, z, w, head) => dots(z, i, (k) => w(head().value * z.size + k, i.at(-1))),
  scores: (i, q, k) => dots(q, i, (n) => k(i[1], n)),
  causal_mask: (i, x) => (i[1] > i[0] ? null : x(...i)),
  exp: by("exp"),
  row_sum: (i, x) => plus(row(x, i)),
  softmax: (i, x, e, total) => {
    // Where e^x leaves the range of float64, it is told from x − max.
    const fits = e && total(...i).value > 0 && total(...i).value < Infinity && (e(...i).value > 0 || i.own === 0);
    if (fits) return by("/")(i, e, total);
    const most = largest(row(x, i));
    const shifted = row(x, i).map((v) => apply("exp", apply("−", v, most)));
    return apply("/", shifted[i.at(-1)], plus(shifted));
  },
  concat: (i, ...parts) => parts.flatMap((part) => row(part, i))[i.at(-1)],
  relu: (i, x) => apply("max", constant(0), x(...i)),
  gelu_tanh: (i, at) => {
    const x = at(...i);
    const inner = apply("+", x, apply("×", constant(0.044715), apply("cube", x)));
    return half(x, apply("tanh", apply("×", apply("root", apply("/", constant(2), constant("π"))), inner)));
  },
  gelu_erf: (i, x) => half(x(...i), apply("erf", apply("/", x(...i), apply("root", constant(2))))),
  pick: (i, table, columns) => table(...i, columns(...i).value),
  neg_log: (...all) => apply("negate", by("ln")(...all)),
  log: by("ln"),
  total: by("+"),
  product: by("×"),
  row_norm: (i, x) => apply("root", squares(x, i)),
  cosines: (i, x, length) => apply("/", x(...i), apply("×", length(i[0]), length(i[1]))),
  at_temperature: (i, z, by) => (by().value ? apply("/", apply("−", z(...i), largest(row(z, i))), by()) : null),
  cumulative: (i, p) => {
    const order = mostLikelyFirst(row(p, i).map((v) => v.value));
    return plus(order.slice(0, order.indexOf(i[0]) + 1).map((k) => p(k)));
  },
  keep_top_k: kept,
  keep_top_p: kept,
};

/** How one number comes about: {ref, value, expression, wording, operands}; null where there is no such number. */
function explain(runs, ref) {
  const found = runs.find(ref);
  if (!found) return null;
  const { trace, name, index } = found;
  const own = operand(trace, name);
  if (index.length < own.axes) return null;
  const result = own(...index);
  let { op, inputs, via } = own.step;
  let at = index;
  if (name in trace.patch) {
    const patch = String(trace.patch[name]);
    [op, inputs, via] = patch === trace.patch[name] ? ["taken", [patch.replace(/\.T$/, "")], []] : ["set", [], []];
    if (/\.T$/.test(patch)) at = [...index].reverse();
  }
  const from = inputs.map((input) => operand(trace, input));
  const cited = via.map((input) => operand(trace, input));
  const expression = ENTRIES[op](Object.assign([...at], { own: result.value }), ...from, ...cited);
  const said = expression ? data.words : data.nothing;
  return { ...result, expression, wording: said[op + from.length] || said[op], operands: from.map((x) => x.step) };
}

const leaves = (e) => (e.ref ? [e] : (e.operands || []).flatMap(leaves));
const numbersOf = (expression) => leaves(expression).map((number) => number.ref);

// What a calculator gives, as whole numbers of 1/ONE: more digits than any printed line has.
const ONE = TEN(400);
const fixed = (text) => {
  const [a, b] = text === `${MINUS}∞` ? [-ONE * ONE, 1n] : decimal(text);
  return (a * ONE) / b;
};
const digits = (x, places) => rounded([x, ONE], places);
const magnitude = (x) => (x < 0n ? -x : x);
const byDouble = (f) => (x) => fixed(f(Number(digits(x, 350).replace(MINUS, "-"))).toPrecision(15));
const CALCULATE = {
  "+": (...all) => all.reduce((a, b) => a + b),
  "×": (...all) => all.reduce((a, b) => (a * b) / ONE),
  "−": (a, b) => a - b,
  "/": (a, b) => (a * ONE) / b,
  max: (a, b) => (b > a ? b : a),
  negate: (x) => -x,
  square: (x) => (x * x) / ONE,
  cube: (x) => (x * x * x) / ONE / ONE,
  root: byDouble(Math.sqrt),
  exp: byDouble(Math.exp),
  ln: byDouble(Math.log),
  tanh: byDouble(Math.tanh),
  erf: byDouble((x) => erfc(-x) - 1),
};
function evaluate(e, read) {
  if (e.ref) return fixed(read(e.value));
  if (e.constant) return fixed(e.constant.replace("π", Math.PI));
  return CALCULATE[e.operator](...e.operands.map((x) => evaluate(x, read)));
}
/** null where there is no such number: 1/0, the root of −1. */
function calculated(expression, read) {
  try {
    return evaluate(expression, read);
  } catch {
    return null;
  }
}

/** The fewest places {operands, result} with which the printed line closes; null where none do. */
function closingPlaces({ expression, value }) {
  if (!expression?.operator || !Number.isFinite(value)) return null;
  if (!leaves(expression).every((n) => n.value < Infinity)) return null;
  const tried = {};
  for (const result of [undefined, 4, 5, 6, 9, 12, 11 - exponent(value)])
    for (const operands of [3, 4, 5, 6, 8, 10, 12, 15, 30]) {
      tried[operands] ??= calculated(expression, (v) => withPlaces(v, operands));
      if ((result || 0) <= operands && closes(tried[operands], value, result)) return { operands, result };
    }
  return null;
}

function closes(x, value, places) {
  if (x === null) return false;
  // Printed as <0.001: a calculator shows less than that on the same side of 0, or 0.
  if (places === undefined && !isShort(value) && Math.abs(value) < 0.0005)
    return magnitude(x) < ONE / 1000n && (value < 0 ? x <= 0n : x >= 0n);
  return fixed(digits(x, places ?? 3)) === fixed(printed(value, places));
}

const printed = (value, places) => (places === undefined ? shown(value) : withPlaces(value, places));
/** Digits that count or name. */
const structure = (text) => (/\d/.test(text) ? make("span", { "data-structure": "" }, text) : text);
const tokenNode = (text) => make("code", { class: "token" }, text);

function symbolNode(text) {
  const [base, power] = text.split(/\^(.*)/);
  const [, letter, index] = /^([^_]+?)(?:_|(?<=[Wb])(?=[A-Z])|(?=\d))([^_]+)$/.exec(base) || [base, base];
  const node = make("var", {}, letter, ...(index && !power ? [make("sub", {}, structure(index))] : []));
  if (!power) return node;
  const both = new DocumentFragment();
  both.append(node, make("sup", {}, symbolNode(power)));
  return both;
}

const placeNode = (trace, axis, i) => (axis === "token" ? tokenNode(trace.vocabulary[i]) : structure(`${i + 1}`));
const headerNodes = (trace, axis, i) =>
  ["position", "seen"].includes(axis)
    ? [structure(`${i + 1}`), " ", tokenNode(trace.tokens[i])]
    : [placeNode(trace, axis, i)];

const numberNode = (ref, value, places) =>
  make("data", { class: "num", value, "data-ref": ref, "data-places": places }, printed(value, places));

function labelNodes(runs, ref) {
  const { trace, name, index } = runs.find(ref);
  const { symbol, axes } = trace.steps[name];
  const places = index.flatMap((i, k) => [k ? ", " : "[", placeNode(trace, axes[k], i)]);
  const nodes = [symbolNode(symbol || name)];
  if (places[0]) nodes.push(make("span", { class: "place" }, ...places, "]"));
  return trace.run === "main" ? nodes : [...nodes, " (", structure(trace.run.replaceAll("_", " ")), ")"];
}

function sentenceNodes(runs, ref) {
  const { wording, operands } = explain(runs, ref);
  const called = ({ symbol, title }) => (symbol ? symbolNode(symbol) : structure(title));
  return wording.split(/\{(\d)\}/).map((text, k) => (k % 2 ? called(operands[text]) : text));
}

// Operators inside an infix one that stand in brackets, and more of them behind its sign.
const LOOSE = { "+": "", "−": "", "×": "+−negate", "/": "+−negate" };
const BEHIND = { "+": "", "−": "+−", "×": "", "/": "×/" };
const POWERS = { square: "2", cube: "3" };

function formulaNodes(expression, number) {
  const bracketed = (e, loose) =>
    e.value < 0 || (e.operator && loose.includes(e.operator)) ? ["(", ...write(e), ")"] : write(e);
  const write = (e) => {
    if (e.ref) return [number(e)];
    if (e.constant) return [structure(e.constant)];
    const { operator, operands } = e;
    const [first, ...rest] = operands;
    if (operator in LOOSE) {
      const loose = LOOSE[operator];
      // A line may break between terms, never inside a product. A negative first term needs no bracket.
      const gap = operator === "×" ? "\u00a0" : " ";
      const more = rest.flatMap((x) => [gap + operator + gap, ...bracketed(x, loose + BEHIND[operator])]);
      return [...(loose ? bracketed(first, loose) : write(first)), ...more];
    }
    if (POWERS[operator]) return [...bracketed(first, "+−×/negateexp"), make("sup", {}, structure(POWERS[operator]))];
    if (operator === "exp") return ["e", make("sup", {}, ...write(first))];
    if (operator === "negate") return [MINUS, ...bracketed(first, "+−")];
    const inside = rest.flatMap((x) => [", ", ...write(x)]);
    return [operator.replace("root", "√"), "(", ...write(first), ...inside, ")"];
  };
  return write(expression);
}

function workedKind(runs, ref) {
  const worked = explain(runs, ref);
  return worked.expression?.operator ? (closingPlaces(worked) ? "line" : "open") : "copy";
}

/** What stands inside a worked line: label = arithmetic = result. */
function workedNodes(runs, ref, number = numberNode) {
  const worked = explain(runs, ref);
  const places = closingPlaces(worked);
  const write = (n) => number(n.ref, n.value, places?.operands);
  const line = worked.expression?.operator ? [...formulaNodes(worked.expression, write), " = "] : [];
  const label = make("span", { class: "label" }, ...labelNodes(runs, ref));
  return [label, " = ", ...line, number(ref, worked.value, places?.result)];
}

// Notes of tables (web/tables.py): what the printed digits give, where it is not what is printed.
const readPrinted = (value) => shown(value).replace(/[<>].*/, "0");
const placesOf = (x) => Math.min(3, 12 - String(magnitude(x / ONE)).length);
const decimalText = (x) => digits(x, placesOf(x));

/** Whether a number, or what it is a copy of, is among the refs. */
const isThere = (runs, ref, there) =>
  there.has(ref) || (!!ref && isThere(runs, explain(runs, ref).expression?.ref, there));

/** The text of what a calculator gives from the printed operands, with `there` all in this set; null: nothing. */
function fromPrinted(runs, ref, there) {
  const worked = explain(runs, ref);
  if (!worked?.expression?.operator) return null;
  const usable = (n) => Number.isFinite(n.value) && (!there || isThere(runs, n.ref, there));
  if (!Number.isFinite(worked.value) || !leaves(worked.expression).every(usable)) return null;
  const x = calculated(worked.expression, readPrinted);
  return x === null ? null : decimalText(fixed(decimalText(x)));
}

/** [{ref, calculated}] where the printed result is more than one unit of its last digit away. */
function closingNotes(runs, refs) {
  const there = new Set(refs);
  return refs.flatMap((ref) => {
    const text = fromPrinted(runs, ref, there);
    if (text === null) return [];
    const unit = (ONE / 1000n) * TEN(3 - placesOf(fixed(text)));
    return magnitude(fixed(text) - fixed(readPrinted(runs.at(ref)))) > unit ? [{ ref, calculated: text }] : [];
  });
}

/** [{ref, calculated}] for each whole row of probabilities whose printed entries do not add up to 1. */
function sumNotes(runs, refs) {
  const there = new Set(refs);
  const rows = new Set(refs.map((ref) => ref.replace(/\.[^.]*$/, "")));
  return [...rows].flatMap((ref) => {
    const values = runs.at(ref)?.data;
    if (!values?.every((v, k) => Number.isFinite(v) && there.has(`${ref}.${k}`)) || !isShare(runs.find(ref))) return [];
    const total = [...values].map((v) => fixed(readPrinted(v))).reduce((a, b) => a + b);
    return total === ONE ? [] : [{ ref, calculated: decimalText(total) }];
  });
}

/** Whether a step's rows add up to 1: softmax, or entries divided by their own sum. */
function isShare({ trace, name }) {
  const { op, inputs } = trace.steps[name];
  if (op !== "divide") return op === "softmax";
  const total = operand(trace, inputs[1]).step;
  return total.op === "row_sum" && total.inputs[0] === inputs[0];
}

const OF_ROW = {
  top: (row) => mostLikelyFirst(row)[0],
  max: (row) => Math.max(...row),
  min: (row) => Math.min(...row),
  sum,
};

/** Whether a compiled condition is true (claims.py). One on a value that is not there does not hold. */
function holds(compiled, runs) {
  const term = (text) => {
    if (/^[-−]?\d/.test(text)) return Number(text.replace(MINUS, "-"));
    const [, f, ref] = /^(?:(\w+)\()?([^)]*)/.exec(text);
    const value = runs.at(ref) ?? NaN;
    if (f === "abs") return Math.abs(value);
    if (f === "rank") return 1 + runs.at(ref.replace(/\.\d+$/, ""))?.data.filter((v) => v > value).length;
    return f ? value.data && OF_ROW[f](value.data) : value;
  };
  return compiled.split(" and ").every((part) => {
    const [left, sign, right] = part.split(/ ([=≠<>≤≥≈]) /);
    const [a, b] = [term(left), term(right)];
    if (sign === "≈") return Math.abs(a - b) < 0.0005;
    return (a < b ? "<≤≠" : a > b ? ">≥≠" : a === b ? "=≤≥" : "").includes(sign);
  });
}
