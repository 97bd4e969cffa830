// Ask a number: a note below it says how it was made and what uses it. A weight is changed there.
"use strict";

const NUMBER = ":is(data, tspan)[data-ref]"; // A formula is one thing: its numbers have no focus.
const askNote = make("dialog", { class: "ask", "aria-labelledby": "asked", tabindex: -1 });
document.body.append(askNote);
let askTrail = []; // The refs asked one after the other,
let askedAt; // and the mark where that began.

const stepOf = (ref) => live.find(ref).trace.steps[live.find(ref).name];
const sameRun = (ref, path) => ref.slice(0, ref.indexOf("/") + 1) + path.join(".");

/** The refs that a number is made from; where it was looked up, also the id that chose it. */
function sourcesOf(ref) {
	const { trace, name, index } = live.find(ref);
	const { op, inputs } = trace.steps[name];
	const sources = new Set(numbersOf(explain(live, ref).expression || {}));
	const row = { rows: index.slice(0, -1), pick: index }[op];
	return row && !(name in trace.patch) ? sources.add(sameRun(ref, [inputs[1], ...row])) : sources;
}

/** The refs that are made from one, a few of each value that has a symbol; and whether there may be more. */
function usersOf(ref) {
	const { trace, name, index } = live.find(ref);
	const users = [];
	let more = "";
	let work = 4000;
	for (const { name: made, symbol, inputs, via } of Object.values(trace.steps)) {
		const from = [...inputs, ...via, trace.patch[made]];
		if (!symbol || !trace.values[made] || !from.some((input) => `${input}.`.startsWith(`${name}.`))) continue;
		const { shape, data } = trace.values[made];
		const width = shape.at(-1);
		const found = [];
		for (let i = data.length; i-- && found.length <= 5; ) {
			const place = [Math.floor(i / width), i % width].slice(2 - shape.length);
			// An entry of a table shares an index with all that it is made from.
			if (shape[1] && index.length && !place.some((n) => index.includes(n))) continue;
			const user = sameRun(ref, [made, ...place]);
			const sources = sourcesOf(user);
			if (sources.has(ref)) found.unshift(user);
			work -= sources.size;
			if (work < 0) break;
		}
		if (work < 0 || found.length > 5) more = "and more";
		users.push(...found.slice(-5));
		if (work < 0) break;
	}
	return [users, more];
}

// The marks of each ref in the order of the page, found when first needed.
let marks;
function marksOf(ref) {
	marks ??= Map.groupBy(within("[data-ref]"), (mark) => mark.dataset.ref);
	return marks.get(ref) || [];
}

/** The best place on the page: where a number is worked, in a table, anywhere; else its row, value, or head's like. */
function placeOf(ref) {
	const isShown = (mark) => !mark.closest("details:not([open])");
	const own = marksOf(ref).filter(isShown);
	const inside = (selector) => own.find((mark) => mark.closest(selector));
	const { name } = live.find(ref);
	const like = (start) => {
		for (const [key, all] of marks) {
			const mark = key.startsWith(start) && all.find(isShown);
			if (mark) return mark;
		}
	};
	const exact = inside(`[data-worked="${ref}"]`) || inside("td") || own[0];
	return exact || like(ref.replace(/\d+$/, "")) || like(`${name}.`) || like(name.replace(/\d+$/, "")) || document.querySelector("main h1");
}

