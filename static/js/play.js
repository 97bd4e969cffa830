// Controls that are more than an edit: a typed text's cuts (page 1), a table's order (page 6), the player (page 7).
"use strict";

const cutLists = [...document.querySelectorAll("[data-cuts]")].map((list) => [list, ...list.childNodes]);
const textNow = (runs = live) => runs.trace("main").tokens.join("");
let cutText = textNow();

/** Every cut of a text, up to the place where no token fits. Only the ids of the toy's own text can be asked. */
function showCuts(text) {
	const seen = text.replaceAll(" ", "␣");
	if (seen === cutText) return;
	cutText = seen;
	const [found, stuck] = cuts(seen);
	const all = stuck < 0 ? found : [...found, { start: stuck, fits: [] }];
	const fill = (item, { start, fits }, i) => {
		const [token] = fits;
		const left = seen.slice(start);
		const now = token || [...left][0];
		const id = data.vocabulary.indexOf(token);
		const parts = {
			number: [i + 1], done: [seen.slice(0, start)], now: [now], rest: [left.slice(now.length)], left: [left],
			fits: fits.flatMap((fit) => [tokenNode(fit), " "]), longest: [token ? tokenNode(token) : "no token fits"],
			id: [!token ? "–" : seen === textNow() ? numberNode(`ids.${i}`, id) : structure(`${id}`)],
		};
		for (const part of item.querySelectorAll("[data-cut]")) part.replaceChildren(...parts[part.dataset.cut]);
		item.classList.toggle("stuck", !token);
		return item;
	};
	for (const [list, ...built] of cutLists) {
		const first = built.find((node) => node.localName);
		const made = all.map((cut, i) => fill(first.cloneNode(true), cut, i));
		list.replaceChildren(...(seen === textNow(shipped) ? built : made));
	}
	setStops();
}

// The player draws with r. A seed other than 0 gives r anew for each turn: the same seed gives the same text.
const playing = (name) => live.at(`play/${name}`);
// For each turn the token's id, the probability with which it was drawn, and the dials then. A reload keeps them.
const picks = history.state || [];

/** The n-th number of mulberry32, with three decimals. */
function chance(seed, n) {
	let t = seed + Math.imul(n, 0x6d2b79f5);
	t = Math.imul(t ^ (t >>> 15), t | 1);
	t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
	return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * 1000) / 1000;
}

function whyOver() {
	if (live.spec("play").ids.at(-1) === data.end) return "The text ends with the end token: it is over.";
	return live.trace("play").tokens.length < POSITIONS ? "" : "No position is left: the text is over.";
}

function playOn(turns) {
	for (; turns && !whyOver(); turns--) {
		const { play } = live.state;
		const id = playing("play_drawn");
		const kept = [`play_p.${id}`, "play_r", "play_temperature", "play_k", "play_limit"];
		picks[play.length] = [id, ...kept.map(playing)];
		change({ play: [...play, id] });
	}
	history.replaceState(picks, "");
}

/** A row for each token that was appended. What is not known, as in a copied link, is a dash. */
function showPicks(place) {
	const last = live.trace("main").tokens.length - 1;
	const row = (id, turn) => {
		const ref = `play/probs.${last + turn}.${id}`;
		const then = picks[turn]?.[0] === id ? picks[turn].slice(1).map((v) => shown(v)) : [..."–––––"];
		const cells = [numberNode(ref, live.at(ref)), ...then].map((cell) => make("td", {}, cell));
		return make("tr", {}, make("th", { scope: "row" }, tokenNode(data.vocabulary[id])), ...cells);
	};
	place.replaceChildren(...live.state.play.map(row));
}

function showPlayer() {
	const seed = playing("play_seed");
	const due = seed ? chance(seed, live.state.play.length + 1) : playing("play_r");
	if (due !== playing("play_r")) return change({ set: { play_r: due } }, false);
	each("[data-picks]", showPicks);
	each("[data-says]", (place) => (place.textContent = whyOver()));
	each(".player", ({ classList }) => classList.toggle("over", Boolean(whyOver())));
	each("[data-turns]:not([data-turns='0'])", (button) => (button.disabled = Boolean(whyOver())));
	each("[data-edit=play_r]", (dial) => (dial.disabled = seed !== 0));
}

document.addEventListener("toy", () => {
	showCuts(textNow());
	if (GIVEN.play_seed) showPlayer();
});
document.addEventListener("input", ({ target }) => {
	if (target.dataset.edit === "text") showCuts(target.value);
});
document.addEventListener("change", ({ target }) => {
	if (!target.dataset.by) return;
	target.closest(".ordered").querySelector("[data-order]").dataset.order = target.dataset.by;
	document.dispatchEvent(new Event("toy"));
});
document.addEventListener("click", ({ target }) => {
	const { turns } = target.dataset;
	if (turns === "seed") change({ set: { play_seed: 1 + Math.floor(Math.random() * 9999) } });
	else if (turns === "0") change({ play: [] });
	else if (turns) playOn(Number(turns));
});
