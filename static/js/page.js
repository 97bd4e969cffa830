// Brings the page to the runs `live`. It reads what the build wrote, and knows nothing of editing.
"use strict";

const pageMain = document.getElementById("main");
const within = (selector) => [...pageMain.querySelectorAll(selector)];
const ofText = (axis) => axis === "position" || axis === "seen";
const lengthIn = (runs, run = "main") => runs.trace(run === "generated" ? "main" : run).tokens.length;
const textTokens = () => live.trace("main").tokens;

/** A built ref now: the last position follows the text, and the spots around it (axis, at()) count. */
function seek(ref, spots = [], runs = live) {
	const { trace, name, index } = shipped.find(ref) || {};
	if (!trace) return ref;
	const { axes } = trace.steps[name];
	const last = lengthIn(shipped, trace.run) - 1;
	const more = lengthIn(runs, trace.run) - 1 - last;
	const items = index.map((i, k) => (ofText(axes[k]) && i >= last ? i + more : i));
	for (const { axis, at } of spots) {
		const k = axes.includes(axis) || !ofText(axis) ? axes.indexOf(axis) : axes.findIndex(ofText);
		if (k in items) items[k] = at();
	}
	return (trace.run === "main" ? "" : `${trace.run}/`) + [name, ...items].join(".");
}
const follow = (ref) => seek(ref);

/** The ids that `id REF`, `top REF`, `second REF` name; `last` is the last place. */
function idsNamed(mark, spots, runs = live) {
	const [kind, ref] = mark.split(" ");
	if (kind === "last") return [lengthIn(runs) - 1];
	const value = runs.at(seek(ref, spots, runs));
	if (kind === "id") return value?.data ? [...value.data] : [value];
	const id = value && mostLikelyFirst(value.data)[kind === "top" ? 0 : 1];
	return value?.data[id] >= -Infinity ? [id] : []; // Of undefined numbers none is the largest.
}

/** A built ref now, and its number: found once for a text of this length, or looked up at each change. */
function watched(ref, spots, entry) {
	const read = (now) => [now, live.at(now)];
	if (entry) return () => read(seek(ref, spots).replace(/\d+$/, idsNamed(entry, spots)[0]));
	if (spots.some((spot) => spot.ranked)) return () => read(seek(ref, spots));
	const fixed = seek(ref, spots);
	const { trace, name, index } = live.find(fixed) || {};
	const { shape, data } = trace?.values[name] || {};
	if (!shape) return () => read(fixed);
	const at = offset(shape, index);
	return () => {
		const now = live.trace(trace.run).values[name]?.data;
		return now?.length === data.length ? [fixed, now[at]] : read(fixed);
	};
}

/** The elements around that stand for a position of the text, or for an entry of a row by its rank. */
const spotsOf = (element) =>
	element === pageMain ? [] : [...spotsOf(element.parentNode), ...(element.spot ? [element.spot] : [])];

const put = (element, name, value) => element.getAttribute(name) === value || element.setAttribute(name, value);
function write(element, text, was = text) {
	const node = element.firstChild;
	if (!node) element.append(text);
	else if (node.data !== text) node.data = text; // A new node would cost the browser more.
	if (element.localName === "code") element.classList.toggle("spaced", isSpaced(text));
	if (text === was && element.dataset.was === undefined) return;
	element.classList.toggle("changed", text !== was);
	if (text === was) delete element.dataset.was;
	else element.dataset.was = was;
}
function fill(element, nodes) {
	const text = nodes.map((node) => node.textContent ?? node).join("");
	if (element.textContent.trim() !== text) element.replaceChildren(...nodes);
}

/** As many of these elements as needed. They come and go in front: what is special about the last one stays. */
function resized(children, length) {
	while (children.length > length) children.shift().remove();
	for (; children.length < length; children.unshift(children[0].previousSibling))
		children[0].before(children[0].cloneNode(true));
	return children;
}

const headingsIn = (element) => [...(element?.querySelectorAll("[data-structure], code:not([data-token])") || [])];
/** An element for a position: what it counts, and its heading where it has one. */
function stand(element, axis, position) {
	element.spot = { axis, at: () => position };
	for (const part of headingsIn(element.matches("th") ? element : element.querySelector(":scope > th")))
		write(part, part.localName === "code" ? textTokens()[position] : `${position + 1}`);
}

