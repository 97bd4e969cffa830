// The check boxes: judges answers, names slips, makes exercises, keeps what is done.
"use strict";

/** The number that a typed text means, 1/2 too; NaN for a word. */
const reading = (text) =>
	text.replace(/[‐-―]/g, "-").replace(/^\s*=|\s|\.$/g, "").split("/").map(typed).reduce((a, b) => a / b);
/** Within one unit of the third decimal as printed; what prints short, to all its digits. */
const near = (a, b) => (isShort(b) ? Math.abs(a - b) <= 1e-9 : Math.abs(a - readNumber(rounded(b, 3))) <= 1.000001e-3);
const replies = byId("replies");
const replyTo = (key) => replies.content.querySelector(`[data-say=${key}]`);

/** The name of a known slip that gives the answer in the place of a number. */
function slipAt(ref, isAnswer) {
	const { trace, name, index } = live.find(ref);
	const carriedOut = (form) =>
		Array.isArray(form) ? OPS[form[0]](...form.slice(1).map(carriedOut)) : trace.values[form] || array([], [form]);
	const entry = (x, at = index) => x.data[offset(x.shape, at)] ?? NaN; // The first and the last row have one beside them.
	const slips = { sign: ["multiply", name, -1], ...JSON.parse(replies.dataset.slips)[name] };
	const [row, ...rest] = index;
	const [axis, other] = trace.steps[name].axes;
	// A masked zero stands in every row: it does not tell that another row was read.
	const isMasked = other === "seen" && isAnswer(0);
	const beside = axis === "position" && !isMasked ? [row - 1, row + 1] : [];
	const isBeside = beside.some((place) => isAnswer(entry(trace.values[name], [place, ...rest])));
	return Object.keys(slips).find((slip) => isAnswer(entry(carriedOut(slips[slip])))) || (isBeside && "row");
}

/** The key of the reply to an answer, and what names the slip. */
function judge(box, text) {
	const { answer, choice, tokenAnswer } = box.dataset;
	const ref = box.posed || answer;
	const right = ref ? live.at(ref) : choice || box.querySelector(`[data-token="${tokenAnswer}"]`).textContent;
	if (right === undefined) return ["none"];
	const number = reading(text);
	const word = text.trimEnd().replaceAll(" ", "␣");
	const is = (value) => (ref ? near(number, value) : value === word || value === `␣${word}`);
	// What a calculator gives from the printed numbers is right, too.
	const calculated = ref && !isShort(right) && reading(fromPrinted(live, ref) || "");
	const isPrinted = ref && text === shown(right);
	if (is(right) || isPrinted || (calculated && Math.abs(number - calculated) < 0.00051)) return ["right"];
	if (ref && !isFinite(number)) return ["unread"];
	const isMet = (said) => is(ref ? parseFloat(said.value) : said.textContent);
	const trap = [...box.querySelectorAll(".traps li")].find((li) => isMet(li.querySelector("data, .token, b")));
	const slip = trap || (ref && replyTo(slipAt(ref, is)));
	if (slip) return ["slip", slip];
	const vocabularies = [data, ...Object.values(data.runs)].flatMap(({ vocabulary = [] }) => vocabulary);
	if (!ref && !choice && !vocabularies.some(is)) return ["no-token"];
	return [Math.abs(number / right - 1) < 0.05 ? "close" : box.querySelector(".hint").open ? "again" : "miss"];
}

document.addEventListener("submit", (event) => {
	event.preventDefault();
	const { elements, parentElement: box } = event.target;
	const [key, slip] = judge(box, elements.typed.value);
	const said = [replyTo(key), slip].filter(Boolean).map((node) => make("p", {}, ...node.cloneNode(true).childNodes));
	const output = box.querySelector("output");
	output.replaceChildren(...said);
	output.className = key;
	if (key === "miss") box.querySelector(".hint").open = true;
	if (key === "right") box.classList.add("done");
	record();
});

let exercise = byId("exercise");
function pose(ref) {
	const { trace, name } = live.find(ref);
	const [question, hint, answer] = exercise.querySelectorAll("div");
	const { title } = trace.steps[name];
	question.replaceChildren(
		make("p", {}, structure(title), ", in the text ", tokenNode(trace.tokens.join(" ")), ":"),
		make("p", { class: "working" }, ...workedNodes(live, ref).slice(0, -1), "?"),
	);
	answer.replaceChildren(make("p", { class: "working" }, ...workedNodes(live, ref)));
	if (here) hint.replaceChildren(...sentenceNodes(live, ref));
	exercise.posed = ref;
	setStops();
}
/** The refs of all entries of a value. */
const entriesOf = (ref) => {
	const value = live.at(ref);
	return value?.shape ? [...Array(value.shape[0]).keys()].flatMap((i) => entriesOf(`${ref}.${i}`)) : [ref];
};
const any = (list) => list[Math.floor(Math.random() * list.length)];
/** Asks for some number that is calculated on this page, of a run that makes a difference; on page 1 for an id. */
DO.another = () => {
	for (let tries = 0; tries < 999; tries++) {
		const run = any(Object.keys(data.runs).filter((name) => name !== "play"));
		const steps = Object.values(live.trace(run).steps).filter((step) => step.page === here + 1 && step.symbol);
		const name = any(steps)?.name;
		const entry = explain(live, any(entriesOf(`${run}/${name}`)));
		if (!entry) continue;
		const operands = leaves(entry.expression || {}).map(({ value }) => value);
		const isEasy = operands.filter((v) => v && isFinite(v)).length * 2 <= operands.length; // 0 + 0
		const isLikeMain = run !== "main" && entry.value === live.at(entry.ref.replace(/.*\//, ""));
		if (isLikeMain || (here ? isEasy || !closingPlaces(entry) : name !== "ids")) continue;
		exercise.replaceWith((exercise = byId("exercise-form").content.querySelector("section").cloneNode(true)));
		pose(entry.ref);
		return exercise.querySelector("input").focus();
	}
};

// Old verdicts go, and so does a trap that has become the right answer.
document.addEventListener("toy", () => each(".try output", (output) => output.replaceChildren()));
document.addEventListener("shown", () => {
	each(".check[data-answer]", (box) => {
		const right = shown(live.at(box.dataset.answer) ?? NaN);
		for (const trap of box.querySelectorAll(".traps li")) trap.hidden = trap.querySelector("data").textContent === right;
	});
	if (live.find(exercise?.posed || "")) pose(exercise.posed);
});

const checkBoxes = within(".check");
const pathWords = [...document.querySelectorAll(".path .words")];
const here = pathWords.findIndex((words) => words.closest("[aria-current]"));
/** A digit for each box of a page: 1 when done. Storage may be missing, full, or hold anything. */
function stored(page, digits = "") {
	try {
		return (localStorage[`step ${page}`] = digits || localStorage[`step ${page}`] || "");
	} catch {
		return digits;
	}
}
/** Keep what is done, and show it on the path. */
function record() {
	const own = checkBoxes.map((box) => Number(box.matches(".done"))).join("");
	pathWords.forEach((words, i) => {
		const boxes = stored(i, i === here ? own : "");
		const done = boxes.split("1").length - 1;
		words.dataset.done = boxes && `${done} of ${boxes.length} done`;
		words.parentNode.style.setProperty("--done", boxes && done / boxes.length);
	});
}
checkBoxes.forEach((box, k) => box.classList.toggle("done", stored(here)[k] === "1"));
record();
