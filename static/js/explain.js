// The arithmetic behind any number, as explain.py and web/worked.py have it. The words come with the page.
"use strict";

/** An element with attributes (undefined: none) and children (nodes or texts). */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// An expression is {ref, value}, {constant}, or an operator with its operands.
const apply = (operator, ...operands) => ({ operator, operands });
const constant = (text) => ({ constant: String(text) });
const plus = (terms) => (terms.length > 1 ? apply("+", ...terms) : terms[0]);
const rowEntries = (x, index) => Array.from({ length: x.shape.at(-1) }, (_, k) => x([...index, k]));
const dot = (row, other) => row.map((entry, k) => apply("×", entry, other(k)));
const squares = (x, index) => plus(rowEntries(x, index).map((entry) => apply("square", entry)));
const copy = (i, [x]) => x(i);
const ofOne = (operator) => (i, [x]) => apply(operator, x(i));
const ofAll = (operator) => (i, all) => apply(operator, ...all.map((x) => x([])));
/** The second operand may be one row for all rows: its axes are the last ones. */
const entrywise = (operator) => (i, [a, b]) => apply(operator, a(i), b(i.slice(i.length - b.shape.length)));
const withRow = (operator) => (i, [a, b]) => apply(operator, a(i), b(i.slice(0, b.shape.length)));
const largestOf = (row) => row.reduce((a, b) => (b.value > a.value ? b : a));
const kept = (i, [p], own) => (p(i).value === own ? p(i) : null);
const gelu = (x, inner) => apply("×", constant(0.5), x, apply("+", constant(1), inner));

/** op -> (index, its inputs and what it cites, its own value) -> expression; null where nothing is calculated. */
const ENTRIES = {
  given: () => null,
  draw: () => null,
  rows: (i, [table, ids]) => table([ids(i.slice(0, -1)).value, i.at(-1)]),
  first_rows: copy,
  transpose: (i, [x]) => x([...i].reverse()),
  add: entrywise("+"),
  multiply: entrywise("×"),
  subtract: withRow("−"),
  divide: withRow("/"),
  row_mean: (i, [x]) => apply("/", plus(rowEntries(x, i)), constant(x.shape.at(-1))),
  row_mean_square: (i, [x]) => apply("/", squares(x, i), constant(x.shape.at(-1))),
  root_with_epsilon: (i, [x, epsilon]) => apply("root", apply("+", x(i), epsilon([]))),
  square_root: ofOne("root"),
  linear: (i, [x, weight, ...bias]) =>
    plus([
      ...dot(rowEntries(x, i.slice(0, -1)), (k) => weight([k, i.at(-1)])),
      ...bias.map((b) => b([i.at(-1)])),
    ]),
  linear_part: (i, [z, weight, head]) => {
    const row = rowEntries(z, i.slice(0, -1));
    return plus(dot(row, (k) => weight([head([]).value * row.length + k, i.at(-1)])));
  },
  scores: (i, [q, k]) => plus(dot(rowEntries(q, i.slice(0, 1)), (n) => k([...i.slice(1), n]))),
  causal_mask: (i, [x]) => (i[1] > i[0] ? null : x(i)),
  exp: ofOne("exp"),
  row_sum: (i, [x]) => plus(rowEntries(x, i)),
  softmax: (i, [x, e, total], own) => {
    if (e) {
      const [part, whole] = [e(i), total(i.slice(0, -1))];
      // Where e^x leaves the range of float64, it is told from x − max.
      if (whole.value > 0 && whole.value < Infinity && (part.value > 0 || own === 0)) return apply("/", part, whole);
    }
    const row = rowEntries(x, i.slice(0, -1));
    const shifted = row.map((entry) => apply("exp", apply("−", entry, largestOf(row))));
    return apply("/", shifted[i.at(-1)], plus(shifted));
  },
  concat: (i, parts) => {
    const width = parts[0].shape.at(-1);
    return parts[Math.floor(i.at(-1) / width)]([...i.slice(0, -1), i.at(-1) % width]);
  },
  relu: (i, [x]) => apply("max", constant(0), x(i)),
  gelu_tanh: (i, [at]) => {
    const x = at(i);
    const inner = apply("+", x, apply("×", constant(0.044715), apply("cube", x)));
    return gelu(x, apply("tanh", apply("×", apply("root", apply("/", constant(2), constant("π"))), inner)));
  },
  gelu_erf: (i, [x]) => gelu(x(i), apply("erf", apply("/", x(i), apply("root", constant(2))))),
  pick: (i, [table, columns]) => table([...i, columns(i).value]),
  neg_log: (i, [x]) => apply("negate", apply("ln", x(i))),
  log: ofOne("ln"),
  total: ofAll("+"),
  product: ofAll("×"),
  row_norm: (i, [x]) => apply("root", squares(x, i)),
  cosines: (i, [dots, lengths]) => apply("/", dots(i), apply("×", lengths([i[0]]), lengths([i[1]]))),
  at_temperature: (i, [z, temperature]) => {
    const by = temperature([]);
    return by.value ? apply("/", apply("−", z(i), largestOf(rowEntries(z, []))), by) : null;
  },
  cumulative: ([k], [p]) => {
    const order = mostLikelyFirst(rowEntries(p, []).map((entry) => entry.value));
    return plus(order.slice(0, order.indexOf(k) + 1).map((n) => p([n])));
  },
  keep_top_k: kept,
  keep_top_p: kept,
};