function fitBox(box) {
	const { each, from, to } = box.dataset;
	const [axis, run = "main"] = each.split(" ");
	const first = from ? lengthIn(live) - 1 : 0;
	const ends = { last: () => lengthIn(live) - 1, "": () => spotsOf(box).at(-1).at() + 1 };
	const length = (ends[to]?.() ?? live.trace(run).tokens.length) - first;
	if (box.style.length) box.style.setProperty("--t", length);
	resized([...box.children], length).forEach((child, i) => {
		stand(child, axis, first + i);
		if (child.style.length) child.style.setProperty("--i", i);
		for (const part of child.querySelectorAll("[data-index]")) write(part, `${i + 1}`);
	});
}

function fitTable(table) {
	const { rows, columns, some, most: cut = "" } = table.dataset;
	const [most, few] = cut.split(" ");
	const length = lengthIn(live) > (most || Infinity) ? Number(few) : lengthIn(live);
	for (const part of table.querySelectorAll(".in-part")) part.hidden = length === lengthIn(live);
	const lines = [...table.tBodies[0].rows];
	if (ofText(rows) && some === undefined) {
		const marks = lines.map((line) => line.matches(".marked"));
		const last = marks.pop();
		resized(lines, length).forEach((line, i) => {
			stand(line, rows, i);
			line.classList.toggle("marked", marks[i] || (last && i === length - 1));
		});
	} else if (ofText(rows))
		for (const line of lines) {
			const { trace, name, index } = live.find(follow(line.querySelector("[data-ref]").dataset.ref)) || {};
			if (trace) stand(line, rows, index[trace.steps[name].axes.indexOf(rows)]);
		}
	if (ofText(columns))
		for (const { cells } of table.rows)
			resized([...cells].slice(1), length).forEach((cell, i) => stand(cell, columns, i));
}

// How many shades are drawn in one go.
const PIECE = 500;

// What is done at each change: at once, and a moment later. `own` is the data of the mark as built.
const AT_ONCE = {
	/** Children in the order of a row, largest first: each stands for an entry. */
	"[data-order]"(box, own, spots) {
		const { trace, name } = shipped.find(own.order);
		const axis = trace.steps[name].axes.at(-1);
		const children = [...box.children];
		children.forEach((child, k) => (child.spot = { axis, at: () => box.ranks[k], ranked: true }));
		return () => {
			// The reader may choose another row (play.js).
			box.ranks = mostLikelyFirst(live.at(seek(box.dataset.order, spots))?.data || []);
			children.forEach((child, k) => {
				const text = axis === "token" ? trace.vocabulary[box.ranks[k]] : `${box.ranks[k] + 1}`;
				for (const part of headingsIn(child)) write(part, text);
			});
		};
	},
	"[data-marked]": (box, { marked, markedClass = "marked" }, spots) => () => {
		const ids = idsNamed(marked, spots);
		[...box.children].forEach((child, k) => {
			const isHit = ids.includes(box.ranks ? box.ranks[k] : k);
			child.classList.toggle(markedClass, isHit);
			for (const part of child.querySelectorAll("[data-one-hot]")) write(part, `${Number(isHit)}`);
			for (const part of child.querySelectorAll("[data-where]"))
				write(part, ids.flatMap((id, at) => (id === k ? [at + 1] : [])).join(", "));
		});
	},
	"[data-ref]"(element, { ref, entry }, spots) {
		const refNow = watched(ref, spots, entry);
		const text = (value) => (value === undefined ? "–" : shown(value));
		const shows = (element.shows ??= [ref, shipped.at(ref)]);
		return () => {
			const [now, value] = refNow();
			if (now === shows[0] && Object.is(value, shows[1])) return;
			shows.splice(0, 2, now, value);
			write(element, text(value), text(shipped.at(seek(ref, spots, shipped))));
			element.classList.toggle("missing", value === undefined);
			const digits = Object.is(value, -0) ? "-0" : `${value ?? ""}`;
			put(element, element.localName === "data" ? "value" : "data-value", digits);
			put(element, "data-ref", now);
		};
	},
	"[data-token]": (element, own, spots) => () => {
		const [kind, ref] = own.token.split(" ");
		const textIn = (runs) =>
			runs.find(seek(ref, spots, runs))?.trace.vocabulary[idsNamed(own.token, spots, runs)[0]] ?? "–";
		write(element, textIn(live), textIn(shipped));
		put(element, "data-token", `${kind} ${seek(ref, spots)}`);
	},
	"[data-text]": (element) => () => write(element, textTokens().join("").replaceAll("␣", " ")),
	"[data-claim]"(element, own) {
		const parts = own.claim.split(" and ");
		const at = (relations, spots) => relations.map((one) => one.replace(/[\w./]+/g, (ref) => seek(ref, spots)));
		const ofOne = parts.slice(0, parts.length / lengthIn(shipped));
		const now = "every" in own
			? textTokens().flatMap((_, i) => at(ofOne, [{ axis: "position", at: () => i }]))
			: at(parts);
		return () => element.classList.toggle("broken", !holds(now.join(" and "), live));
	},
	"[data-answer], [data-token-answer]": (element, { answer: ref, tokenAnswer }) => () => {
		if (ref) put(element, "data-answer", follow(ref));
		else put(element, "data-token-answer", tokenAnswer.replace(/\S+$/, follow));
	},
};

