// What the reader changed, as parts of the #hash (`W_U.3.6=0.7`, `off=mask_off`), with undo and redo.
"use strict";

const MAIN = data.runs.main;
const POSITIONS = GIVEN["size.positions"].data[0];
const WEIGHTS = FORWARD.filter(({ name, op, axes }) => op === "given" && axes.length && name in GIVEN);
const SWITCHES = Object.keys(data.runs).filter((run) => Object.keys(data.runs[run]).join() === "patch");
const textOf = (ids) => ids.map((id) => data.vocabulary[id]).join("").replaceAll("␣", " ");
const byId = (id) => document.getElementById(id);
const each = (selector, f) => document.querySelectorAll(selector).forEach(f);
const say = (text) => (byId("notice").textContent = text);
const past = [];
const future = [];
let parts = [];

/** Entries of the weights, and the numbers that some page has a control for. */
function isEditable(ref) {
  const [name, index] = split(GIVEN, ref) || [];
  const weight = WEIGHTS.find((step) => step.name === name);
  const isEntry = weight && index.length === weight.axes.length && [name, ...index].join(".") === ref;
  return Boolean(isEntry) || data.dials.includes(ref);
}
const AS_SHIPPED = { text: textOf(MAIN.ids), next: MAIN.next };
/** What a control shows: as shipped (undefined for a dial of another page), and now. */
function original(key) {
  const [name, index] = split(GIVEN, key) || [];
  return AS_SHIPPED[key] ?? (name && part(GIVEN[name], index).data[0]);
}
const current = (key) => live.state[key] ?? live.state.set[key] ?? original(key);

/** A number as people type it, decimal comma and either minus; NaN where it is none. */
function typed(text) {
  const plain = text.trim().replace(",", ".").replace("−", "-");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) && isFinite(plain) ? Number(plain) : NaN;
}

/** Why the toy cannot take a text, with the tokenizer's own message; nothing where it can. */
function textFault(text) {
  const [found, place] = cuts(text);
  const seen = text.replaceAll(" ", "␣");
  const rest = [...seen.slice(place)].slice(0, 12).join("");
  if (place >= 0) return `no token fits at character ${[...seen.slice(0, place)].length + 1} of '${seen}': '${rest}'`;
  if (!found.length) return "a text has at least one token";
  return found.length > POSITIONS ? `${found.length} tokens, but only ${POSITIONS} positions` : "";
}

const partsOf = ({ set, text, next, off, play }) => [
  ...Object.entries(set).map(([ref, value]) => `${ref}=${value}`.replace("+", "")),
  ...(text === null ? [] : [`text=${encodeURIComponent(text)}`]),
  ...(next === null ? [] : [`next=${next}`]),
  ...off.map((run) => `off=${run}`),
  ...(play.length ? [`play=${play}`] : []),
];
/** A part as [key, value]: an anchor has no value, a malformed part not even a key. */
function keyed(one) {
  try {
    const [, key, value] = /^([^=]*)(?:=(.*))?$/s.exec(one);
    return [key, value && decodeURIComponent(value)];
  } catch {
    return [""];
  }
}

/** One part into a new state. Says why not, or nothing. */
function take(state, one) {
  const [key, value = ""] = keyed(one);
  const ids = value.split(",").map((id) => (/^\d+$/.test(id) ? Number(id) : NaN));
  const known = ids.every((id) => id < data.vocabulary.length);
  const room = POSITIONS - (state.text === null ? MAIN.ids : idsOf(state.text)).length;
  if (key === "text") {
    const fault = textFault(value);
    if (!fault) Object.assign(state, { text: `${idsOf(value)}` === `${MAIN.ids}` ? null : value, play: [] });
    return fault;
  }
  if (key === "next" && known && ids.length === 1) state.next = ids[0] === MAIN.next ? null : ids[0];
  else if (key === "play" && known && ids.length <= room) state.play = ids;
  else if (key === "off" && SWITCHES.includes(value)) state.off = [...new Set([...state.off, value])];
  else if (!isEditable(key) || isNaN(typed(value))) return "not a number";
  else if (typed(value) === original(key)) delete state.set[key];
  else state.set[key] = typed(value);
  return "";
}
const asNew = () => ({ ...SHIPPED, set: {} });

/** Bring the toy to these parts. Those that could not be used come back. */
function show(list, undoable = true) {
  const state = asNew();
  const left = list.filter((one) => take(state, one));
  const next = partsOf(state);
  if (`${next}` !== `${parts}`) {
    if (undoable) past.push(parts);
    if (undoable) future.length = 0;
    parts = next;
    live = new Runs(state, live.cache);
    document.dispatchEvent(new Event("toy"));
    writeHash();
    say(beyond());
  }
  refresh();
  return left;
}

