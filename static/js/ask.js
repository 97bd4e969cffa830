// Ask a number: a note beside it says how it was made and what uses it. A weight is changed there.
"use strict";

const NUMBER = ":is(data, tspan)[data-ref]"; // What is inside a formula has no focus: a formula is one thing.
const askNote = make("section", { class: "ask", role: "dialog", "aria-labelledby": "asked", tabindex: -1, hidden: "" });
document.body.append(askNote);
let askTrail = []; // The refs asked one after the other,
let askedAt; // and the mark on the page where that began.

/** The places on the page of a number, or of numbers whose refs begin so. */
const marksOf = (ref, like = "") => [...document.querySelectorAll(`main [data-ref${like}="${ref}"]`)];
const isWorked = (mark) => mark.closest(".worked")?.dataset.worked === mark.dataset.ref;
const inRun = (ref, path) => ref.slice(0, ref.indexOf("/") + 1) + path.join(".");
const stepOf = (ref, { trace, name } = live.find(ref)) => trace.steps[name];

/** The refs that a number is made from; where it was looked up, also the id that chose it. */
function sourcesOf(runs, ref) {
  const { expression } = explain(runs, ref);
  const { trace, name, index } = runs.find(ref);
  const { op, inputs } = trace.steps[name];
  const row = { rows: index.slice(0, -1), pick: index }[op];
  const chosen = row && !(name in trace.patch) ? [inRun(ref, [...split(trace.values, inputs[1]).flat(), ...row])] : [];
  return [...new Set([...numbersOf(expression || {}), ...chosen])];
}

/** The refs that are made from one, of values that have a symbol, and whether there may be more. */
function usersOf(runs, ref) {
  const { trace, name, index } = runs.find(ref);
  const users = [];
  let work = 4000;
  for (const { name: made, symbol, inputs, via } of Object.values(trace.steps)) {
    const from = [...inputs, ...via, `${trace.patch[made]}`.replace(".T", "")];
    if (!symbol || !trace.values[made] || !from.some((input) => split(trace.values, input)?.[0] === name)) continue;
    const { shape, data } = trace.values[made];
    for (let i = data.length; i--; ) {
      const place = [Math.floor(i / (shape[1] || 1)), i % shape[1]].slice(0, shape.length);
      // An entry of a table shares an index with all that it is made from.
      if (shape[1] && index[0] >= 0 && !place.some((n) => index.includes(n))) continue;
      const user = inRun(ref, [made, ...place]);
      const sources = sourcesOf(runs, user);
      work -= sources.length;
      if (sources.includes(ref)) users.push(user);
      if (work < 0 || users.length > 24) return [users.slice(0, 24), true];
    }
  }
  return [users, false];
}

/** A number's best place on the page: where it is worked, in a table, anywhere; else its row, else the top. */
function placeOf(ref) {
  const all = [...marksOf(ref), ...marksOf(ref.replace(/\d+$/, ""), "^"), document.querySelector("h1")];
  const seen = all.filter((mark) => !mark.closest("details:not([open])"));
  const find = (test) => seen.find((mark) => mark.dataset.ref === ref && test(mark));
  return find(isWorked) || find((mark) => mark.closest("td")) || seen[0];
}

/** Open the note for a number. Inside the note the trail goes on, or back to where it has been. */
function ask(ref, mark) {
  if (!explain(live, ref)) return;
  if (!askNote.contains(mark)) {
    askTrail = [];
    askedAt = mark || placeOf(ref);
    if (!mark) askedAt.scrollIntoView({ block: "center", behavior: "instant" });
  }
  if (askTrail.includes(ref)) askTrail.length = askTrail.indexOf(ref);
  askTrail.push(ref);
  askNote.hidden = false;
  askNote.replaceChildren(...askHead(ref), make("div"));
  showAsked();
  const field = matchMedia("(pointer: fine)").matches && askNote.querySelector("input");
  (field || askNote).focus({ preventScroll: true });
  if (field) field.select();
}

const askLine = (lead, refs, end = "") => {
  const button = (ref) => make("button", { "data-ask": ref, title: stepOf(ref).title }, ...labelNodes(live, ref));
  return refs.length ? make("p", { class: "refs" }, lead, ...refs.map(button), end) : "";
};

/** What stays while the toy changes: the trail, the heading, the field of a weight. */
function askHead(ref) {
  const press = (key, sign) => make("button", { "data-key": key, "aria-label": `${sign}0.1` }, sign);
  const attributes = { "data-edit": ref, "aria-labelledby": "asked", value: current(ref), autocomplete: "off" };
  const field = make("input", attributes);
  const fault = make("span", { class: "fault", role: "status", "data-fault": ref });
  return [
    askLine("←", askTrail.slice(0, -1)),
    make("h2", { id: "asked" }, ...labelNodes(live, ref), " ", make("small", {}, stepOf(ref).title)),
    make("button", { class: "shut", "aria-label": "Close" }, "×"),
    isEditable(ref) ? make("p", { class: "edit" }, press("ArrowDown", MINUS), field, press("ArrowUp", "+"), fault) : "",
  ];
}