/** Open the note. Inside it the trail goes on, or back to where it has been. */
function ask(ref, mark) {
	if (!explain(live, ref)) return;
	if (!askNote.contains(mark)) {
		askNote.close();
		askTrail = [];
		askedAt = mark || placeOf(ref);
		askedAt.focus(); // Closing gives the focus back.
		placeAsk();
		askNote.show();
	}
	if (askTrail.includes(ref)) askTrail.length = askTrail.indexOf(ref);
	askTrail.push(ref);
	const about = { "data-edit": ref, "aria-labelledby": "asked", "aria-describedby": "unread", value: current(ref), autocomplete: "off" };
	const field = isEditable(ref) ? make("input", about) : "";
	const nudger = (key, sign) => (field ? make("button", { "data-key": key, "aria-label": `${sign}0.1` }, sign) : "");
	askNote.replaceChildren(
		askLine("←", askTrail.slice(0, -1)),
		make("h2", { id: "asked" }, ...labelNodes(live, ref), " ", make("small", {}, stepOf(ref).title)),
		make("button", { class: "shut", "aria-label": "Close" }, "×"),
		nudger("ArrowDown", MINUS),
		field,
		nudger("ArrowUp", "+"),
		make("span", { class: "fault", id: "unread", role: "status", "data-fault": ref }),
		make("div"),
	);
	showAsked();
	// On a phone the keyboard would cover the page.
	const first = field && matchMedia("(pointer: fine)").matches ? field : askNote;
	first.focus({ preventScroll: true });
	first.select?.();
	askNote.scrollIntoView({ block: "nearest" });
}

function askLine(lead, refs, end = "") {
	const button = (ref) => {
		const { name, symbol, title } = stepOf(ref);
		const isAlike = refs.some((other) => stepOf(other).symbol === symbol && stepOf(other).name !== name);
		return make("button", { "data-ref": ref, title }, ...labelNodes(live, ref), isAlike ? ` ${title}` : "");
	};
	return refs.length || end ? make("p", { class: "refs" }, lead, ...refs.map(button), end) : "";
}

/** What follows the toy: how the number is made, what it was, what uses it, where it is worked. */
function showAsked() {
	const ref = askTrail.at(-1);
	const told = explain(live, ref);
	if (!told) return askNote.close();
	const [sources, before, { page }] = [sourcesOf(ref), shipped.at(ref), stepOf(ref)];
	const was = [told.value, undefined].includes(before) ? "" : ` It was ${shown(before)}.`;
	const step = document.querySelectorAll(".path a")[page - 1];
	const focused = askControls().indexOf(document.activeElement);
	askNote.lastChild.replaceChildren(
		make("p", { class: "working" }, ...workedNodes(live, ref)),
		make("p", {}, ...sentenceNodes(live, ref), was),
		placeOf(ref).dataset.ref === ref ? "" : make("p", {}, "This page does not show it, perhaps one like it."),
		told.expression?.operator ? "" : askLine("From", [...sources]),
		askLine("Used by", ...usersOf(ref)),
		step ? make("a", { href: step.href.split("#")[0] + stateHash(`at=${ref}`) }, `Step ${page}`) : "",
	);
	light([ref], [...sources]);
	setStops(askNote);
	askControls()[focused]?.focus();
}
const askControls = () => [...askNote.querySelectorAll("input, button, a, data")];

/** Mark the number that is asked, and those it is made from. */
let lit = [];
function light(asked = [], sources = []) {
	const use = (css, refs) => refs.flatMap(marksOf).map((mark) => (mark.classList.add(css), mark));
	for (const { classList } of lit) classList.remove("asked", "lit");
	lit = [...use("asked", asked), ...use("lit", sources)];
}
askNote.onclose = () => askNote.open || light();

function placeAsk() {
	if (!askedAt.isConnected) askedAt = placeOf(askTrail[0]);
	const { left, bottom } = askedAt.getBoundingClientRect();
	askNote.style.setProperty("--x", `${scrollX + left}px`);
	askNote.style.setProperty("--y", `${scrollY + bottom}px`);
}

/** One tab stop for the numbers of a table, figure, formula or answer, or else of the text under one heading. */
function setStops(place = document) {
	const stops = new Map();
	let heading;
	if (place === document) marks = kin = null;
	for (const item of place.querySelectorAll(`h1, h2, h3, ${NUMBER}`)) {
		const { ref } = item.dataset;
		if (!ref) heading = item;
		else {
			item.group = item.closest("table, figure, .formula, details, .ask") || heading;
			if (item.tabIndex === 0 || !stops.has(item.group)) stops.set(item.group, item);
			Object.assign(item, { tabIndex: -1, role: "button" });
			item.classList.toggle("editable", isEditable(ref));
		}
	}
	for (const mark of stops.values()) mark.tabIndex = 0;
}

