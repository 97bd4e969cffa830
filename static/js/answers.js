// The check boxes: judges an answer, names a slip, makes exercises, keeps what is done.
// Replies and slips stand in the page (`another` in templates/boxes.html).
"use strict";

const NUMERAL = /^[-+]?(?=[.\d])(\d{1,3}(,\d{3})+|\d*)(\.\d*)?(e[-+]?\d+)?$/i;
const numeral = (text) => (NUMERAL.test(text) ? Number(text.replaceAll(",", "")) : NaN);
/** The numbers that a typed text may mean: two for 2,491; none for a word. */
function readings(text) {
  const plain = text.normalize("NFKC").replace(/[‐-―−]/g, "-").replace(/^[=≈~<> ]+|[. ]+$/g, "");
  const one = plain.replace(/ (?=\d{3}(?!\d))|(?<!\d) | (?!\d)/g, "");
  const other = one.replace(/[.,]/g, (mark) => (mark === "." ? "," : "."));
  return [one, other].map((way) => way.split(/[/⁄]/).map(numeral).reduce((a, b) => a / b)).filter(Number.isFinite);
}

/** Within one unit of the third decimal; what prints short, to all its digits. */
const near = (a, b) =>
  Number.isFinite(b) && Math.abs(a - b) <= (isShort(b) ? 0 : 1e-3) + 1e-9 * (1 + Math.abs(b));

const replyTo = (key) => byId("replies").content.querySelector(`[data-say=${key}]`);

/** What known slips give in the place of a number: [reply, value]. */
function slipsAt(ref) {
  const { trace, name, index } = live.find(ref);
  const at = (x, i = index) => x.data[offset(x.shape, i)];
  const carriedOut = ([op, ...forms]) =>
    OPS[op](...forms.map((form) => (form.map ? carriedOut(form) : trace.values[form] || array([], [form]))));
  const known = JSON.parse(byId("replies").dataset.slips).filter(([of]) => of === name);
  const rows = trace.steps[name].axes[0] === "position" ? [-1, 1] : [];
  return [
    ["sign", -live.at(ref)],
    ...known.map(([, reply, form]) => [reply, at(carriedOut(form))]),
    ...rows.map((by) => ["row", at(trace.values[name], [index[0] + by, ...index.slice(1)])]),
  ];
}

/** The ref of the number that a box asks for. page.js keeps it, like all refs of the box, to the text. */
const answerOf = (box) => box.posed || box.dataset.answer;
/** What a box asks for now: a number, the letter of a choice, or the text of a token. */
function asked(box) {
  if (answerOf(box)) return live.at(answerOf(box));
  return box.dataset.choice || box.querySelector(`[data-token="${box.dataset.tokenAnswer}"]`).textContent;
}

/** The reply to an answer, and what names the slip. */
function judge(box, text) {
  const right = asked(box);
  const ref = answerOf(box);
  const trap = (met) => [...box.querySelectorAll(".traps li")].find(met);
  if (!ref) {
    const { choice } = box.dataset;
    const token = text.trimEnd().replaceAll(" ", "␣");
    const said = choice ? text : [token, `␣${token}`].find((one) => data.vocabulary.includes(one));
    const says = (li) => (li.dataset.choice || li.querySelector(".token").textContent) === said;
    if (!said) return [choice ? "choice" : "token"];
    return said === right ? ["right"] : ["miss", trap(says)];
  }
  if (right === undefined) return ["none"];
  const numbers = readings(text);
  const is = (value) => numbers.some((a) => near(a, value));
  const calculated = parseFloat(fromPrinted(live, ref)?.replace(MINUS, "-"));
  const isCalculated = numbers.some((a) => Math.abs(a - calculated) <= 5e-4);
  if (text === shown(right) || is(right) || isCalculated) return ["right"];
  if (!numbers.length) return ["number"];
  const met = trap((li) => is(live.at(li.querySelector("data").dataset.ref)));
  const slip = slipsAt(ref).find(([, value]) => is(value));
  if (met || slip) return ["miss", met || replyTo(slip[0])];
  const shorter = Array.from({ length: 9 }, (_, k) => Number(right.toPrecision(k + 1)));
  return [numbers.some((a) => shorter.includes(a)) ? "rounded" : "miss"];
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches(".try")) return;
  event.preventDefault();
  const box = form.parentElement;
  const hint = box.querySelector(".hint");
  let [key, slip] = judge(box, new FormData(form).get("typed") || "");
  if (key === "right") box.classList.add("done");
  else if (slip) key = "slip";
  else if (key === "miss" && hint.open) key = "again";
  else if (key === "miss") hint.open = true;
  const said = [replyTo(key), slip].filter(Boolean).map((node) => make("p", {}, ...node.cloneNode(true).childNodes));
  box.querySelector("output").replaceChildren(...said);
  box.asked = asked(box);
  record();
});

