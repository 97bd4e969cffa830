// Brings the page to the runs `live`: it stays as built, and over it lies what differs. Knows nothing of editing.
"use strict";

const pageMain = document.getElementById("main");
const within = (selector) => [...pageMain.querySelectorAll(selector)];
const ofText = (axis) => axis === "position" || axis === "seen";
const lengthIn = (runs, run) => runs.trace(run === "generated" ? "main" : run).tokens.length;

/** A built ref now: the last position follows the text, and the places around it (axis, index) count. */
function seek(ref, places = [], runs = live) {
  const { trace, name, index } = shipped.find(ref) || {};
  if (!trace) return ref;
  const { axes } = trace.steps[name];
  const last = lengthIn(shipped, trace.run) - 1;
  const more = lengthIn(runs, trace.run) - 1 - last;
  const items = index.map((i, at) => (ofText(axes[at]) && i >= last ? i + more : i));
  for (const { axis, at } of places) {
    const k = axes.indexOf(axis) < 0 && ofText(axis) ? axes.findIndex(ofText) : axes.indexOf(axis);
    if (k in items) items[k] = at();
  }
  return (trace.run === "main" ? "" : `${trace.run}/`) + [name, ...items].join(".");
}
const follow = (ref) => seek(ref);

/** The ids that `id REF`, `top REF` or `second REF` name. */
function idsNamed(mark, places, runs = live) {
  const [kind, ref] = mark.split(" ");
  if (kind === "last") return [lengthIn(runs, "main") - 1];
  const value = runs.at(seek(ref, places, runs));
  if (kind === "id") return value?.data ? [...value.data] : [value];
  return value ? [mostLikelyFirst(value.data)[kind === "top" ? 0 : 1]] : [];
}
const tokenNamed = (mark, places, runs = live) =>
  runs.find(seek(mark.split(" ")[1], places, runs))?.trace.vocabulary[idsNamed(mark, places, runs)[0]] ?? "–";

// A layer is what differs from the built page: element -> {name: value}. A name is an attribute, .class, or "" for
// what is inside: a text, or {key, nodes}.
const layerOf = () => ({ now: new Map(), next: new Map() });
const [quick, quiet] = [layerOf(), layerOf()];
const built = new Map();

function asBuilt(element, name) {
  const was = built.get(element);
  if (was && name in was) return was[name];
  if (!name) return element.textContent;
  return name[0] === "." ? element.classList.contains(name.slice(1)) : element.getAttribute(name);
}
function put(layer, element, name, value) {
  if (value === asBuilt(element, name)) return;
  if (!layer.next.has(element)) layer.next.set(element, {});
  layer.next.get(element)[name] = value;
}
const variable = (element, name) => (asBuilt(element, "style") || "").match(`(?:^|;)${name}:([^;]*)`)?.[1];
function putVariable(element, name, value) {
  if (variable(element, name) === `${value}`) return;
  const style = quick.next.get(element)?.style ?? asBuilt(element, "style") ?? "";
  put(quick, element, "style", `${style};${name}:${value}`);
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
  for (const element of new Set([...now.keys(), ...next.keys()])) {
    const [old, own] = [now.get(element) || {}, next.get(element) || {}];
    for (const name in { ...old, ...own })
      if ((old[name]?.key ?? old[name]) !== (own[name]?.key ?? own[name])) write(element, name, own[name]);
  }
  [layer.now, layer.next] = [next, new Map()];
}

// What to do at each change, at once and a little later; how to take back the rows and columns of another text.
let tasks = [];
let later = [];
let undo = [];
/** Elements that stand for a position of the text, or for an entry of a row by its rank: {axis, at()}. */
const places = new Map();
const spotsOf = (element) => {
  if (element === pageMain) return [];
  const around = spotsOf(element.parentNode);
  return places.has(element) ? [...around, places.get(element)] : around;
};

/** As many of these elements as needed. Clones, and what is taken away, are in front. */
function resized(children, count) {
  const gone = children.slice(0, Math.max(0, children.length - count));
  const clones = Array.from({ length: count - children.length + gone.length }, () => children[0].cloneNode(true));
  children[0].before(...clones);
  undo.push(() => clones.forEach((clone) => clone.remove()));
  for (const child of gone) {
    const gap = document.createComment("");
    child.replaceWith(gap);
    undo.push(() => gap.replaceWith(child));
  }
  return [...clones, ...children.slice(gone.length)];
}
const always = (element, value) => tasks.push(() => put(quick, element, "", `${value}`));

