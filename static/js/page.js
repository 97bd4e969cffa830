// Brings the page to the runs `live`: it stays as built, and over it lies what differs. Knows nothing of editing.
"use strict";

const pageMain = document.getElementById("main");
const within = (selector) => [...pageMain.querySelectorAll(selector)];
const ofText = (axis) => axis === "position" || axis === "seen";
const lengthIn = (runs, run = "main") => runs.trace(run === "generated" ? "main" : run).tokens.length;
const textTokens = () => live.trace("main").tokens;

/** A built ref now: the last position follows the text, and the places around it (axis, at()) count. */
function seek(ref, around = [], runs = live) {
  const { trace, name, index } = shipped.find(ref) || {};
  if (!trace) return ref;
  const { axes } = trace.steps[name];
  const last = lengthIn(shipped, trace.run) - 1;
  const more = lengthIn(runs, trace.run) - 1 - last;
  const items = index.map((i, k) => (ofText(axes[k]) && i >= last ? i + more : i));
  for (const { axis, at } of around) {
    const k = axes.includes(axis) || !ofText(axis) ? axes.indexOf(axis) : axes.findIndex(ofText);
    if (k in items) items[k] = at();
  }
  return (trace.run === "main" ? "" : `${trace.run}/`) + [name, ...items].join(".");
}
const follow = (ref) => seek(ref);

/** The ids that `id REF`, `top REF`, `second REF` name; `last` is the last place. */
function idsNamed(mark, around, runs = live) {
  const [kind, ref] = mark.split(" ");
  if (kind === "last") return [lengthIn(runs) - 1];
  const value = runs.at(seek(ref, around, runs));
  if (kind === "id") return value?.data ? [...value.data] : [value];
  return value ? [mostLikelyFirst(value.data)[kind === "top" ? 0 : 1]] : [];
}

// A layer is what differs from the built page: element -> {name: value}. A name is an attribute, .class, or "" for
// what is inside: a text, or {key, nodes}. The quiet one follows a moment later.
const quick = { now: new Map(), next: new Map() };
const quiet = { now: new Map(), next: new Map() };
const built = new Map();

function asBuilt(element, name) {
  const was = built.get(element);
  if (was && name in was) return was[name];
  if (!name) return element.textContent;
  return name[0] === "." ? element.classList.contains(name.slice(1)) : element.getAttribute(name);
}
function put(element, name, value, layer = quick) {
  if (value === asBuilt(element, name)) return;
  if (!layer.next.has(element)) layer.next.set(element, {});
  layer.next.get(element)[name] = value;
}
const variable = (element, name) => (asBuilt(element, "style") || "").match(`(?:^|;)${name}:([^;]*)`)?.[1];
function putVariable(element, name, value) {
  if (variable(element, name) === `${value}`) return;
  const style = quick.next.get(element)?.style ?? asBuilt(element, "style") ?? "";
  put(element, "style", `${style};${name}:${value}`);
}
function putText(element, text, old) {
  put(element, "", text);
  if (text === old) return;
  put(element, ".changed", true);
  put(element, "data-was", old);
}
function write(element, name, value) {
  if (!built.has(element)) built.set(element, {});
  const was = built.get(element);
  if (!name) was.nodes ??= [...element.childNodes];
  was[name] = asBuilt(element, name);
  const next = value === undefined ? was[name] : value;
  if (!name) element.replaceChildren(...(value === undefined ? was.nodes : (value.nodes ?? [value])));
  else if (name[0] === ".") {
    was.class ??= element.hasAttribute("class");
    element.classList.toggle(name.slice(1), next);
    if (!was.class && !element.classList.length) element.removeAttribute("class");
  } else if (next === null) element.removeAttribute(name);
  else element.setAttribute(name, next);
}
function settle(layer) {
  const { now, next } = layer;
  const keyOf = (value) => value?.key ?? value;
  for (const element of new Set([...now.keys(), ...next.keys()])) {
    const [old, own] = [now.get(element) || {}, next.get(element) || {}];
    for (const name in { ...old, ...own })
      if (keyOf(old[name]) !== keyOf(own[name])) write(element, name, own[name]);
  }
  [layer.now, layer.next] = [next, new Map()];
}

// What is done at each change, at once and later; how to take back the rows and columns of another text.
let [tasks, later, undo] = [[], [], []];
/** Elements that stand for a position of the text, or for an entry of a row by its rank: {axis, at()}. */
const places = new Map();
const placesAround = (element) => {
  if (element === pageMain) return [];
  const around = placesAround(element.parentNode);
  return places.has(element) ? [...around, places.get(element)] : around;
};
const HEADING = "[data-structure], code:not([data-token])";
const always = (element, selector, text) => {
  for (const part of element?.querySelectorAll(selector) || []) tasks.push(() => put(part, "", `${text(part)}`));
};