/** Change the toy: a partial state, merged; a null in `set` takes an entry back. */
const change = (partial, undoable) =>
  show(partsOf({ ...live.state, ...partial, set: { ...live.state.set, ...partial.set } }), undoable);

function travel(from, to) {
  if (!from.length) return;
  to.push(parts);
  show(from.pop(), false);
}

/** Says which shown value is not finite any more. */
function beyond() {
  const odd = (runs, name) => runs.trace("main").values[name]?.data.filter((v) => !Number.isFinite(v)) || [];
  const isShown = (name) => document.querySelector(`[data-ref="${name}"], [data-ref^="${name}."]`);
  const { steps } = live.trace("main");
  for (const name of Object.keys(steps)) {
    const before = [...odd(shipped, name)];
    if (odd(live, name).some((v) => !before.includes(v)) && isShown(name))
      return `Beyond the numbers that a computer holds: ∞ or undefined, from “${steps[name].title}” on.`;
  }
  return "";
}

/** The toy as it is, for a link; `extra` is an anchor of the page that it leads to, or at=REF. */
const stateHash = (extra) => [extra, ...parts].filter(Boolean).join("&").replace(/^./, "#$&");
const address = (extra) => location.href.split("#")[0] + stateHash(extra);
const anchorOf = (hash) => /^#([^=&]+)(?=&|$)/.exec(hash)?.[1];

// A browser slows a page down that rewrites its address too often.
let written = -300;
let waiting;
function writeHash() {
  const wait = written + 300 - performance.now();
  clearTimeout(waiting);
  if (wait > 0) waiting = setTimeout(writeHash, wait);
  else {
    written = performance.now();
    history.replaceState(null, "", address(anchorOf(location.hash)));
  }
}

/** Take the address's state, or only its anchor; a notice names what could not be used. */
function arrive() {
  const list = location.hash.slice(1).split("&").filter(Boolean);
  const anchor = list.find((one) => !one.includes("=") && byId(one));
  const at = list.find((one) => one.startsWith("at="));
  const left = list.join() === anchor ? show(parts) : show(list.filter((one) => one !== anchor && one !== at));
  const asked = at && keyed(at)[1];
  if (asked && typeof live.at(asked) === "number") ask(asked);
  else if (at) left.push(at);
  if (list.length) writeHash();
  if (anchor) byId(anchor).scrollIntoView();
  if (left.length) say(`Left out of the address: ${left.join(", ").slice(0, 200)}`);
}

/** Why what a control says cannot be used, or nothing. */
function tellFault(control, fault) {
  each(`[data-fault="${control.dataset.edit}"]`, (place) => (place.textContent = fault));
  control.setAttribute("aria-invalid", Boolean(fault));
}

/** Controls and the list of changes. */
function refresh() {
  each("[data-edit]", (control) => {
    const value = current(control.dataset.edit);
    // "0." and "0" are one number: what is being typed stays.
    const stays = control === document.activeElement && (control.value === value || typed(control.value) === value);
    if (!stays) control.value = value;
    tellFault(control, "");
  });
  each("[data-switch]", (control) => (control.checked = live.state.off.includes(control.dataset.switch)));
  byId("bar").hidden = ![parts, past, future].some((list) => list.length);
  const count = `${parts.length || "No"} change${parts.length === 1 ? "" : "s"}`;
  each("[data-count]", (place) => (place.textContent = byId("bar").hidden ? "" : count));
  each("[data-do=undo]", (button) => (button.disabled = !past.length));
  each("[data-do=redo]", (button) => (button.disabled = !future.length));
  each("[data-do=reset]", (button) => (button.disabled = !parts.length));
  byId("changes").replaceChildren(...parts.map(asItem));
}

function asItem(one) {
  const [key, value] = keyed(one);
  const inWords = { text: (v) => v, next: (v) => data.vocabulary[v], play: (v) => textOf(v.split(",")) };
  const words = inWords[key] || ((v) => String(v).replace("-", MINUS));
  const control = document.querySelector(`[data-edit="${key}"], [data-switch="${value}"]`)?.labels[0];
  const names = live.find(key) ? labelNodes(live, key) : [control?.textContent.trim() || (key === "play" ? "Drawn tokens" : key)];
  const edited = key === "off" ? "" : `: ${words(original(key) ?? "")} → ${words(value)}`;
  return make("li", {}, make("span", {}, ...names, edited), make("button", { "data-back": one }, "Take back"));
}

const inToml = (v) =>
  v.constructor === Object
    ? `{ ${Object.entries(v).map(([key, one]) => `${JSON.stringify(key)} = ${inToml(one)}`).join(", ")} }`
    : JSON.stringify(v);