/** Shades and bars: --v, and in a span --zero, by what the elements of a group hold (web/scales.py, web/tables.py). */
function scale({ elements, how, digits }) {
	const refs = elements.map((element) => watched(element.dataset.v || element.firstChild.own.ref, spotsOf(element)));
	let [values, low, high] = [];
	const read = () => {
		values = refs.map((now, k) => {
			const [ref, value = NaN] = now();
			if (elements[k].now !== ref) elements[k].now = ref;
			return value;
		});
		const finite = values.filter(Number.isFinite);
		[low, high] = [Math.min, Math.max].map((end) => finite.reduce((a, b) => end(a, b), 0));
	};
	const draw = (nth) => {
		const piece = (all) => all.slice(nth * PIECE, (nth + 1) * PIECE);
		const styles = piece(elements).map(({ style }) => style);
		let [drawn, ends] = [[], []];
		return () => {
			const [before, isSame] = [drawn, ends[0] === low && ends[1] === high];
			const wide = high - low || 1;
			[drawn, ends] = [piece(values), [low, high]];
			styles.forEach((style, k) => {
				const value = drawn[k];
				if (isSame && Object.is(value, before[k])) return;
				const v = { one: value, size: value / (Math.max(-low, high) || 1), span: (value - low) / wide }[how];
				const part = (Number.isFinite(v) ? v : 0).toFixed(digits);
				// A shade of nothing needs no style.
				if (style.length || Number(part)) style.setProperty("--v", part);
				if (how === "span") style.setProperty("--zero", (-low / wide).toFixed(digits));
			});
		};
	};
	return [read, Array.from({ length: Math.ceil(elements.length / PIECE) }, (_, nth) => draw(nth))];
}
function scales() {
	const groups = new Map();
	const join = (element, place, key, how, digits) => {
		const own = groups.get(place) || groups.set(place, {}).get(place);
		(own[key] ??= { elements: [], how, digits }).elements.push(element);
	};
	for (const element of within("[data-v]")) {
		const { scale: key = "size" } = element.dataset;
		join(element, element.closest("figure"), key, key.split(" ")[0], 3);
	}
	for (const table of within("table:has(td:not([data-v])[style])"))
		for (const { parentNode: cell } of table.querySelectorAll("tbody td:not([data-v]) > [data-ref]:first-child"))
			join(cell, table, "byColumn" in table.dataset ? cell.cellIndex : "", "size", 2);
	return [...groups.values()].flatMap((own) => Object.values(own));
}