/** What follows the toy: how the number is made, what it was, what uses it, where it is worked. */
function showAsked() {
  const ref = askTrail.at(-1);
  const told = explain(live, ref);
  if (!told) return closeAsk();
  const sources = sourcesOf(live, ref);
  const [users, more] = usersOf(live, ref);
  const [before, { page }] = [shipped.at(ref), stepOf(ref)];
  const link = (file, words) => make("a", { href: file + stateHash(`at=${ref}`) }, words);
  const step = document.querySelector(`.path li:nth-child(${page}) a:not([aria-current])`);
  const here = marksOf(ref).some(isWorked);
  const parts = () => [...askNote.querySelectorAll(`input, button, a, ${NUMBER}`)];
  const put = isEditable(ref) && before !== told.value ? make("button", { "data-put": ref }, "Put back") : "";
  const focused = parts().indexOf(document.activeElement);
  askNote.lastChild.replaceChildren(
    make("p", { class: "working" }, ...workedNodes(live, ref)),
    make("p", {}, ...sentenceNodes(live, ref), before === told.value ? "" : ` It was ${shown(before)}. `, put),
    told.expression?.operator ? "" : askLine("From", sources),
    askLine("Used by", users, more ? "and more" : ""),
    step ? link(step.getAttribute("href"), `Step ${page}, ${step.querySelector(".short").textContent}`) : "",
    here ? link("", "Worked on this page") : "",
  );
  light([ref], "asked");
  light(sources, "lit");
  setStops();
  placeAsk();
  if (focused >= 0) (parts()[focused] || askNote).focus({ preventScroll: true });
}

/** Set a class on the marks of these numbers alone. */
function light(refs, css) {
  for (const mark of document.querySelectorAll(`main .${css}`)) mark.classList.remove(css);
  for (const mark of refs.flatMap((ref) => marksOf(ref))) mark.classList.add(css);
}

/** Below its number, or above where only there is room; on a small screen a sheet at the bottom (style.css). */
function placeAsk() {
  if (!askedAt.isConnected) askedAt = placeOf(askTrail[0]);
  const at = askedAt.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const { offsetWidth, offsetHeight, style } = askNote;
  const below = at.bottom + 8;
  const above = at.top - 8 - offsetHeight;
  style.setProperty("--x", `${scrollX + Math.max(8, Math.min(at.left - 16, clientWidth - offsetWidth - 8))}px`);
  style.setProperty("--y", `${scrollY + (above > 0 && below + offsetHeight > clientHeight ? above : below)}px`);
  const note = askNote.getBoundingClientRect();
  const isSheet = getComputedStyle(askNote).position === "fixed";
  scrollBy(0, Math.max(0, isSheet ? below - note.top : note.bottom + 8 - clientHeight));
}

function closeAsk(giveBack = true) {
  if (askNote.hidden) return;
  askNote.hidden = true;
  light([], "asked");
  light([], "lit");
  if (giveBack) (askedAt.isConnected ? askedAt : placeOf(askTrail[0])).focus({ preventScroll: true });
}

/** Numbers with one tab stop: of a table, figure, formula or answer, else of the text under one heading. */
function markGroups() {
  const groups = new Map();
  let heading;
  for (const item of document.querySelectorAll(`h1, h2, h3, ${NUMBER}`)) {
    if (!item.dataset.ref) groups.set((heading = item), []);
    else {
      const key = item.closest("table, figure, .formula, details, .ask") || heading;
      groups.set(key, groups.get(key) || []).get(key).push(item);
    }
  }
  return [...groups.values()];
}
function setStops(of = markGroups(), stop = null) {
  for (const group of of) {
    const first = stop || group.find((mark) => mark.tabIndex === 0) || group[0];
    for (const mark of group) {
      mark.tabIndex = mark === first ? 0 : -1;
      mark.setAttribute("role", "button");
      mark.setAttribute("aria-haspopup", "dialog");
      mark.classList.toggle("editable", isEditable(mark.dataset.ref));
    }
  }
}

/** Where a key leads from a number. */
function nextMark(group, mark, key) {
  const at = group.indexOf(mark);
  const column = (other) => other.closest("td, th")?.cellIndex;
  const inColumn = (other) => other.closest("tr") !== mark.closest("tr") && column(other) === column(mark);
  if (key === "ArrowUp") return group.slice(0, at).findLast(inColumn);
  if (key === "ArrowDown") return group.slice(at).find(inColumn);
  return group[{ ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: group.length - 1 }[key]];
}

document.addEventListener("click", (event) => {
  const [mark, button, control] = ["[data-ref]", "button", "a, button, input, select, label, summary"].map((what) =>
    event.target.closest(what),
  );
  if (mark) return ask(mark.dataset.ref, mark);
  if (!event.composedPath().includes(askNote)) return closeAsk(!control);
  if (!button) return;
  const { ask: ref, key, put } = button.dataset;
  if (ref) ask(ref, button);
  else if (key) askNote.querySelector("input").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  else if (put) {
    askNote.focus(); // The button goes away.
    change({ set: { [put]: null } });
  } else closeAsk();
});

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Escape") closeAsk();
  const mark = target.closest?.(NUMBER);
  if (!mark || event.ctrlKey || event.metaKey || event.altKey) return;
  // The field that opens takes the character.
  if (/^[-−.\d]$/.test(key) && isEditable(mark.dataset.ref)) return ask(mark.dataset.ref, mark);
  const group = markGroups().find((marks) => marks.includes(mark));
  const next = nextMark(group, mark, key);
  if (next) {
    setStops([group], next);
    next.focus();
  } else if (key === "Enter" || key === " ") ask(mark.dataset.ref, mark);
  else return;
  event.preventDefault();
});

document.addEventListener("toy", () => askNote.hidden || showAsked());
// page.js makes numbers anew, some of them later than the others.
new MutationObserver((changes) => {
  if (!changes.some(({ addedNodes }) => [...addedNodes].some((node) => node.tagName))) return;
  setStops();
  if (!askNote.hidden) showAsked();
}).observe(document.getElementById("main"), { childList: true, subtree: true });
setStops();