/** As many of these elements as needed. Clones, and what is taken away, are in front. */
function resized(children, length) {
  const gone = children.slice(0, Math.max(0, children.length - length));
  const clones = Array.from({ length: length - children.length + gone.length }, () => children[0].cloneNode(true));
  children[0].before(...clones);
  undo.push(() => clones.forEach((clone) => clone.remove()));
  for (const child of gone) {
    const gap = document.createComment("");
    child.replaceWith(gap);
    undo.push(() => gap.replaceWith(child));
  }
  return [...clones, ...children.slice(gone.length)];
}

/** An element for a position: what it counts, and its heading where it has one. */
function stand(element, axis, position) {
  places.set(element, { axis, at: () => position });
  const head = element.matches("th") ? element : element.querySelector(":scope > th");
  always(head, HEADING, (part) => (part.localName === "code" ? textTokens()[position] : position + 1));
}

function fitBox(box) {
  const { each, from, to } = box.dataset;
  const [axis, run = "main"] = each.split(" ");
  const first = from ? lengthIn(live) - 1 : 0;
  const ends = { last: () => lengthIn(live) - 1, "": () => placesAround(box).at(-1).at() + 1 };
  const length = (ends[to]?.() ?? live.trace(run).tokens.length) - first;
  const count = (element, name, value) =>
    variable(element, name) && tasks.push(() => putVariable(element, name, value));
  count(box, "--t", length);
  resized([...box.children], length).forEach((child, i) => {
    stand(child, axis, first + i);
    count(child, "--i", i);
    always(child, "[data-index]", () => i + 1);
  });
}

function fitTable(table) {
  const { rows, columns, some } = table.dataset;
  const length = lengthIn(live);
  const lines = [...table.tBodies[0].rows];
  const [last, ...others] = lines.map((line) => line.matches(".marked")).reverse();
  if (ofText(rows) && some === undefined)
    resized(lines, length).forEach((line, i) => {
      stand(line, rows, i);
      tasks.push(() => put(line, ".marked", !!others.at(-1 - i) || (last && i === length - 1)));
    });
  else if (ofText(rows))
    for (const line of lines) {
      const { trace, name, index } = live.find(follow(line.querySelector("[data-ref]").dataset.ref)) || {};
      if (trace) stand(line, rows, index[trace.steps[name].axes.indexOf(rows)]);
    }
  if (ofText(columns))
    for (const { cells } of table.rows)
      resized([...cells].slice(1), length).forEach((cell, i) => stand(cell, columns, i));
}

/** Children in the order of a row, largest first: each stands for an entry. */
function order(box) {
  const around = placesAround(box);
  const { trace, name } = shipped.find(box.dataset.order);
  const axis = trace.steps[name].axes.at(-1);
  tasks.push(() => (box.ranks = mostLikelyFirst(live.at(seek(box.dataset.order, around))?.data || [])));
  [...box.children].forEach((child, k) => {
    places.set(child, { axis, at: () => box.ranks[k], ranked: true });
    always(child, HEADING, () => (axis === "token" ? trace.vocabulary[box.ranks[k]] : box.ranks[k] + 1));
  });
}

function mark(box) {
  const around = placesAround(box);
  const { marked, markedClass = "marked" } = box.dataset;
  let ids;
  tasks.push(() => (ids = idsNamed(marked, around)));
  [...box.children].forEach((child, k) => {
    const isHit = () => ids.includes(box.ranks ? box.ranks[k] : k);
    tasks.push(() => put(child, `.${markedClass}`, isHit()));
    always(child, "[data-one-hot]", () => Number(isHit()));
    always(child, "[data-where]", () => ids.flatMap((id, at) => (id === k ? [at + 1] : [])).join(", "));
  });
}

/** Where a built ref is now: fixed for this text, or looked up at each change. */
function watched(element, ref) {
  const around = placesAround(element);
  const { entry } = element.dataset;
  const now = () => {
    const sought = seek(ref, around);
    return entry ? sought.replace(/\d+$/, idsNamed(entry, around)[0]) : sought;
  };
  if (entry || around.some((place) => place.ranked)) return now;
  const fixed = now();
  return () => fixed;
}

