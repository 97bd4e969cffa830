// What the reader changed: in the address (`#W_U.3.6=0.7&off=mask_off`), in every control, undone and redone.
"use strict";

const WEIGHTS = FORWARD.filter(({ name, axes }) => axes.length && GIVEN[name]).map(({ name }) => name);
const textOf = (ids) => ids.map((id) => data.vocabulary[id]).join("").replaceAll("␣", " ");
const byId = (id) => id && document.getElementById(id);
const each = (selector, f) => document.querySelectorAll(selector).forEach(f);
const notice = byId("notice");
const say = (text) => (notice.textContent = text);
const KEPT = "This was left as it was";
const BEYOND = "Some numbers cannot be calculated now: ∞ or undefined.";

/** Entries of weights, and numbers that some page has a control for. */
const editable = new Set(data.dials);
for (const name of WEIGHTS) {
	const [, width] = GIVEN[name].shape;
	const place = (i) => (width ? [Math.floor(i / width), i % width] : [i]);
	GIVEN[name].data.forEach((_, i) => editable.add([name, ...place(i)].join(".")));
}
const isEditable = (ref) => editable.has(ref);

/** What a control shows. */
function current(key) {
	const { ids, targets } = live.spec("main");
	return { text: textOf(ids), next: targets.at(-1) }[key] ?? valueAt(live.given, split(live.given, key));
}

/** A number as people type it, decimal comma and either minus; NaN where it is none. */
function typed(text) {
	const plain = text.trim().replace(",", ".").replace("−", "-");
	return /^[-+.\de]+$/i.test(plain) ? Number(plain) : NaN;
}

/** Why a text does not fit, as the tokenizer says it; nothing where it fits. */
function textFault(text) {
	const [{ length }, place] = cuts(text);
	const seen = text.replaceAll(" ", "␣");
	const rest = seen.slice(place).match(/.{0,12}/su);
	if (place >= 0) return `no token fits at character ${place + 1} of '${seen}': '${rest}'`;
	return length && length <= POSITIONS ? "" : `${length} tokens: a text has 1 to ${POSITIONS}`;
}

function isOutOfRange(key, value) {
	const { min, max, step } = (data.dials.includes(key) && document.querySelector(`[data-edit="${key}"][min]`)) || {};
	return min && (value < min || (max && value > max) || (step === "1" && !Number.isSafeInteger(value)));
}

/** A part of an address into a state. Says why not, or nothing. */
function take(state, [key, value]) {
	const { off, play } = state;
	const { main } = data.runs;
	const id = Object.keys(data.vocabulary).indexOf(value);
	if (key === "theme") return ""; // theme.js
	const fault = key === "text" && textFault(value);
	if (fault) return fault;
	if (key === "text") Object.assign(state, { text: `${idsOf(value)}` === `${main.ids}` ? null : value, play: [] });
	else if (key === "next" && id >= 0) state.next = id === main.next ? null : id;
	else if (key === "play" && id >= 0 && new Runs(state).spec("play").ids.length < POSITIONS) play.push(id);
	else if (key === "off" && data.switches.includes(value))
		state.off = off.includes(value) ? off.filter((run) => run !== value) : [...off, value];
	else if (!isEditable(key) || !Number.isFinite(typed(value))) return "not a number";
	else if (isOutOfRange(key, typed(value))) return "out of range";
	else if (typed(value) === valueAt(GIVEN, split(GIVEN, key))) delete state.set[key];
	else state.set[key] = typed(value);
	return "";
}
function hashOf({ set, ...more }) {
	const all = Object.entries({ ...set, ...more });
	const parts = all.flatMap(([key, value]) => [value ?? []].flat().map((one) => [key, one]));
	return `${new URLSearchParams(parts)}`.replaceAll("+", "%20");
}

// The states so far, as in the address, and which one is shown.
const states = [""];
let place = 0;
let toyHash = "";

/** Bring the toy to the state of an address. Parts that cannot be used come back; where none can, the toy stays. */
function show(hash, undoable = true) {
	const state = structuredClone(SHIPPED);
	const parts = hash.split("&");
	const left = parts.filter((one) => one && take(state, [...new URLSearchParams(`?${one}`)][0]));
	const next = left[0] && left.length === parts.filter(Boolean).length ? toyHash : hashOf(state);
	if (next !== toyHash) {
		toyHash = next;
		if (undoable) states.splice(++place, Infinity, next);
		else states[place] = next;
		live = new Runs(state);
		document.dispatchEvent(new Event("toy"));
		writeHash();
		if (notice.textContent !== BEYOND) say("");
	}
	refresh();
	return left;
}
function travel(by) {
	if (states[place + by] !== undefined) show(states[(place += by)], false);
}

/** Merge a partial state; a null in `set` takes an entry back. */
const change = (partial, undoable) =>
	show(hashOf({ ...live.state, ...partial, set: { ...live.state.set, ...partial.set } }), undoable);

/** The toy as it is, for a link; `extra`: an anchor, or at=REF. Between files the theme goes along. */
function stateHash(extra) {
	const { theme } = document.documentElement.dataset;
	const carried = location.protocol === "file:" && theme && `theme=${theme}`;
	return [extra, toyHash, carried].filter(Boolean).join("&").replace(/^./, "#$&");
}
const address = (extra) => location.href.split("#")[0] + stateHash(extra);

// A browser slows a page down that rewrites its address too often.
let [waiting, written, arrived] = [0, -300, ""];
function writeHash() {
	clearTimeout(waiting);
	waiting = setTimeout(() => {
		if (location.hash !== arrived) return; // Another address has come, and will be read in a moment.
		const next = address(byId(location.hash.slice(1).split("&")[0])?.id);
		if (next === location.href) return;
		written = performance.now();
		history.replaceState(history.state, "", next);
		arrived = location.hash;
	}, written + 300 - performance.now());
}