const exercise = document.querySelector(".exercise");
const any = (list) => list[Math.floor(Math.random() * list.length)];
/** Some number that is calculated on this page, and not just zero or one of its operands; on page 1 an id. */
function anyRef() {
  for (let tries = 0; tries < 999; tries++) {
    const run = any(Object.keys(data.runs));
    const { steps, values } = live.trace(run);
    const isAsked = ({ page, symbol, name }) =>
      page === here + 1 && symbol && (here ? run !== "play" || page === 7 : name === "ids" && data.runs[run].ids);
    const { name } = any(Object.values(steps).filter(isAsked)) || {};
    if (!values[name]) continue;
    const index = values[name].shape.map((n) => Math.floor(Math.random() * n));
    const ref = inRun(`${run}/`.replace("main/", ""), [name, ...index]);
    const { value, expression } = explain(live, ref);
    const isPlain = () => !value || numbersOf(expression).some((from) => live.at(from) === value);
    if (!here || (workedKind(live, ref) === "line" && !isPlain())) return ref;
  }
}

/** Show the exercise for a ref. Its numbers carry no refs: they are no marks of the page. */
function pose(ref) {
  const { trace, name } = live.find(ref);
  const [question, hint, answer] = exercise.querySelectorAll("div");
  const line = workedNodes(live, ref, (_, value, places) => (places ? withPlaces : shown)(value, places));
  const asking = [...line.slice(0, -1).map((node) => node.cloneNode?.(true) || node), "?"];
  const tokens = trace.tokens.flatMap((token) => [" ", tokenNode(token)]);
  question.replaceChildren(
    make("p", {}, structure(trace.steps[name].title), ", in the text", ...tokens, ":"),
    make("p", { class: "working" }, ...asking),
  );
  answer.replaceChildren(make("p", { class: "working" }, ...line));
  if (here) hint.replaceChildren(...sentenceNodes(live, ref));
  exercise.posed = ref;
  exercise.hidden = false;
  renew(exercise);
}

/** An old verdict goes. */
function renew(box) {
  box.querySelector("output").replaceChildren();
  box.asked = asked(box);
}

document.addEventListener("toy", () => {
  if (exercise?.posed && live.find(exercise.posed)) pose(exercise.posed);
  each(".check", (box) => Object.is(box.asked, asked(box)) || renew(box));
});

document.addEventListener("click", ({ target }) => {
  if (target.matches("[data-forget]")) {
    each(".done", (box) => box.classList.remove("done"));
    record([]);
  }
  const ref = target.matches("[data-another]") && anyRef();
  if (!ref) return;
  exercise.querySelectorAll("details").forEach((part) => (part.open = false));
  exercise.classList.remove("done");
  exercise.querySelector("form").reset();
  pose(ref);
  exercise.querySelector("input").focus();
});

// Progress: for each page seen, which boxes are done. Storage may be missing, full, or hold anything.
const checkBoxes = [...document.querySelectorAll(".check")];
const pathLinks = [...document.querySelectorAll(".path a")];
const here = pathLinks.findIndex((link) => link.hasAttribute("aria-current"));

function remembered() {
  try {
    return [].concat(JSON.parse(localStorage.sevenSteps));
  } catch {
    return [];
  }
}

function record(pages = remembered()) {
  if (here >= 0) pages[here] = checkBoxes.map((box) => box.matches(".done"));
  pathLinks.forEach((link, i) => {
    link.querySelector(".progress")?.remove();
    if (!Array.isArray(pages[i])) return;
    const done = pages[i].filter(Boolean).length;
    const all = pages[i].length;
    const about = done < all ? { class: "progress" } : { class: "progress full" };
    link.querySelector(".words").append(make("span", about, `${done < all ? "" : "✓ "}${done} of ${all} done`));
  });
  try {
    localStorage.sevenSteps = JSON.stringify(pages);
  } catch {
    // It is shown all the same.
  }
}

Object.values(remembered()[here] || []).forEach((done, k) => checkBoxes[k]?.classList.toggle("done", !!done));
record();