const LATER = {
	".worked"(element, own, spots) {
		const refNow = watched(own.worked, spots, own.entry);
		const keyOf = (runs, ref) => {
			const { value, expression } = explain(runs, ref) || {};
			return [ref, value, ...leaves(expression || {}).flatMap((leaf) => [leaf.ref, leaf.value])].join();
		};
		element.shows ??= keyOf(shipped, own.worked);
		return () => {
			const [ref, value] = refNow();
			const key = keyOf(live, ref);
			if (element.shows === key) return;
			element.shows = key;
			const there = value !== undefined;
			element.replaceChildren(...(there ? workedNodes(live, ref) : ["–"]));
			put(element, "data-worked", ref);
			if (there) put(element, "data-kind", workedKind(live, ref));
		};
	},
	/** A label that would cover one before it stands some lines lower (labels_apart in web/calls/figures.py). */
	"[data-apart]": (box) => () => {
		const placed = [];
		for (const point of box.children) {
			const [x, y] = [point, point.firstChild].map(({ style }) => Number(style.getPropertyValue("--v")));
			let lower = 0;
			const covers = ([a, b]) => Math.abs(x - a) < 0.27 && Math.abs(y - lower / 15 - b) < 0.06;
			while (placed.some(covers)) lower++;
			placed.push([x, y - lower / 15]);
			point.querySelector("text").style.setProperty("--n", lower);
		}
	},
	/** An answer's sentence, which says what was calculated. */
	".in-words": (element) => () => {
		const ref = element.closest(".check").dataset.answer;
		fill(element, explain(live, ref)?.expression?.operator ? sentenceNodes(live, ref) : []);
	},
	"[data-calculated]": (element, own, spots) => () =>
		write(element, fromPrinted(live, seek(own.calculated, spots)) ?? "–"),
	/** What each cell lacks to the longest decimals of its column. */
	"table:not(.words)": (table) => () => {
		for (let k = 1; k < table.rows[0].cells.length; k++) {
			const cells = [...table.querySelectorAll(`td:nth-child(${k + 1})`)];
			const tails = cells.map(({ textContent }) => /^[−<>]*[\d,]+(\.\d+|)$/.exec(textContent)?.[1]);
			const zeros = tails.reduce((a, b) => (b?.length > a.length ? b : a), "").replace(/\d/g, "0");
			cells.forEach((cell, i) => {
				const lack = zeros.slice(tails[i]?.length ?? zeros.length);
				if (lack !== (cell.dataset.pad || "")) cell.dataset.pad = lack;
			});
		}
	},
};

// What a reader sees comes first: a block of the page has the tasks that write to it.
const inView = new Set();
const eye = new IntersectionObserver((blocks) => {
	for (const { target, isIntersecting } of blocks) inView[isIntersecting ? "add" : "delete"](target);
});
// They stay: what grows stands in them.
const BLOCK = "main > *, .station";
const blocks = [...document.querySelectorAll(BLOCK)];
for (const block of blocks) eye.observe(block);

// Worked lines, notes and play.js make their own marks.
function watch(all, queue) {
	for (const [selector, show] of Object.entries(all))
		for (const element of within(`:is(${selector}):not(.worked *, .notes *, [data-cuts] *, [data-picks] *)`)) {
			element.own ??= { ...element.dataset };
			element.closest(BLOCK)[queue].push(show(element, element.own, spotsOf(element)));
		}
}

// What grows with the text starts again from what was built.
const grows = ({ dataset: { each, rows, columns } }) => each || ofText(rows) || ofText(columns);
const growing = within("table, [data-each]").filter((box) => grows(box) && !box.parentNode.closest("[data-each]"));
const asBuilt = growing.map((box) => box.cloneNode(true));
let shape = "";
function arrange() {
	if (shape) growing.forEach((box, k) => box.replaceWith((growing[k] = asBuilt[k].cloneNode(true))));
	within("[data-each]:not([data-each] *)").forEach(fitBox);
	within("[data-each] [data-each]").forEach(fitBox);
	within("table").forEach(fitTable);
	for (const block of blocks) Object.assign(block, { tasks: [], later: [] });
	watch(AT_ONCE, "tasks");
	for (const group of scales()) {
		const [read, draws] = scale(group);
		const { tasks, later } = group.elements[0].closest(BLOCK);
		tasks.push(read);
		(draws[1] ? later : tasks).push(...draws); // A new largest number changes all shades: those of a large table follow.
	}
	watch(LATER, "later");
}

const runsShown = within("[data-each]").map((box) => box.dataset.each.split(" ")[1] || "main");
function fit() {
	const now = [...textTokens(), ...runsShown.map((run) => live.trace(run).tokens.length)].join();
	if (shape !== now) arrange();
	shape = now;
}

let pageWaiting;
function showLater(queue) {
	const end = performance.now() + 10;
	while (queue.length && performance.now() < end) queue.pop()();
	pageWaiting = queue.length && setTimeout(showLater, 0, queue);
	if (!queue.length) document.dispatchEvent(new Event("shown"));
}
document.addEventListener("toy", () => {
	clearTimeout(pageWaiting);
	fit();
	const isSeen = (block) => !inView.size || inView.has(block);
	const [seen, unseen] = [true, false].map((is) => blocks.filter((block) => isSeen(block) === is));
	for (const { tasks } of seen) for (const task of tasks) task();
	const queue = [...seen.map(({ later }) => later), ...unseen.map(({ tasks }) => tasks), ...unseen.map(({ later }) => later)];
	pageWaiting = setTimeout(showLater, 0, queue.flat().reverse());
});
// The first change needs not wait for it.
setTimeout(fit);