/** How one number comes about: {ref, value, expression, wording, operands}; null where there is no such number. */
function explain(runs, ref) {
  const found = runs.find(ref);
  if (!found) return null;
  const { trace, name, index } = found;
  const run = trace.run === "main" ? "" : `${trace.run}/`;
  const input = (from) => {
    const [base, first] = split(trace.values, from);
    const x = trace.values[base];
    const entry = (more) => {
      const all = [...first, ...more];
      return { ref: run + [base, ...all].join("."), value: x.data[offset(x.shape, all)] };
    };
    return Object.assign(entry, { shape: x.shape.slice(first.length), step: trace.steps[base] });
  };
  const own = input(name);
  if (index.length < own.shape.length) return null;
  const worked = (expression, wording, inputs) => ({
    ...own(index), expression, wording, operands: inputs.map((x) => x.step),
  });
  if (Object.hasOwn(trace.patch, name)) {
    const patch = trace.patch[name];
    if (typeof patch === "number") return worked(null, data.words.set, []);
    const source = input(patch.replace(/\.T$/, ""));
    return worked(source(patch.endsWith(".T") ? [...index].reverse() : index), data.words.taken, [source]);
  }
  const { op, inputs, via } = own.step;
  const from = inputs.map(input);
  const expression = ENTRIES[op](index, [...from, ...via.map(input)], own(index).value);
  const said = op === "linear" && from[2] ? "linear_with_bias" : op;
  return worked(expression, (expression ? data.words : data.nothing)[said], from);
}

const leaves = (e) => (e.ref ? [e] : (e.operands || []).flatMap(leaves));
const numbersOf = (expression) => leaves(expression).map((number) => number.ref);

// What a calculator gives. Exact fractions; with a denominator of 0 they are ∞, or nothing at all (0/0).
const sumOf = ([a, b], [c, d]) => (b === d ? [a + c, b] : [a * d + c * b, b * d]);
const times = ([a, b], [c, d]) => [a * c, b * d];
const double = (x) => (x[1] ? Number(rounded(x, 330).replace(MINUS, "-")) : Number(x[0]) / 0);
const byDouble = (f) => (x) => {
  const value = f(double(x));
  return Number.isFinite(value) ? decimal(value.toPrecision(15)) : [0n, 0n];
};
const CALCULATE = {
  "+": (...all) => all.reduce(sumOf),
  "×": (...all) => all.reduce(times),
  "−": (a, [c, d]) => sumOf(a, [-c, d]),
  "/": ([a, b], [c, d]) => (c < 0n ? [-a * d, -c * b] : [a * d, c * b]),
  max: (a, b) => (double(b) > double(a) ? b : a),
  negate: ([a, b]) => [-a, b],
  square: (x) => times(x, x),
  cube: (x) => times(x, times(x, x)),
  root: byDouble(Math.sqrt),
  exp: byDouble(Math.exp),
  ln: byDouble(Math.log),
  tanh: byDouble(Math.tanh),
  erf: byDouble((x) => erfc(-x) - 1),
};
function evaluate(e, read) {
  if (e.ref) return read(e.value);
  if (e.constant) return decimal(e.constant === "π" ? String(Math.PI) : e.constant);
  return CALCULATE[e.operator](...e.operands.map((operand) => evaluate(operand, read)));
}
const readText = (text) => (text === `${MINUS}∞` ? [-1n, 0n] : decimal(text));