/** An element for a position: its heading, where it has one, and what it counts. */
function stand(element, axis, position) {
  places.set(element, { axis, at: () => position });
  const head = element.matches("th") ? element : element.querySelector(":scope > th");
  for (const part of head?.querySelectorAll("[data-structure], code:not([data-token])") || [])
    always(part, part.localName === "code" ? live.trace("main").tokens[position] : position + 1);
}

const count = (element, name, value) => variable(element, name) && tasks.push(() => putVariable(element, name, value));

function fitBoxes(selector) {
  for (const box of within(selector)) {
    const [axis, run = "main"] = box.dataset.each.split(" ");
    const from = box.dataset.from ? lengthIn(live, "main") - 1 : 0;
    const upTo = { last: () => lengthIn(live, "main") - 1, "": () => spotsOf(box).at(-1).at() + 1 };
    const to = upTo[box.dataset.to]?.() ?? live.trace(run).tokens.length;
    count(box, "--t", to - from);
    resized([...box.children], to - from).forEach((child, i) => {
      stand(child, axis, from + i);
      count(child, "--i", i);
      for (const part of child.querySelectorAll("[data-index]")) always(part, i + 1);
    });
  }
}

function fitTable(table) {
  const { rows, columns, some } = table.dataset;
  const length = lengthIn(live, "main");
  const lines = [...table.tBodies[0].rows];
  const isMarked = lines.map((line) => line.matches(".marked"));
  if (ofText(rows) && some === undefined)
    resized(lines, length).forEach((line, i) => {
      stand(line, rows, i);
      const marked = (i < lines.length - 1 && isMarked[i]) || (i === length - 1 && isMarked.at(-1));
      tasks.push(() => put(quick, line, ".marked", marked));
    });
  else if (ofText(rows))
    for (const line of lines) {
      const { trace, name, index } = live.find(follow(line.querySelector("[data-ref]").dataset.ref)) || {};
      if (trace) stand(line, rows, index[trace.steps[name].axes.indexOf(rows)]);
    }
  if (ofText(columns))
    for (const row of table.rows) resized([...row.cells].slice(1), length).forEach((cell, i) => stand(cell, columns, i));
}

/** Children in the order of a row, largest first: each stands for an entry. */
function order(box) {
  const around = spotsOf(box);
  const { trace, name } = shipped.find(box.dataset.order);
  const axis = trace.steps[name].axes.at(-1);
  let ranks = [];
  tasks.push(() => (ranks = mostLikelyFirst(live.at(seek(box.dataset.order, around))?.data || [])));
  [...box.children].forEach((child, k) => {
    places.set(child, { axis, at: () => ranks[k], ranked: true });
    for (const part of child.querySelectorAll("[data-structure], code:not([data-token])"))
      tasks.push(() => put(quick, part, "", axis === "token" ? trace.vocabulary[ranks[k]] : `${ranks[k] + 1}`));
  });
  box.ranks = () => ranks;
}

function mark(box) {
  const around = spotsOf(box);
  const { marked, markedClass = "marked" } = box.dataset;
  tasks.push(() => {
    const ids = idsNamed(marked, around);
    const ranks = box.ranks?.();
    [...box.children].forEach((child, k) => {
      const hit = ids.includes(ranks ? ranks[k] : k);
      put(quick, child, `.${markedClass}`, hit);
      for (const part of child.querySelectorAll("[data-one-hot]")) put(quick, part, "", hit ? "1" : "0");
      const where = ids.flatMap((id, at) => (id === k ? [at + 1] : [])).join(", ");
      for (const part of child.querySelectorAll("[data-where]")) put(quick, part, "", where);
    });
  });
}

/** A ref that is looked up at every change: where it is now. `entry` says which entry of its row. */
function watched(element, ref) {
  const around = spotsOf(element);
  const { entry } = element.dataset;
  const now = (runs) => {
    const aimed = seek(ref, around, runs);
    return entry ? aimed.replace(/\d+$/, idsNamed(entry, around, runs)[0]) : aimed;
  };
  if (entry || around.some((place) => place.ranked)) return now;
  const fixed = now(live);
  return () => fixed;
}

function number(element) {
  const { ref } = element.dataset;
  const around = spotsOf(element);
  const refNow = watched(element, ref);
  const first = shipped.at(ref);
  let now, found;
  tasks.push(() => {
    if (now !== (now = refNow(live))) {
      found = live.find(now);
      found &&= { run: found.trace.run, name: found.name, at: offset(found.trace.values[found.name].shape, found.index) };
    }
    const value = found ? live.trace(found.run).values[found.name].data[found.at] : undefined;
    if (now === ref && Object.is(value, first)) return;
    const old = seek(ref, around, shipped);
    const texts = [value, shipped.at(old)].map((v) => (v === undefined ? "–" : shown(v)));
    put(quick, element, "", texts[0]);
    put(quick, element, element.localName === "data" ? "value" : "data-value", `${value ?? ""}`);
    put(quick, element, "data-ref", now);
    put(quick, element, ".missing", !found);
    if (texts[0] === texts[1]) return;
    put(quick, element, ".changed", true);
    put(quick, element, "data-was", texts[1]);
  });
}