function arrive() {
	arrived = location.hash;
	const left = show(arrived.slice(1)).filter((one) => {
		const ref = one.startsWith("at=") && explain(live, one.slice(3))?.ref;
		if (ref) ask(ref);
		byId(one)?.scrollIntoView();
		return !ref && !byId(one);
	});
	if (left.length) say(`Left out of the address: ${left.join(", ").slice(0, 200)}`);
	writeHash();
}

function tellFault(edit, fault) {
	const places = document.querySelectorAll(`[data-fault="${edit}"]`);
	for (const text of places) text.textContent = fault;
	if (fault && !places.length) say(`${KEPT}: ${fault}.`);
	each(`[data-edit="${edit}"]`, (control) => control.setAttribute("aria-invalid", Boolean(fault)));
}

/** Says so where numbers left the range; a mask is −∞. */
document.addEventListener("shown", () => {
	const values = Object.values(live.traces).flatMap((trace) => Object.values(trace.values));
	const isBeyond = values.some((x) => x?.data.includes(NaN) || x?.data.includes(Infinity));
	if (notice.textContent === (isBeyond ? "" : BEYOND)) say(isBeyond ? BEYOND : ""); // Another notice stays.
});

/** Links to other pages take the toy along. */
function carry() {
	each('a[href*=".html"]:not([href*=":"])', (link) => {
		const [file, hash = ""] = link.getAttribute("href").split("#");
		link.setAttribute("href", file + stateHash(/^((at=)?[^=&]*)(&|$)/.exec(hash)?.[1]));
	});
}

function refresh() {
	each("[data-edit]", (control) => {
		const value = current(control.dataset.edit);
		// "0." and "0" are one number: what is being typed stays.
		if (typed(control.value) !== value) control.value = value;
		control.setAttribute("aria-invalid", false);
	});
	each("[data-fault]", (text) => (text.textContent = ""));
	if (notice.textContent.startsWith(KEPT)) say("");
	each("[data-switch]", (box) => (box.checked = live.state.off.includes(box.dataset.switch)));
	put(document.body, "data-toy", [toyHash && "changed", ...live.state.off].join(" ")); // for styles
	setTimeout(carry); // Links are looked at less soon than numbers.
	const able = { undo: place, redo: states.length - 1 - place, reset: toyHash };
	each("[data-do]", (button) => (button.disabled = [0, ""].includes(able[button.dataset.do])));
	const { length } = toyHash.split("&");
	byId("count").textContent = toyHash && `${length} change${length > 1 ? "s" : ""}`;
	byId("bar").hidden = !Object.values(able).some(Boolean);
}

/** A toy file that gives the numbers of this page. */
function toyToml() {
	const { vocabulary, activation, runs } = data;
	const toy = new Runs({ ...live.state, play: [] });
	const lines = (table) => Object.entries(table).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join("");
	const start = (run) => {
		const { ids, targets, patch } = toy.spec(run);
		const inline = JSON.stringify(patch).replaceAll(":", "=");
		return lines({ text: textOf(ids), next: vocabulary[targets.at(-1)] }) + `patch = ${inline}\n`;
	};
	const weights = {};
	for (const name of WEIGHTS) {
		const [key, head] = name.split(/\.(?=\d)/);
		const x = toy.given[name];
		const rows = x.shape[1] ? Array.from({ length: x.shape[0] }, (_, i) => [...rowOf(x, i)]) : [...x.data];
		weights[key] = head ? [...(weights[key] || []), rows] : rows;
	}
	const names = Object.keys(runs).filter((run) => run !== "main" && !runs[run].vocabulary);
	return [
		start("main") + lines({ vocabulary, activation, layer_norm_eps: GIVEN.layer_norm_eps.data[0], tied: !GIVEN.W_U }),
		`[weights]\n${lines(weights)}`,
		...names.map((run) => `[runs.${run}]\n${start(run)}`),
	].join("\n");
}

const DO = {
	undo: () => travel(-1),
	redo: () => travel(1),
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
	const state = structuredClone(live.state);
	const fault = take(state, run ? ["off", run] : [edit, target.value]);
	if (fault) return tellFault(edit, fault);
	show(hashOf(state), gesture !== target);
	gesture = target;
});

/** Whether a text stands in a field that is not in the toy, or not as its number: the browser undoes that. */
const isTyping = (field) =>
	field.matches("input:not([type=range], [type=checkbox])") && typed(field.value) !== current(field.dataset.edit || "");

// In a field for a number the arrows add a tenth; with Shift, one. Ctrl and Z undo.
document.addEventListener("keydown", (event) => {
	const { target, key, shiftKey } = event;
	const way = { ArrowUp: 1, ArrowDown: -1 }[key];
	const isZ = (event.ctrlKey || event.metaKey) && key.toLowerCase() === "z";
	if (way && target.matches("[data-edit*='.']:not([type])") && !isNaN(typed(target.value))) {
		target.value = Number((typed(target.value) + way * (shiftKey ? 1 : 0.1)).toFixed(9));
		target.dispatchEvent(new Event("input", { bubbles: true }));
	} else if (isZ && !isTyping(target)) travel(shiftKey ? 1 : -1);
	else return;
	event.preventDefault();
});

each("select[data-tokens]", (list) =>
	list.append(...data.vocabulary.map((token, id) => make("option", { value: id, "aria-label": token.replace("␣", "space ") }, token))),
);
document.addEventListener("DOMContentLoaded", arrive);
addEventListener("hashchange", arrive);