/** A box that has nothing to scroll is no tab stop: the numbers in it have their own. */
const boxes = new ResizeObserver((all) => {
	for (const { target } of all) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
});
each(".scroll, .formula, pre", (box) => boxes.observe(box));

document.addEventListener("click", ({ target }) => {
	const inCell = target.matches("td") && target.querySelector("data:only-child");
	const mark = inCell || target.closest("[data-ref]");
	const { key } = target.dataset;
	if (mark) ask(mark.dataset.ref, mark);
	else if (key) askNote.querySelector("input").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
	else if (!askNote.contains(target) || target.matches(".shut")) askNote.close();
});

document.addEventListener("keydown", (event) => {
	const { key, target, shiftKey, ctrlKey, metaKey, altKey } = event;
	document.body.classList.toggle("quiet", key === "Escape"); // Until the next key nothing says what it was.
	const controls = askControls();
	// Tab leaves the note at either end, and goes on from the number.
	const isEnd = key === "Tab" && !controls[controls.indexOf(target) + (shiftKey ? -1 : 1)];
	if (key === "Escape" || (isEnd && askNote.contains(target))) askNote.close();
	const mark = target.closest(NUMBER);
	if (!mark || ctrlKey || metaKey || altKey) return;
	// The field that opens takes the character.
	if (/^[-−.\d]$/.test(key) && isEditable(mark.dataset.ref)) return ask(mark.dataset.ref, mark);
	const group = [...document.querySelectorAll(NUMBER)].filter((other) => other.group === mark.group);
	const row = mark.closest("tr")?.querySelectorAll(NUMBER).length;
	const at = group.indexOf(mark);
	const next = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - row, ArrowDown: at + row, Home: 0, End: group.length - 1 };
	if (group[next[key]]) {
		for (const other of group) other.tabIndex = other === group[next[key]] ? 0 : -1;
		group[next[key]].focus();
		group[next[key]].scrollIntoView({ block: "nearest", inline: "nearest" });
	} else if (key === "Enter" || key === " ") ask(mark.dataset.ref, mark);
	else return;
	event.preventDefault();
});

document.addEventListener("toy", () => (marks = null));
document.addEventListener("shown", () => {
	setStops();
	if (!askNote.open) return;
	showAsked();
	placeAsk();
});

// What the pointer or the focus is on lights up wherever it stands: a number, its mark in a picture, a token, a symbol
// with its table, a row by its heading.
const KIN = "[data-ref], [data-v], .token, var, mi, msub";
const kinKey = (e) => e.now ?? e.dataset.ref ?? e.dataset.v ?? `main=${e.textContent}`;
let [kin, kinLit] = [null, []]; // The elements of each key, found when first needed; those that are lit.
function findKin() {
	kin = {};
	each(`main :is(${KIN})`, (e) => {
		const { trace, name } = live.find(kinKey(e)) || {};
		const symbol = trace?.steps[name].symbol;
		for (const key of [kinKey(e), symbol && `${trace.run}=${symbol.replace("_", "")}`]) (kin[key] ??= []).push(e);
	});
}
function lightKin(target) {
	const row = target.closest("th[scope=row]")?.parentNode.querySelectorAll("[data-ref], .token");
	const touched = [...(row || [target.closest("msub") || target.closest(KIN)])].filter(Boolean);
	if (touched.length && !kin) findKin();
	for (const e of kinLit) e.classList.remove("kin");
	kinLit = touched.flatMap((mark) => kin[kinKey(mark)] || []);
	for (const e of kinLit) e.classList.add("kin");
}
for (const type of ["pointerover", "focusin"])
	document.addEventListener(type, ({ target, pointerType }) => {
		if (pointerType === "mouse" || target.matches(":focus-visible")) lightKin(target);
	});
setStops();