function token(element) {
  const around = spotsOf(element);
  const mark = element.dataset.token;
  const [kind, ref] = mark.split(" ");
  tasks.push(() => {
    const [text, old] = [live, shipped].map((runs) => tokenNamed(mark, around, runs));
    put(quick, element, "", text);
    put(quick, element, "data-token", `${kind} ${seek(ref, around)}`);
    if (text === old) return;
    put(quick, element, ".changed", true);
    put(quick, element, "data-was", old);
  });
}

/** Shades and bars: --v, and in a span --zero, by what the group of elements holds (web/scales.py, web/tables.py). */
function scale(elements, how, places) {
  const builtRefs = elements.map((element) => element.dataset.v ?? element.firstChild.dataset.ref);
  const refs = elements.map((element, k) => watched(element, builtRefs[k]));
  // A shade of nothing needs no style.
  const first = elements.map((element, k) => variable(element, "--v") ?? shipped.at(builtRefs[k]) * 0);
  tasks.push(() => {
    const values = refs.map((ref) => live.at(ref(live)) ?? NaN);
    const finite = [0, ...values.filter(Number.isFinite)];
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const size = Math.max(-low, high) || 1;
    const wide = high - low || 1;
    values.forEach((value, k) => {
      const element = elements[k];
      const v = { one: value, size: value / size, span: (value - low) / wide }[how];
      const text = (Number.isFinite(v) ? v : 0).toFixed(places);
      if (!element.dataset.v && !Number.isFinite(v)) put(quick, element, "style", null);
      else if (Number(text) !== Number(first[k])) putVariable(element, "--v", text);
      if (how === "span") putVariable(element, "--zero", (-low / wide).toFixed(places));
    });
  });
}
function scales() {
  const groups = new Map();
  const join = (element, place, key, ...how) => {
    const keys = groups.get(place) || groups.set(place, new Map()).get(place);
    if (!keys.has(key)) keys.set(key, { elements: [], how });
    keys.get(key).elements.push(element);
  };
  for (const element of within("[data-v]")) {
    const { scale = "size" } = element.dataset;
    join(element, element.closest("figure"), scale, scale.split(" ")[0], 3);
  }
  for (const cell of within("tbody td:not([data-v]):has(> [data-ref]:first-child)")) {
    const table = cell.closest("table");
    if (table.querySelector("td:not([data-v])[style]")) join(cell, table, "byColumn" in table.dataset && cell.cellIndex, "size", 2);
  }
  for (const keys of groups.values()) for (const { elements, how } of keys.values()) scale(elements, ...how);
}

function worked(element) {
  const refNow = watched(element, element.dataset.worked);
  const keyOf = (runs, ref) => {
    const all = explain(runs, ref);
    return all && [ref, all.value, ...leaves(all.expression || {}).flatMap((n) => [n.ref, n.value])].join();
  };
  const first = keyOf(shipped, element.dataset.worked);
  later.push(() => {
    const ref = refNow(live);
    const key = keyOf(live, ref);
    if (key === first) return;
    put(quiet, element, "", { key, nodes: key ? workedNodes(live, ref) : ["–"] });
    put(quiet, element, "data-worked", ref);
    if (key) put(quiet, element, "data-kind", workedKind(live, ref));
  });
}

const pair = (between, attribute) => ({ ref, calculated }) => {
  const figure = make("span", { class: "num", [attribute]: ref }, calculated);
  return make("span", { class: "pair" }, ...labelNodes(live, ref), between, figure);
};
const note = (start, pairs, end) =>
  pairs.length ? [make("p", { class: "note" }, start, ...pairs.flatMap((one, k) => (k ? [", ", one] : [one])), end)] : [];
const entriesOf = (ref) => {
  const value = live.at(ref);
  return value?.shape ? [...Array(value.shape[0]).keys()].flatMap((i) => entriesOf(`${ref}.${i}`)) : [ref];
};
/** What the printed digits of a table give (templates/boxes.html). */
function notes(box) {
  later.push(() => {
    const { of } = box.dataset;
    const cells = [...(box.parentNode.querySelectorAll("td > [data-ref]"))];
    if (!of && !cells.some((cell) => quick.now.has(cell))) return;
    const refs = of ? of.split(" ").flatMap((ref) => entriesOf(follow(ref))) : cells.map((cell) => cell.dataset.ref);
    const nodes = [
      ...note("With the printed digits a calculator gives ", closingNotes(live, refs).map(pair(" = ", "data-calculated")),
        ": the table was calculated with all digits and rounded afterwards. Other last digits differ by one at most."),
      ...note("Printed, ", sumNotes(live, refs).map(pair(" adds to ", "data-printed-sum")), ": each entry is rounded on its own."),
    ];
    const key = nodes.map((node) => node.textContent).join("\n");
    if (key !== asBuilt(box, "").trim()) put(quiet, box, "", { key, nodes });
  });
}

