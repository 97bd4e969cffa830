// The forward pass as the page carries it: a list of steps, run over the given values (engine/steps.py).
"use strict";

const data = JSON.parse(document.getElementById("toy").textContent);
const words = (text) => text.split(" ").filter(Boolean);
const asStep = ([name, op, inputs, symbol, title, page, axes = "", via = ""]) => ({
  name, op, inputs: words(inputs), symbol, title, page, axes: words(axes), via: words(via),
});
const FORWARD = data.steps.map(asStep);
const DERIVED = Object.fromEntries(Object.entries(data.derived).map(([run, steps]) => [run, steps.map(asStep)]));
const EVERYWHERE = data.everywhere.map(asStep);
const derivedSteps = (run) => [...EVERYWHERE, ...(DERIVED[run] || [])];

/** Nested lists as an array. */
function nested(values) {
  const shape = [];
  for (let v = values; Array.isArray(v); v = v[0]) shape.push(v.length);
  return array(shape, Float64Array.from([values].flat(3)));
}
const GIVEN = Object.fromEntries(Object.entries(data.given).map(([name, values]) => [name, nested(values)]));

/** Where a text is cut, longest match first: [{start, fits}], then where nothing fits (-1: all of it is cut). */
function cuts(text) {
  const visible = text.replaceAll(" ", "␣");
  const longestFirst = data.vocabulary.filter(Boolean).sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const found = [];
  for (let place = 0; place < visible.length; place += found.at(-1).fits[0].length) {
    const fits = longestFirst.filter((token) => visible.startsWith(token, place));
    if (!fits.length) return [found, place];
    found.push({ start: place, fits });
  }
  return [found, -1];
}
const idsOf = (text) => cuts(text)[0].map((cut) => data.vocabulary.indexOf(cut.fits[0]));

/** The toy as shipped. A state is what a reader changed: given numbers, text, next token, switches, tokens appended. */
const SHIPPED = { set: {}, text: null, next: null, off: [], play: [] };

/** Every run under one state of the toy, made when it is asked for. */
class Runs {
  /** Arrays that other states made and whose inputs are the same are taken over. */
  constructor(state, cache = new Map()) {
    Object.assign(this, { state, cache, traces: {}, given: { ...GIVEN } });
    for (const [ref, value] of Object.entries(state.set)) {
      const [name, index] = split(GIVEN, ref) || [];
      if (!name) continue; // a dial of another page
      if (this.given[name] === GIVEN[name]) this.given[name] = map(GIVEN[name], (v) => v);
      this.given[name].data[offset(GIVEN[name].shape, index)] = value;
    }
  }

  trace(run) {
    return (this.traces[run] ??= this.run(run, run === "generated" ? this.generated() : this.spec(run)));
  }

  /** What a run starts from. A run takes from main what it does not say itself. */
  spec(run) {
    const own = run === "main" ? {} : data.runs[run];
    const switched = this.state.off.map((name) => data.runs[name].patch);
    const main = data.runs.main;
    const text = own.ids || (this.state.text === null ? main.ids : idsOf(this.state.text));
    const ids = run === "play" ? [...text, ...this.state.play] : text;
    const next = own.next ?? this.state.next ?? main.next;
    return { ids, targets: [...ids.slice(1), next], patch: Object.assign({}, data.patch, ...switched, own.patch) };
  }

  /** The main text, continued greedily to the end token or the last position. */
  generated() {
    const { ids, targets, patch } = this.spec("main");
    const all = [...ids];
    while (all.length < GIVEN["size.positions"].data[0] && (all.length === ids.length || all.at(-1) !== data.end)) {
      const logits = this.run("generated", { ids: all, targets: all, patch }).values.logits;
      all.push(mostLikelyFirst(rowOf(logits, all.length - 1))[0]);
    }
    if (all.length === ids.length) all.push(targets.at(-1));
    return { ids: all.slice(0, -1), targets: all.slice(1), patch };
  }

  run(run, { ids = [], targets = [], patch = {} }) {
    const scene = data.runs[run]?.vocabulary;
    const steps = [...(scene ? [] : FORWARD), ...derivedSteps(run)];
    const vocabulary = scene || data.vocabulary;
    const given = { ...this.given, ids: array([ids.length], ids), targets: array([ids.length], targets) };
    given["size.tokens"] = array([], [ids.length]);
    const trace = { run, patch, vocabulary, tokens: ids.map((id) => vocabulary[id]), values: {} };
    trace.steps = Object.fromEntries(steps.map((step) => [step.name, step]));
    for (const step of steps) {
      const value = step.op === "given" ? given[step.name] : this.value(trace, step);
      const patched = value && step.name in patch;
      // A derived figure whose row this text does not have is left out.
      if (value) trace.values[step.name] = patched ? replacement(patch[step.name], value, trace.values) : value;
    }
    return trace;
  }

  /** The step's array: a kept one where the same step made it from the same inputs. */
  value(trace, step) {
    const parts = step.inputs.map((ref) => split(trace.values, ref));
    if (parts.includes(null)) return null;
    const from = parts.map(([name]) => trace.values[name]);
    const kept = this.cache.get(step) || this.cache.set(step, []).get(step);
    let made = kept.find((old) => old.from.every((input, i) => input === from[i]));
    if (!made) {
      made = { from, value: OPS[step.op](...parts.map(([name, index]) => part(trace.values[name], index))) };
      kept.unshift(made);
      kept.length = Math.min(kept.length, 40);
    }
    return made.value;
  }

  /** {trace, name, index} of `[run/]name[.i[.j]]`, or null where this state has no such value. */
  find(ref) {
    const [, run = "main", rest] = /^(?:(.*)\/)?(.*)$/s.exec(ref);
    if (run !== "generated" && !Object.hasOwn(data.runs, run)) return null;
    const trace = this.trace(run);
    const found = split(trace.values, rest);
    return found && { trace, name: found[0], index: found[1] };
  }

  /** The array at a ref, or the number where it is one; undefined where there is none. */
  at(ref) {
    const found = this.find(ref);
    if (!found) return undefined;
    const value = part(found.trace.values[found.name], found.index);
    return value.shape.length ? value : value.data[0];
  }
}

const offset = (shape, index) => index.reduce((at, i, axis) => at * shape[axis] + i, 0);

/** `name.i.j` into the name and the indices (`last` counts as one); null when there is no such value. */
function split(values, ref) {
  const index = [];
  let name = ref;
  while (!Object.hasOwn(values, name)) {
    const parts = /^(.+)\.(\d+|last)$/.exec(name);
    if (!parts || index.length > 2) return null;
    name = parts[1];
    index.unshift(parts[2]);
  }
  const { shape } = values[name];
  const numbers = index.map((item, axis) => (item === "last" ? shape[axis] - 1 : Number(item)));
  return numbers.length <= shape.length && numbers.every((n, axis) => n < shape[axis]) ? [name, numbers] : null;
}

/** A row or an entry of an array; the array itself without an index. */
function part(x, index) {
  if (!index.length) return x;
  const shape = x.shape.slice(index.length);
  const length = shape.reduce((a, b) => a * b, 1);
  const start = offset(x.shape, index) * length;
  return array(shape, x.data.slice(start, start + length));
}

function replacement(source, old, values) {
  if (typeof source === "number") return map(old, () => source);
  const [name, index] = split(values, source.replace(/\.T$/, ""));
  const value = part(values[name], index);
  return source.endsWith(".T") ? OPS.transpose(value) : value;
}

const shipped = new Runs(SHIPPED);
/** The toy as it is now: state.js replaces it at every change and then fires the event "toy" at the document. */
let live = shipped;