/** The fewest places of operands and result with which the printed line closes; null where none do. */
function closingPlaces({ expression, value }) {
  if (!expression || !Number.isFinite(value) || !leaves(expression).every((n) => n.value < Infinity)) return null;
  const calculated = {};
  for (const result of [undefined, 4, 5, 6, 9, 12, 11 - exponent(value)])
    for (const places of [3, 4, 5, 6, 8, 10, 12, 15, 30]) {
      calculated[places] ??= evaluate(expression, (v) => readText(withPlaces(v, places)));
      if ((result || 0) <= places && closes(calculated[places], value, result)) return { operands: places, result };
    }
  return null;
}

function closes(calculated, value, places) {
  if (!calculated[1]) return false;
  if (places === undefined && !isShort(value) && Math.abs(value) < 0.0005) {
    const near = double(calculated);
    return Math.abs(near) < 0.001 && Math.sign(near) * value >= 0;
  }
  const [a, b] = decimal(rounded(calculated, places ?? 3));
  const [c, d] = decimal(places === undefined ? shown(value) : withPlaces(value, places));
  return a * d === c * b;
}

/** Digits that count or name. */
const structure = (text) => (/\d/.test(text) ? make("span", { "data-structure": "" }, text) : text);
const tokenNode = (text) => make("code", { class: "token" }, text);

function symbolNode(text) {
  const [base, ...power] = text.split("^");
  if (power.length) {
    const both = document.createDocumentFragment();
    both.append(make("var", {}, base), make("sup", {}, symbolNode(power.join("^"))));
    return both;
  }
  const [, letter, index] = /^([^_]+?)(?:_|(?<=[Wb])(?=[A-Z])|(?=\d))([^_]+)$/.exec(text) || [0, text];
  return make("var", {}, letter, ...(index ? [make("sub", {}, structure(index))] : []));
}

const placeNode = (trace, axis, i) => (axis === "token" ? tokenNode(trace.vocabulary[i]) : structure(`${i + 1}`));
const headerNodes = (trace, axis, i) =>
  axis === "position" || axis === "seen"
    ? [structure(`${i + 1}`), " ", tokenNode(trace.tokens[i])]
    : [placeNode(trace, axis, i)];

const numberNode = (ref, value, places) =>
  make(
    "data",
    { class: "num", value, "data-ref": ref, "data-places": places },
    places === undefined ? shown(value) : withPlaces(value, places),
  );

function labelNodes(runs, ref) {
  const { trace, name, index } = runs.find(ref);
  const { symbol, axes } = trace.steps[name];
  const places = index.flatMap((i, k) => [k ? ", " : "[", placeNode(trace, axes[k], i)]);
  const nodes = [symbolNode(symbol || name)];
  if (places.length) nodes.push(make("span", { class: "place" }, ...places, "]"));
  return trace.run === "main" ? nodes : [...nodes, " (", structure(trace.run.replaceAll("_", " ")), ")"];
}

const sentenceNodes = (runs, ref) => {
  const { wording, operands } = explain(runs, ref);
  return wording.split(/\{(\d)\}/).map((text, k) => {
    const step = operands[text];
    return k % 2 ? (step.symbol ? symbolNode(step.symbol) : structure(step.title)) : text;
  });
};

// What is put in brackets inside an infix operator, and more behind it.
const BRACKETED = { "+": "", "−": "", "×": "+−negate", "/": "+−negate" };
const BEHIND = { "−": "+−", "/": "×/" };
const POWERS = { square: "2", cube: "3" };