/** What each cell lacks to the longest decimals of its column. */
function pads(table) {
  later.push(() => {
    const rows = [...table.tBodies[0].rows, ...(table.tFoot?.rows || [])];
    for (let k = 1; k < rows[0].cells.length; k++) {
      const tails = rows.map(({ cells }) => (/\d/.test(cells[k].textContent) ? cells[k].textContent.split(".")[1] || "" : null));
      const longest = Math.max(0, ...tails.map((tail) => tail?.length || 0));
      tails.forEach((tail, i) => {
        const pad = tail === null ? "" : (tail || !longest ? "" : ".") + "0".repeat(longest - tail.length);
        if (pad || asBuilt(rows[i].cells[k], "data-pad")) put(quiet, rows[i].cells[k], "data-pad", pad);
      });
    }
  });
}

function arrange() {
  for (const layer of [quick, quiet]) settle(layer);
  undo.reverse().forEach((back) => back());
  [tasks, later, undo] = [[], [], []];
  places.clear();
  fitBoxes("[data-each]:not([data-each] *)");
  fitBoxes("[data-each] [data-each]");
  within("table").forEach(fitTable);
  within("[data-order]").forEach(order);
  within("[data-marked]").forEach(mark);
  const own = ":not(.worked *, .notes *, [data-cuts] *, [data-picks] *)";
  within(`[data-ref]${own}`).forEach(number);
  within(`[data-token]${own}`).forEach(token);
  within("[data-text]").forEach((element) =>
    tasks.push(() => put(quick, element, "", live.trace("main").tokens.join("").replaceAll("␣", " "))),
  );
  for (const element of within("[data-claim]")) {
    const { claim, every } = element.dataset;
    const parts = claim.split(" and ");
    const now = (relations, spots) => relations.join(" and ").replace(/[\w./]+/g, (ref) => seek(ref, spots));
    const each = (relations) => Array.from({ length: lengthIn(live, "main") }, (_, i) => now(relations, [{ axis: "position", at: () => i }])).join(" and ");
    const all = every === undefined ? now(parts) : each(parts.slice(0, parts.length / lengthIn(shipped, "main")));
    tasks.push(() => put(quick, element, ".broken", !holds(all, live)));
  }
  for (const element of within("[data-answer]")) tasks.push(() => put(quick, element, "data-answer", follow(asBuilt(element, "data-answer"))));
  for (const element of within("[data-token-answer]"))
    tasks.push(() => put(quick, element, "data-token-answer", asBuilt(element, "data-token-answer").replace(/\S+$/, follow)));
  scales();
  within(".worked").forEach(worked);
  for (const element of within(".in-words")) {
    const ref = follow(element.closest(".check").dataset.answer);
    later.push(() => {
      const nodes = explain(live, ref)?.expression?.operator ? sentenceNodes(live, ref) : [];
      const key = make("p", {}, ...nodes).textContent;
      if (key !== asBuilt(element, "")) put(quiet, element, "", { key, nodes: nodes.length ? sentenceNodes(live, ref) : [] });
    });
  }
  for (const element of within(`[data-calculated]${own}`)) {
    const refNow = watched(element, element.dataset.calculated);
    later.push(() => put(quiet, element, "", fromPrinted(live, refNow(live)) ?? "–"));
  }
  within(".notes").forEach(notes);
  within(".table:has(> .notes) table, .bars").forEach(pads);
}

const runsShown = new Set(["main", ...within("[data-each]").map((box) => box.dataset.each.split(" ")[1] || "main")]);
let shape;
let pageWaiting;
function showLater(queue) {
  const end = performance.now() + 10;
  while (queue.length && performance.now() < end) queue.shift()();
  pageWaiting = queue.length ? setTimeout(showLater, 0, queue) : settle(quiet);
}
document.addEventListener("toy", () => {
  const now = [...runsShown].map((run) => live.trace(run).tokens.length).join();
  if (shape !== now) arrange();
  shape = now;
  for (const task of tasks) task();
  settle(quick);
  clearTimeout(pageWaiting);
  quiet.next = new Map();
  pageWaiting = setTimeout(showLater, 0, [...later]);
});