function number(element) {
  const { ref } = element.dataset;
  const around = placesAround(element);
  const refNow = watched(element, ref);
  const first = shipped.at(ref);
  let now, run, name, at;
  tasks.push(() => {
    if (now !== (now = refNow())) {
      const found = live.find(now);
      run = found?.trace.run;
      name = found?.name;
      at = found && offset(found.trace.values[name].shape, found.index);
    }
    const value = run && live.trace(run).values[name].data[at];
    if (now === ref && Object.is(value, first)) return;
    const texts = [value, shipped.at(seek(ref, around, shipped))].map((v) => (v === undefined ? "–" : shown(v)));
    putText(element, ...texts);
    put(element, element.localName === "data" ? "value" : "data-value", `${value ?? ""}`);
    put(element, "data-ref", now);
    put(element, ".missing", !run);
  });
}

function token(element) {
  const around = placesAround(element);
  const mark = element.dataset.token;
  const [kind, ref] = mark.split(" ");
  const textIn = (runs) =>
    runs.find(seek(ref, around, runs))?.trace.vocabulary[idsNamed(mark, around, runs)[0]] ?? "–";
  tasks.push(() => {
    putText(element, textIn(live), textIn(shipped));
    put(element, "data-token", `${kind} ${seek(ref, around)}`);
  });
}

function claim(element) {
  const parts = element.dataset.claim.split(" and ");
  const at = (relations, around) => relations.map((one) => one.replace(/[\w./]+/g, (ref) => seek(ref, around)));
  const ofOne = parts.slice(0, parts.length / lengthIn(shipped));
  const now = "every" in element.dataset
    ? textTokens().flatMap((_, i) => at(ofOne, [{ axis: "position", at: () => i }]))
    : at(parts);
  tasks.push(() => put(element, ".broken", !holds(now.join(" and "), live)));
}

/** Shades and bars: --v, and in a span --zero, by what the elements of a group hold (web/scales.py, web/tables.py). */
function scale({ elements, how, digits }) {
  const refs = elements.map((element) => element.dataset.v ?? element.firstChild.dataset.ref);
  const nowAt = elements.map((element, k) => watched(element, refs[k]));
  // A shade of nothing needs no style.
  const first = elements.map((element, k) => variable(element, "--v") ?? shipped.at(refs[k]) * 0);
  tasks.push(() => {
    const values = nowAt.map((ref) => live.at(ref()) ?? NaN);
    const finite = [0, ...values.filter(Number.isFinite)];
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const wide = high - low || 1;
    elements.forEach((element, k) => {
      const v = { one: values[k], size: values[k] / (Math.max(-low, high) || 1), span: (values[k] - low) / wide }[how];
      const text = (Number.isFinite(v) ? v : 0).toFixed(digits);
      if (!element.dataset.v && !Number.isFinite(v)) put(element, "style", null);
      else if (Number(text) !== Number(first[k])) putVariable(element, "--v", text);
      if (how === "span") putVariable(element, "--zero", (-low / wide).toFixed(digits));
    });
  });
}
function scales() {
  const groups = new Map();
  const join = (element, place, key, how, digits) => {
    const own = groups.get(place) || groups.set(place, {}).get(place);
    (own[key] ??= { elements: [], how, digits }).elements.push(element);
  };
  for (const element of within("[data-v]")) {
    const { scale = "size" } = element.dataset;
    join(element, element.closest("figure"), scale, scale.split(" ")[0], 3);
  }
  for (const { parentNode: cell } of within("tbody td:not([data-v]) > [data-ref]:first-child")) {
    const table = cell.closest("table");
    const column = "byColumn" in table.dataset ? cell.cellIndex : "";
    if (table.querySelector("td:not([data-v])[style]")) join(cell, table, column, "size", 2);
  }
  for (const own of groups.values()) Object.values(own).forEach(scale);
}

const putNodes = (element, nodes, key = nodes.map((node) => node.textContent ?? node).join("")) =>
  key !== asBuilt(element, "").trim() && put(element, "", { key, nodes }, quiet);

function worked(element) {
  const refNow = watched(element, element.dataset.worked);
  const keyOf = (runs, ref) => {
    const { value, expression } = explain(runs, ref) || {};
    return [ref, value, ...leaves(expression || {}).flatMap((leaf) => [leaf.ref, leaf.value])].join();
  };
  const first = keyOf(shipped, element.dataset.worked);
  later.push(() => {
    const ref = refNow();
    const key = keyOf(live, ref);
    if (key === first) return;
    const there = live.at(ref) !== undefined;
    putNodes(element, there ? workedNodes(live, ref) : ["–"], key);
    put(element, "data-worked", ref, quiet);
    if (there) put(element, "data-kind", workedKind(live, ref), quiet);
  });
}

/** An answer's sentence, which says what was calculated. */
function inWords(element) {
  const ref = follow(element.closest(".check").dataset.answer);
  later.push(() => putNodes(element, explain(live, ref)?.expression?.operator ? sentenceNodes(live, ref) : []));
}