const tomlLines = (table) =>
  Object.entries(table).map(([key, v]) => (v === undefined ? "" : `${key} = ${inToml(v)}\n`)).join("");

/** A toy file that gives the numbers of this page. */
function toyToml() {
  const { targets, patch } = live.spec("main");
  const { vocabulary, activation, runs } = data;
  const weights = {};
  for (const { name, axes } of WEIGHTS) {
    const [, key, head] = /^(.+?)(?:\.(\d+))?$/.exec(name);
    const x = live.given[name];
    const rows = axes[1] ? Array.from({ length: x.shape[0] }, (_, i) => [...rowOf(x, i)]) : [...x.data];
    weights[key] = head ? [...(weights[key] || []), rows] : rows;
  }
  const top = { text: current("text"), next: vocabulary[targets.at(-1)], vocabulary };
  const how = { layer_norm_eps: GIVEN.layer_norm_eps.data[0], activation, tied: !GIVEN.W_U, patch };
  const named = Object.entries(runs).filter(([run, own]) => run !== "main" && !own.vocabulary);
  return [
    "# The toy of Seven Steps, as a reader changed it: a file for content/.\n",
    tomlLines({ ...top, ...how }),
    "\n[weights]\n",
    tomlLines(weights).replaceAll("],[", "],\n  ["),
    ...named.map(([run, { ids, next, patch }]) =>
      `\n[runs.${run}]\n${tomlLines({ text: ids && textOf(ids), next: vocabulary[next], patch })}`,
    ),
  ].join("");
}

const DO = {
  undo: () => travel(past, future),
  redo: () => travel(future, past),
  reset: () => show([]),
  close: () => say(""),
  download() {
    const blob = new Blob([toyToml()], { type: "application/toml" });
    make("a", { href: URL.createObjectURL(blob), download: "toy.toml" }).click();
    const short = live.spec("main").ids.length < MAIN.ids.length;
    if (short) say("The pages speak of places that this text may lack: the build will say which.");
  },
  async copy() {
    const field = byId("link");
    field.value = address();
    try {
      await navigator.clipboard.writeText(field.value);
      say("Link copied.");
    } catch {
      field.hidden = false;
      field.select();
      say("Copy the address from the field.");
    }
  },
};

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-do], [data-back]");
  if (!button) return;
  if (button.dataset.back) show(parts.filter((one) => one !== button.dataset.back));
  else DO[button.dataset.do]?.();
  if (button.disabled || !button.isConnected) byId("bar").querySelector("summary").focus();
});

// Typing and dragging in one control is one step of undo.
let gesture;
document.addEventListener("input", ({ target }) => {
  const { edit, switch: run } = target.dataset;
  if (!edit && !run) return;
  const key = edit || "off";
  const one = `${key}=${encodeURIComponent(run || target.value)}`;
  const others = parts.filter((other) => (run ? other !== one : !other.startsWith(`${key}=`)));
  const { rangeUnderflow, rangeOverflow } = target.validity;
  const fault = rangeUnderflow || rangeOverflow ? "out of range" : take(asNew(), one);
  if (fault) return tellFault(target, fault);
  show(run && !target.checked ? others : [...others, one], gesture !== target);
  gesture = target;
});
for (const end of ["change", "focusout"]) document.addEventListener(end, () => (gesture = null));

/** In a field for a number the arrows add a tenth; with Shift, one. */
function nudge(event) {
  const { target, key, shiftKey } = event;
  const way = { ArrowUp: 1, ArrowDown: -1 }[key];
  if (!way || !target.matches("input[data-edit]:not([type], [data-edit=text])") || isNaN(typed(target.value))) return;
  event.preventDefault();
  target.value = Number((typed(target.value) + way * (shiftKey ? 1 : 0.1)).toFixed(9));
  target.dispatchEvent(new Event("input", { bubbles: true }));
}
document.addEventListener("keydown", nudge);
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  if (event.target.matches("input:not([type=range], [type=checkbox])")) return;
  event.preventDefault();
  DO[event.shiftKey ? "redo" : "undo"]();
});

/** Links to other pages carry the state; an anchor of this page needs none. */
function carry({ target }) {
  const link = target.closest("a[href]");
  if (!link?.href.startsWith(new URL(".", location).href)) return;
  const anchor = anchorOf(link.hash);
  if (!anchor || link.pathname !== location.pathname) link.hash = stateHash(anchor || /at=[^&]*/.exec(link.hash)?.[0]);
}
for (const before of ["pointerdown", "click"]) document.addEventListener(before, carry, true);

document.addEventListener("DOMContentLoaded", arrive);
addEventListener("hashchange", arrive);
