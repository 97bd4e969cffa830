// What the reader changed: in the address (`#W_U.3.6=0.7&off=mask_off`), in every control, undone and redone.
"use strict";

const MAIN = data.runs.main;
const WEIGHTS = FORWARD.filter(({ name, axes }) => axes.length && GIVEN[name]).map(({ name }) => name);
const textOf = (ids) => ids.map((id) => data.vocabulary[id]).join("").replaceAll("␣", " ");
const byId = (id) => document.getElementById(id);
const each = (selector, f) => document.querySelectorAll(selector).forEach(f);
const say = (text) => (byId("notice").textContent = text);
const past = [];
const future = [];
let toyHash = "";

/** Entries of the weights, and the numbers that some page has a control for. */
function isEditable(ref) {
  const [name, index] = split(GIVEN, ref) || [];
  const isEntry = WEIGHTS.includes(name) && index.length === GIVEN[name].shape.length;
  return data.dials.includes(ref) || (isEntry && [name, ...index].join(".") === ref);
}
/** A number as shipped; undefined for a dial of another page. */
function original(ref) {
  const found = split(GIVEN, ref);
  return found ? entry(GIVEN, found) : undefined;
}
/** What a control shows. */
const current = (key) =>
  live.state[key] ?? live.state.set[key] ?? { text: textOf(MAIN.ids), next: MAIN.next }[key] ?? original(key);

/** A number as people type it, decimal comma and either minus; NaN where it is none. */
function typed(text) {
  const plain = text.trim().replace(",", ".").replace("−", "-");
  return /^[-+.\de]+$/i.test(plain) ? Number(plain) : NaN;
}

/** Why the toy cannot take a text, with the tokenizer's own message; nothing where it can. */
function textFault(text) {
  const [found, place] = cuts(text);
  const seen = text.replaceAll(" ", "␣");
  const rest = seen.slice(place).match(/.{0,12}/su);
  if (place >= 0) return `no token fits at character ${[...seen.slice(0, place)].length + 1} of '${seen}': '${rest}'`;
  if (!found.length) return "a text has at least one token";
  return found.length > POSITIONS ? `${found.length} tokens, but only ${POSITIONS} positions` : "";
}

/** A part of an address into a state. Says why not, or nothing. */
function take(state, [key, value]) {
  const { text, off, play } = state;
  const id = Object.keys(data.vocabulary).indexOf(value);
  if (key === "text") {
    const fault = textFault(value);
    const ids = idsOf(value);
    if (!fault) Object.assign(state, { text: `${ids}` === `${MAIN.ids}` ? null : value, play: [] });
    return fault;
  }
  const length = (text === null ? MAIN.ids : idsOf(text)).length + play.length;
  if (key === "next" && id >= 0) state.next = id === MAIN.next ? null : id;
  else if (key === "play" && id >= 0 && length < POSITIONS) play.push(id);
  else if (key === "off" && Object.hasOwn(data.switches, value))
    state.off = off.includes(value) ? off.filter((run) => run !== value) : [...off, value];
  else if (!isEditable(key) || !Number.isFinite(typed(value))) return "not a number";
  else if (typed(value) === original(key)) delete state.set[key];
  else state.set[key] = typed(value);
  return "";
}
function hashOf({ set, ...more }) {
  const parts = Object.entries({ ...set, ...more }).flatMap(([key, value]) => [value ?? []].flat().map((one) => [key, one]));
  return `${new URLSearchParams(parts)}`.replaceAll("+", "%20");
}

/** Bring the toy to a state, written as in the address. Parts that cannot be used come back. */
function show(hash, undoable = true) {
  const state = structuredClone(SHIPPED);
  const left = hash.split("&").filter((one) => one && take(state, [...new URLSearchParams(`?${one}`)][0]));
  const next = hashOf(state);
  if (next !== toyHash) {
    if (undoable) {
      past.push(toyHash);
      future.length = 0;
    }
    toyHash = next;
    live = new Runs(state);
    document.dispatchEvent(new Event("toy"));
    writeHash();
    say(beyond());
  }
  refresh();
  return left;
}

/** Change the toy: a partial state, merged; a null in `set` takes an entry back. */
const change = (partial, undoable) =>
  show(hashOf({ ...live.state, ...partial, set: { ...live.state.set, ...partial.set } }), undoable);

function travel(from, to) {
  if (!from.length) return;
  to.push(toyHash);
  show(from.pop(), false);
}

/** Says from which value on numbers are not finite any more. */
function beyond() {
  const isOdd = (runs, name) => runs.trace("main").values[name]?.data.every(Number.isFinite) === false;
  const step = Object.values(live.trace("main").steps).find(({ name }) => isOdd(live, name) && !isOdd(shipped, name));
  return step ? `Beyond the numbers that a computer holds: ∞ or undefined, from “${step.title}” on.` : "";
}

/** The toy as it is, for a link; `extra` is an anchor of the page that it leads to, or at=REF. */
const stateHash = (extra) => [extra, toyHash].filter(Boolean).join("&").replace(/^./, "#$&");
const address = (extra) => location.href.split("#")[0] + stateHash(extra);

// A browser slows a page down that rewrites its address too often.
let written = 0;
let waiting;
function writeHash() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    written = performance.now();
    history.replaceState(null, "", address(byId(location.hash.slice(1).split("&")[0])?.id));
  }, written + 300 - performance.now());
}