const entriesOf = (ref) => {
  const value = live.at(ref);
  return value?.shape ? [...Array(value.shape[0]).keys()].flatMap((i) => entriesOf(`${ref}.${i}`)) : [ref];
};
/** What the printed digits of a table give (templates/boxes.html). */
function notes(box) {
  const pair = ({ ref, calculated }, between, attribute) => {
    const figure = make("span", { class: "num", [attribute]: ref }, calculated);
    return make("span", { class: "pair" }, ...labelNodes(live, ref), between, figure);
  };
  const note = (start, found, between, attribute, end) => {
    const pairs = found.flatMap((one, k) => [k ? ", " : "", pair(one, between, attribute)]);
    return found.length ? [make("p", { class: "note" }, start, ...pairs, end)] : [];
  };
  later.push(() => {
    const { of } = box.dataset;
    const cells = [...box.parentNode.querySelectorAll("td > [data-ref]")];
    if (!of && !cells.some((cell) => quick.now.has(cell))) return;
    const refs = of ? of.split(" ").flatMap((ref) => entriesOf(follow(ref))) : cells.map((cell) => cell.dataset.ref);
    putNodes(box, [
      ...note("With the printed digits a calculator gives ", closingNotes(live, refs), " = ", "data-calculated",
        ": the table was calculated with all digits and rounded afterwards. Other last digits differ by one at most."),
      ...note("Printed, ", sumNotes(live, refs), " adds to ", "data-printed-sum",
        ": each entry is rounded on its own."),
    ]);
  });
}

/** What each cell lacks to the longest decimals of its column. */
function pads(table) {
  const rows = [...table.tBodies[0].rows, ...(table.tFoot?.rows || [])];
  later.push(() => {
    for (let k = 1; k < rows[0].cells.length; k++) {
      const cells = rows.map((row) => row.cells[k]);
      const tails = cells.map(({ textContent: text }) => (/\d/.test(text) ? text.split(".")[1] || "" : null));
      const longest = Math.max(...tails.map((tail) => tail?.length || 0));
      cells.forEach((cell, i) => {
        const pad = tails[i] === null ? "" : (tails[i] || !longest ? "" : ".") + "0".repeat(longest - tails[i].length);
        if (pad || asBuilt(cell, "data-pad")) put(cell, "data-pad", pad, quiet);
      });
    }
  });
}

function arrange() {
  settle(quick);
  settle(quiet);
  undo.reverse().forEach((back) => back());
  [tasks, later, undo] = [[], [], []];
  places.clear();
  // Worked lines, notes and play.js make their own marks.
  const own = ":not(.worked *, .notes *, [data-cuts] *, [data-picks] *)";
  const all = {
    "[data-each]:not([data-each] *)": fitBox, "[data-each] [data-each]": fitBox, table: fitTable,
    "[data-order]": order, "[data-marked]": mark, [`[data-ref]${own}`]: number, [`[data-token]${own}`]: token,
    "[data-claim]": claim, ".worked": worked, ".in-words": inWords, ".notes": notes,
  };
  for (const [selector, watch] of Object.entries(all)) within(selector).forEach(watch);
  scales();
  for (const element of within("[data-text]"))
    tasks.push(() => put(element, "", textTokens().join("").replaceAll("␣", " ")));
  for (const name of ["data-answer", "data-token-answer"])
    for (const element of within(`[${name}]`))
      tasks.push(() => put(element, name, asBuilt(element, name).replace(/\S+$/, follow)));
  for (const element of within(`[data-calculated]${own}`)) {
    const refNow = watched(element, element.dataset.calculated);
    later.push(() => put(element, "", fromPrinted(live, refNow()) ?? "–", quiet));
  }
  for (const box of within(".table > .notes")) pads(box.parentNode.querySelector("table"));
  within(".bars").forEach(pads);
}

const runsShown = new Set(["main", ...within("[data-each]").map((box) => box.dataset.each.split(" ")[1] || "main")]);
let shape;
function fit() {
  const now = [...runsShown].map((run) => live.trace(run).tokens.length).join();
  if (shape !== now) arrange();
  shape = now;
}

let pageWaiting;
function showLater(queue) {
  const end = performance.now() + 10;
  while (queue.length && performance.now() < end) queue.shift()();
  if (queue.length) return (pageWaiting = setTimeout(showLater, 0, queue));
  settle(quiet);
  document.dispatchEvent(new Event("shown"));
}
document.addEventListener("toy", () => {
  clearTimeout(pageWaiting);
  quiet.next = new Map();
  fit();
  for (const task of tasks) task();
  settle(quick);
  pageWaiting = setTimeout(showLater, 0, [...later]);
});
// The first change needs not wait for it.
setTimeout(fit);