function formulaNodes(expression, number) {
  const bracketed = (e, loose) => {
    const nodes = write(e);
    return e.value < 0 || (e.operator && loose.includes(e.operator)) ? ["(", ...nodes, ")"] : nodes;
  };
  const write = (e) => {
    if (e.ref) return [number(e)];
    if (e.constant) return [structure(e.constant)];
    const { operator, operands } = e;
    const [first] = operands;
    if (operator in BRACKETED) {
      // A line may break between terms, never inside a product.
      const gap = operator === "×" ? "\u00a0" : " ";
      const loose = BRACKETED[operator];
      return operands.flatMap((operand, k) => {
        if (!k) return loose ? bracketed(operand, loose) : write(operand);
        return [gap + operator + gap, ...bracketed(operand, loose + (BEHIND[operator] || ""))];
      });
    }
    if (operator in POWERS)
      return [...bracketed(first, "+−×/negateexp"), make("sup", {}, structure(POWERS[operator]))];
    if (operator === "exp") return ["e", make("sup", {}, ...write(first))];
    if (operator === "negate") return [MINUS, ...bracketed(first, "+−")];
    const inside = operands.flatMap((operand, k) => (k ? [", ", ...write(operand)] : write(operand)));
    return [operator === "root" ? "√" : operator, "(", ...inside, ")"];
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
  const left = [make("span", { class: "label" }, ...labelNodes(runs, ref)), " = "];
  const result = number(worked.ref, worked.value, places?.result);
  if (!worked.expression?.operator) return [...left, result];
  const line = formulaNodes(worked.expression, (n) => number(n.ref, n.value, places?.operands));
  return [...left, ...line, " = ", result];
}

// Tables (web/tables.py): what the printed digits give.
const printedNumber = (value) => (/^[<>]/.test(shown(value)) ? [0n, 1n] : decimal(shown(value)));
const placesOf = ([a, b]) => Math.min(3, 12 - String(a / b).replace("-", "").length);
const decimalText = (x) => rounded(x, placesOf(x));

function* origins(runs, ref) {
  for (let at = ref; at; at = explain(runs, at).expression?.ref) yield at;
}

/** The text of what a calculator gives from the printed operands (with `there`: all in this set); null: nothing. */
function fromPrinted(runs, ref, there) {
  const worked = explain(runs, ref);
  if (!worked?.expression?.operator || !Number.isFinite(worked.value)) return null;
  for (const n of leaves(worked.expression))
    if (!Number.isFinite(n.value) || (there && ![...origins(runs, n.ref)].some((o) => there.has(o)))) return null;
  const calculated = evaluate(worked.expression, printedNumber);
  return calculated[1] ? decimalText(decimal(decimalText(calculated))) : null;
}

/** [{ref, calculated}] where the printed result is more than one unit of its last digit away. */
function closingNotes(runs, refs) {
  const there = new Set(refs);
  return refs.flatMap((ref) => {
    const calculated = fromPrinted(runs, ref, there);
    if (calculated === null) return [];
    const [a, b] = sumOf(decimal(calculated), times([-1n, 1n], printedNumber(runs.at(ref))));
    const places = placesOf(decimal(calculated));
    const [unit, parts] = places < 0 ? [TEN(-places), 1n] : [1n, TEN(places)];
    return (a < 0n ? -a : a) * parts > unit * b ? [{ ref, calculated }] : [];
  });
}

/** [{ref, calculated}] for each whole row of probabilities whose printed entries do not add up to 1. */
function sumNotes(runs, refs) {
  const there = new Set(refs);
  return [...new Set(refs.map((ref) => ref.replace(/\.[^.]*$/, "")))].flatMap((ref) => {
    const found = runs.find(ref);
    const row = found && runs.at(ref).data;
    if (!row || !row.every((v, k) => Number.isFinite(v) && there.has(`${ref}.${k}`))) return [];
    if (!isShare(found.trace, found.trace.steps[found.name])) return [];
    const total = [...row].map(printedNumber).reduce(sumOf);
    return total[0] === total[1] ? [] : [{ ref, calculated: decimalText(total) }];
  });
}

function isShare({ values, steps }, { op, inputs: [whole, by] }) {
  if (op !== "divide") return op === "softmax";
  const total = steps[split(values, by)[0]];
  return total.op === "row_sum" && total.inputs[0] === whole;
}

// Claims (claims.py).
const RELATIONS = {
  "=": (a, b) => a === b,
  "≠": (a, b) => a < b || a > b,
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "≤": (a, b) => a <= b,
  "≥": (a, b) => a >= b,
  "≈": (a, b) => Math.abs(a - b) < 0.0005,
};
const OF_ROW = {
  top: (row) => mostLikelyFirst(row)[0],
  max: (row) => Math.max(...row),
  min: (row) => Math.min(...row),
  sum,
};

/** Whether a compiled condition is true. One on a value that is not there does not hold. */
function holds(compiled, runs) {
  const term = (text) => {
    if (/^[-−]?\d/.test(text)) return Number(text.replace(MINUS, "-"));
    const [, f, ref] = /^(?:(\w+)\()?([^)]*)\)?$/.exec(text);
    const value = runs.at(ref);
    if (f === "abs") return Math.abs(value);
    if (f === "rank") return 1 + runs.at(ref.replace(/\.\d+$/, ""))?.data.filter((v) => v > value).length;
    return f ? value && OF_ROW[f](value.data) : value;
  };
  return compiled.split(" and ").every((part) => {
    const [, a, sign, b] = /^(.+?) ([^\w\s]) (.+)$/.exec(part.trim());
    return RELATIONS[sign](term(a), term(b));
  });
}