/** Take the address's state, or only its anchor; a notice names what could not be used. */
function arrive() {
  const list = location.hash.slice(1).split("&");
  const anchor = byId(list[0]);
  if (anchor) list.shift();
  const ref = /^at=(.*)/.exec(list[0])?.[1];
  if (ref) list.shift();
  const left = anchor && !list.length ? [] : show(list.join("&"));
  writeHash();
  if (anchor) anchor.scrollIntoView();
  if (ref && explain(live, ref)) ask(ref);
  else if (ref) left.push(ref);
  if (left.length) say(`Left out of the address: ${left.join(", ").slice(0, 200)}`);
}

/** Why what a control says cannot be used, or nothing. */
function tellFault({ dataset: { edit } }, fault) {
  each(`[data-fault="${edit}"]`, (place) => (place.textContent = fault));
  each(`[data-edit="${edit}"]`, (control) => control.setAttribute("aria-invalid", Boolean(fault)));
}

/** Controls and links to the other pages. */
function refresh() {
  each("[data-edit]", (control) => {
    const value = current(control.dataset.edit);
    // "0." and "0" are one number: what is being typed stays.
    if (typed(control.value) !== value) control.value = value;
    tellFault(control, "");
  });
  each("[data-switch]", (box) => (box.checked = live.state.off.includes(box.dataset.switch)));
  each('a[href*=".html"]:not([href*=":"])', (link) => {
    const [file, hash = ""] = link.getAttribute("href").split("#");
    link.setAttribute("href", file + stateHash(/^((at=)?[^=&]*)(&|$)/.exec(hash)?.[1]));
  });
  const able = { undo: past.length, redo: future.length, reset: toyHash };
  for (const what in able) each(`[data-do=${what}]`, (button) => (button.disabled = !able[what]));
  byId("bar").hidden = !Object.values(able).some(Boolean);
}

/** A toy file that gives the numbers of this page. */
function toyToml() {
  const { vocabulary, activation, runs } = data;
  const { ids, targets, patch } = live.spec("main");
  const lines = (table) =>
    Object.entries(table).map(([key, value]) => (value === undefined ? "" : `${key} = ${JSON.stringify(value)}\n`)).join("");
  const start = ({ ids, next, patch = {} }) =>
    `${lines({ text: ids && textOf(ids), next: vocabulary[next] })}patch = ${JSON.stringify(patch).replaceAll(":", " = ")}\n`;
  const weights = {};
  for (const name of WEIGHTS) {
    const [key, head] = name.split(/\.(?=\d)/);
    const x = live.given[name];
    const rows = x.shape[1] ? Array.from({ length: x.shape[0] }, (_, i) => [...rowOf(x, i)]) : [...x.data];
    weights[key] = head ? [...(weights[key] || []), rows] : rows;
  }
  return [
    start({ ids, next: targets.at(-1), patch }),
    lines({ vocabulary, activation, layer_norm_eps: GIVEN.layer_norm_eps.data[0], tied: !GIVEN.W_U }),
    `[weights]\n${lines(weights)}`,
    ...Object.keys(runs).map((run) => run === "main" || runs[run].vocabulary ? "" : `[runs.${run}]\n${start(runs[run])}`),
  ].join("\n");
}

const DO = {
  undo: () => travel(past, future),
  redo: () => travel(future, past),
  reset: () => show(""),
  close: () => say(""),
  download: () => make("a", { href: URL.createObjectURL(new Blob([toyToml()])), download: "toy.toml" }).click(),
  async copy() {
    try {
      await navigator.clipboard.writeText(address());
      say("Link copied.");
    } catch {
      say("Copy the link from the address bar.");
    }
  },
};
document.addEventListener("click", ({ target }) => {
  DO[target.dataset.do]?.();
  if (target.disabled) byId("bar").focus();
});

// Typing and dragging in one control is one step of undo.
let gesture;
document.addEventListener("change", () => (gesture = null));
document.addEventListener("input", ({ target }) => {
  const { edit, switch: run } = target.dataset;
  if (!edit && !run) return;
  const { rangeUnderflow, rangeOverflow } = target.validity;
  const state = structuredClone(live.state);
  const fault =
    rangeUnderflow || rangeOverflow ? "out of range" : take(state, run ? ["off", run] : [edit, target.value]);
  if (fault) return tellFault(target, fault);
  show(hashOf(state), gesture !== target);
  gesture = target;
});

/** In a field for a number the arrows add a tenth; with Shift, one. Elsewhere Ctrl and Z undo. */
document.addEventListener("keydown", (event) => {
  const { target, key, shiftKey } = event;
  const way = { ArrowUp: 1, ArrowDown: -1 }[key];
  const isZ = (event.ctrlKey || event.metaKey) && key.toLowerCase() === "z";
  if (way && target.matches("[data-edit*='.']:not([type])") && !isNaN(typed(target.value))) {
    target.value = Number((typed(target.value) + way * (shiftKey ? 1 : 0.1)).toFixed(9));
    target.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (isZ && !target.matches("input:not([type=range], [type=checkbox])")) DO[shiftKey ? "redo" : "undo"]();
  else return;
  event.preventDefault();
});

each("select[data-tokens]", (list) =>
  list.append(...data.vocabulary.map((token, id) => make("option", { value: id }, token))),
);
for (const run in data.switches) {
  const box = make("input", { type: "checkbox", "data-switch": run, autocomplete: "off" });
  byId("switches").append(make("label", {}, box, " ", structure(data.switches[run])));
}
document.addEventListener("DOMContentLoaded", arrive);
addEventListener("hashchange", arrive);
