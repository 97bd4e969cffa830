"use strict";
// What the reader changed: one state (SHIPPED in engine.js), kept in the #hash, with undo and redo.

const MAIN = data.runs.main;
const POSITIONS = GIVEN["size.positions"].data[0];
const SWITCHES = Object.keys(data.runs).filter((run) => Object.keys(data.runs[run]).join() === "patch");
const textOf = (ids) => ids.map((id) => data.vocabulary[id]).join("").replaceAll("␣", " ");
const byId = (id) => document.getElementById(id);
const each = (selector, f) => document.querySelectorAll(selector).forEach(f);
const say = (text) => (byId("notice").textContent = text);
const past = [];
const future = [];

/** Entries of the weights, and the numbers that some page has a control for. */
function isEditable(ref) {
  const [name, index = []] = split(GIVEN, ref) || [];
  const isEntry = index.length && index.length === GIVEN[name].shape.length;
  return data.dials.includes(ref) || !!isEntry && [name, ...index].join(".") === ref;
}
/** What a control shows without a change, and with it. */
const original = (key) =>
  ({ text: textOf(MAIN.ids), next: MAIN.next })[key] ?? (split(GIVEN, key) && part(GIVEN[split(GIVEN, key)[0]], split(GIVEN, key)[1]).data[0]);
const current = (key) => live.state[key] ?? live.state.set[key] ?? original(key);

/** A number as people type it, decimal comma and either minus; NaN where it is none. */
function typed(text) {
  const plain = text.trim().replace(",", ".").replace("−", "-");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) && Number.isFinite(+plain) ? +plain : NaN;
}

/** Why the toy cannot take a text, with the tokenizer's own message; nothing where it can. */
function textFault(text) {
  const [found, place] = cuts(text);
  const seen = text.replaceAll(" ", "␣");
  const rest = [...seen.slice(place)].slice(0, 12).join("");
  if (place >= 0) return `no token fits at character ${[...seen.slice(0, place)].length + 1} of '${seen}': '${rest}'`;
  if (!found.length) return "A text needs a token.";
  return found.length > POSITIONS ? `${found.length} tokens, but only ${POSITIONS} positions.` : "";
}

/** Each difference to the shipped toy as a part of the hash. */
const partsOf = ({ set, text, next, off, play }) => [
  ...Object.entries(set).map(([ref, value]) => `${ref}=${value}`.replace("+", "")),
  ...(text === null ? [] : [`text=${encodeURIComponent(text)}`]),
  ...(next === null ? [] : [`next=${next}`]),
  ...off.map((run) => `off=${run}`),
  ...(play.length ? [`play=${play}`] : []),
];
/** The toy as it is, for links; `extra` is an anchor of the page that it leads to, or at=REF. */
const stateHash = (extra) => [extra, ...partsOf(live.state)].filter(Boolean).join("&").replace(/^./, "#$&");

/** One entry into a state: why not, or nothing where it could be used. */
function take(state, key, value) {
  const id = /^\d+$/.test(value) ? Number(value) : NaN;
  if (key === "text") {
    const fault = textFault(value);
    if (!fault) Object.assign(state, { text: value, play: [] });
    return fault;
  }
  if (key === "next" && id < data.vocabulary.length) state.next = id;
  else if (key === "off" && SWITCHES.includes(value)) state.off = [...state.off, value];
  else if (key === "play" && /^\d+(,\d+)*$/.test(value)) state.play = value.split(",").map(Number);
  else if (isEditable(key) && !isNaN(typed(value))) state.set = { ...state.set, [key]: typed(value) };
  else return "not a number";
  return "";
}

/** The state with nothing in it that is as shipped, or that the toy has no room for. */
function tidy({ set, text, next, off, play }) {
  const ids = text === null ? MAIN.ids : idsOf(text);
  return {
    set: Object.fromEntries(Object.entries(set).filter(([ref, v]) => v !== null && v !== original(ref))),
    text: `${ids}` === `${MAIN.ids}` ? null : text,
    next: next === MAIN.next ? null : next,
    off: [...new Set(off)],
    play: play.filter((id) => id < data.vocabulary.length).slice(0, POSITIONS - ids.length),
  };
}

/** Change the toy: a partial state, merged; a null in `set` takes an entry back. */
function change(partial, undoable = true) {
  show({ ...live.state, ...partial, set: { ...live.state.set, ...partial.set } }, undoable);
}

function show(state, undoable) {
  const next = tidy(state);
  if (`${partsOf(next)}` !== `${partsOf(live.state)}`) {
    if (undoable) past.push(live.state);
    if (undoable) future.length = 0;
    live = new Runs(next, live.cache);
    document.dispatchEvent(new Event("toy"));
    writeHash();
  }
  refresh();
}

function step(from, to) {
  if (!from.length) return;
  to.push(live.state);
  show(from.pop(), false);
}

// A browser slows a page down that rewrites its address too often.
let written = -300;
let waiting;
function writeHash() {
  clearTimeout(waiting);
  const wait = written + 300 - performance.now();
  if (wait > 0) return (waiting = setTimeout(writeHash, wait));
  written = performance.now();
  history.replaceState(null, "", location.href.split("#")[0] + stateHash(anchorOf(location.hash)));
}
const anchorOf = (hash) => /^#([^=&]+)(&|$)/.exec(hash)?.[1];

/** The address's state, or only its anchor; a notice names what could not be used. */
function arrive() {
  const state = { ...SHIPPED };
  const left = [];
  let ref;
  for (const one of location.hash.slice(1).split("&").filter(Boolean)) {
    let [, key, value] = /^(.*?)(?:=(.*))?$/s.exec(one);
    try {
      value = value && decodeURIComponent(value);
    } catch {
      key = "";
    }
    if (value === undefined && byId(key)) byId(key).scrollIntoView();
    else if (key === "at" && live.find(value)) ref = value;
    else if (value === undefined || take(state, key, value)) left.push(one);
  }
  if (location.hash.includes("=") || !location.hash) show(state, true);
  else writeHash();
  if (left.length) say(`Left out of the address: ${left.join(", ").slice(0, 200)}`);
  if (ref) ask(ref, document.querySelector(`[data-ref="${CSS.escape(ref)}"]`));
}

function refresh() {
  each("[data-edit]", (control) => {
    const value = current(control.dataset.edit);
    const same = document.activeElement === control && (control.value === value || typed(control.value) === value);
    if (!same && value !== null) control.value = value;
  });
  each("[data-switch]", (control) => (control.checked = live.state.off.includes(control.dataset.switch)));
}

// Typing and dragging in one control is one step of undo.
let gesture = null;
document.addEventListener("input", ({ target }) => {
  const { edit, switch: run } = target.dataset;
  if (run) change({ off: [...live.state.off.filter((other) => other !== run), ...(target.checked ? [run] : [])] });
  if (!edit) return;
  const state = { ...live.state };
  const fault = take(state, edit, target.value);
  target.setAttribute("aria-invalid", !!fault);
  each(`[data-fault="${CSS.escape(edit)}"]`, (place) => (place.textContent = fault));
  if (fault) return;
  show(state, gesture !== target);
  gesture = target;
});
for (const end of ["change", "focusout"]) document.addEventListener(end, () => (gesture = null));
document.addEventListener("DOMContentLoaded", arrive);
addEventListener("hashchange", arrive);
