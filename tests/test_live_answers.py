"""Every box to check oneself takes an answer and judges it; exercises without end; progress, where storage works."""

import json
import math
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_pages import change
from pages import STEPS, of_class, only, read, text, with_attribute
from playwright.sync_api import Locator, Page, expect
from toys import shipped_runs

from sevensteps.explain import explain
from sevensteps.expression import numbers
from sevensteps.printing import shown
from sevensteps.web.marks import Marks
from sevensteps.web.slips import slips
from sevensteps.web.tables import decimal_text, from_printed

RUNS = shipped_runs()
MAIN = RUNS.traces["main"]
V = MAIN.values
LETTERS = "abc"


def visit(page: Page, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())


#: Every page with check boxes.
BOXED = (*STEPS, "needle-and-dial", "odds")


def box(page: Page, number: int) -> Locator:
    return page.locator(f"#check-{number}")


def answer(box: Locator, typed: str) -> str:
    """Answer as a reader does; the reply."""
    if box.get_by_role("radio").count():
        box.get_by_role("radio").nth(LETTERS.index(typed)).check()
    else:
        box.get_by_label("Your answer").fill(typed)
    box.get_by_role("button", name="Check").click()
    return box.get_by_role("status").inner_text()


def right_answers(page: Element) -> list[str]:
    """What each box of a built page wants to hear: a number as printed, a token, or a letter."""
    answers = []
    for one in of_class(page, "check"):
        told = only(one, "answer")
        if "data-answer" in one.attrib:
            answers.append(shown(float(RUNS[one.get("data-answer")])))
        elif "data-token-answer" in one.attrib:
            answers.append(text(next(t for t in with_attribute(told, "data-token"))))
        else:
            answers.append(re.search("The answer is ([abc])", text(told))[1])
    return answers


# Right and wrong, on every page.


@pytest.mark.parametrize("name", BOXED)
def test_every_box_takes_the_right_answer_and_is_done(
    page: Page, site: Path, pages: dict[str, Element], name: str
) -> None:
    visit(page, site, name)
    rights = right_answers(pages[name])
    for k, right in enumerate(rights):
        assert answer(box(page, k + 1), right) == "Well done.", right
        expect(box(page, k + 1)).to_have_class("check done")
    assert len(rights) >= (3 if name in STEPS else 2)


@pytest.mark.parametrize("name", BOXED)
def test_a_number_worked_out_from_the_printed_operands_is_right_too(
    page: Page, site: Path, pages: dict[str, Element], name: str
) -> None:
    visit(page, site, name)
    asked = [one for one in of_class(pages[name], "check") if "data-answer" in one.attrib]
    for one in asked:
        calculated = from_printed(RUNS, one.get("data-answer"))
        if calculated is not None:
            assert answer(page.locator(f"#{one.get('id')}"), decimal_text(calculated)) == "Well done."
    assert asked


@pytest.mark.parametrize("name", BOXED)
def test_every_trap_and_every_wrong_choice_is_told_what_went_wrong(
    page: Page, site: Path, pages: dict[str, Element], name: str
) -> None:
    visit(page, site, name)
    for one in of_class(pages[name], "check"):
        place = page.locator(f"#{one.get('id')}")
        for trap in [item for traps in of_class(one, "traps") for item in traps]:
            answer(place, text(trap).partition(":")[0])
            reply = "".join(place.get_by_role("status").text_content().split())
            assert reply == "Notyet." + "".join(text(trap).split())
        if "data-answer" not in one.attrib:
            continue
        assert re.match("Not yet", answer(place, "77.7"))
    assert of_class(pages[name], "traps")


def test_the_first_unknown_miss_opens_the_hint_and_the_second_offers_the_answer(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    hint, worked = box(page, 1).locator(".hint div"), box(page, 1).locator(".answer > div")
    expect(hint).to_be_hidden()
    assert answer(box(page, 1), "17") == "Not yet. The hint is open now."
    expect(hint).to_be_visible()
    assert answer(box(page, 1), "18") == "Not yet. The answer is there when you want it, worked out."
    expect(worked).to_be_hidden()
    expect(box(page, 1)).to_have_class("check")


@pytest.mark.parametrize(
    ("name", "number", "typed", "reply"),
    [
        ("3-query-key-value", 1, "half", "I cannot read a number there"),
        ("3-query-key-value", 1, "1/0", "I cannot read a number there"),
        ("3-query-key-value", 1, "0.65 0.7", "I cannot read a number there"),
        ("6-output", "[data-token-answer]", "mouse", "There is no such token here."),
    ],
)
def test_what_cannot_be_read_is_refused_kindly_and_counts_as_no_miss(
    page: Page, site: Path, name: str, number: int | str, typed: str, reply: str
) -> None:
    visit(page, site, name)
    place = box(page, number) if isinstance(number, int) else page.locator(f".check{number}")
    assert answer(place, typed).startswith(reply)
    expect(place.locator(".hint div")).to_be_hidden()


@pytest.mark.parametrize("number", [1, 3])
def test_no_answer_is_asked_for_by_the_browser(page: Page, site: Path, number: int) -> None:
    visit(page, site, "3-query-key-value")
    box(page, number).get_by_role("button", name="Check").click()
    assert not box(page, number).locator("form").evaluate("form => form.checkValidity()")
    expect(box(page, number).get_by_role("status")).to_be_empty()
    expect(box(page, number).locator(".hint div")).to_be_hidden()


@pytest.mark.parametrize("typed", ["0.98", "1,0", "98e-2"])
def test_an_answer_with_too_few_places_is_close(page: Page, site: Path, typed: str) -> None:
    assert shown(V["logits"][1, 10]) == "0.985"
    visit(page, site, "6-output")
    assert answer(box(page, 1), typed) == "Close. Give three decimals, or all if there are fewer."
    expect(box(page, 1)).to_have_class("check")


# What a person types.


MINUS_A_HALF = [
    "-0.5", "−0.5", "–0.5", "‐0.5", "- 0.5", "−,5", "-0,5", "-.5", "-1/2", "− 1 / 2", " −0.50 ", "-5e-1", "-0.5.",
    "2/-4", "−\u20090.5",
]  # fmt: skip


@pytest.mark.parametrize("typed", MINUS_A_HALF)
def test_minus_a_half_in_every_spelling(page: Page, site: Path, typed: str) -> None:
    visit(page, site, "2-embeddings")
    assert answer(box(page, 2), typed) == "Well done."


@pytest.mark.parametrize("typed", ["−0.501", "-0.5000001", "0.5", "-5"])
def test_a_short_value_is_wanted_exactly(page: Page, site: Path, typed: str) -> None:
    visit(page, site, "2-embeddings")
    assert answer(box(page, 2), typed) != "Well done."


@pytest.mark.parametrize(("off", "is_right"), [(0.001, True), (-0.001, True), (0.0012, False), (-0.0012, False)])
@pytest.mark.parametrize(("name", "number"), [("3-query-key-value", 4), ("4-mask-and-heads", 2), ("6-output", 4)])
def test_a_long_value_is_wanted_to_the_third_decimal(
    page: Page, site: Path, name: str, number: int, off: float, is_right: bool
) -> None:
    visit(page, site, name)
    printed = float(right_answers(read(site / f"{name}.html"))[number - 1])
    assert (answer(box(page, number), f"{printed + off:.4f}") == "Well done.") == is_right


@pytest.mark.parametrize("typed", ["␣cat", " cat", "cat", "cat ", "␣cat "])
def test_a_token_with_its_space_in_any_spelling_or_without(page: Page, site: Path, typed: str) -> None:
    visit(page, site, "6-output")
    assert answer(box(page, 6), typed) == "Well done."


@st.composite
def spelled(draw: st.DrawFn) -> tuple[str, float]:
    """A number as a person may type it, and what it is."""
    whole = draw(st.sampled_from(["", "0", "7", "42", "318", "1042", "60317", "2500000"]))
    tail = draw(st.text("0123456789", max_size=6)) or ("" if whole else "5")
    power = draw(st.sampled_from(["", "", "", "e-3", "E2", "e+1"]))
    sign = draw(st.sampled_from(["", "", "+", "-", "−", "–", "‐", "- "]))
    group = draw(st.sampled_from(["", " ", "\u00a0", "\u2009", "\u202f"]))
    digits = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", group, whole)
    point = draw(st.sampled_from(".,")) if tail else ""
    before, behind = draw(st.sampled_from(["", " "])), draw(st.sampled_from(["", " ", "."]))
    value = float(f"{whole or 0}.{tail or 0}{power}") * (1 if sign in ("", "+") else -1)
    return f"{before}{sign}{digits}{point}{tail}{power}{behind}", value


@pytest.fixture
def loaded(page: Page, site: Path) -> Page:
    visit(page, site, "2-embeddings")
    return page


EQUALS = st.sampled_from(["", "", "=", "= ", " ="])
many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(EQUALS, spelled())
def test_a_number_is_read_in_any_spelling(loaded: Page, equals: str, case: tuple[str, float]) -> None:
    typed, value = case
    assert loaded.evaluate("typed => reading(typed)", equals + typed) == value


@many
@given(EQUALS, spelled(), spelled())
def test_a_fraction_is_read(loaded: Page, equals: str, above: tuple[str, float], below: tuple[str, float]) -> None:
    up, down = (re.sub("[ .]+$", "", typed) for typed, _ in (above, below))
    read = loaded.evaluate("typed => reading(typed)", f"{equals}{up}/{down}")
    assert (read == above[1] / below[1]) if below[1] else not np.isfinite(read)


@many
@given(st.text(max_size=12) | st.text("0123456789.,-−/e ␣", max_size=9))
def test_a_text_without_digits_is_no_number(loaded: Page, typed: str) -> None:
    read = loaded.evaluate("typed => reading(typed)", typed)
    assert not np.isfinite(read) or re.search(r"\d", typed, re.ASCII)


# Slips: each is worked out here with numpy.


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


SCORES = V["attn.scaled.0"]
MASKED = np.where(np.tri(len(SCORES), dtype=bool), SCORES, -np.inf)
ROW = SCORES[2, :3]
NO_ATTENTION = RUNS.traces["attention_off"].values
#: page, number of the box, what somebody gets, words of the reply
IN_BOXES = {
    "variance by d - 1": ("3-query-key-value", 1, np.std(V["resid_pre"][2], ddof=1), "LayerNorm divides by"),
    "√d, not √d_head": ("3-query-key-value", 2, V["attn.dots.0"][3, 2] / np.sqrt(4), "or by"),
    "sign lost": ("3-query-key-value", 2, -SCORES[3, 2], "the sign is not"),
    "softmax over the column": ("4-mask-and-heads", 1, softmax(MASKED, 0)[2, 2], "along the row"),
    "mask forgotten": ("4-mask-and-heads", 1, softmax(SCORES, 1)[2, 2], "The mask comes first"),
    "−∞ taken as 0": ("4-mask-and-heads", 1, np.exp(ROW[2]) / (np.exp(ROW).sum() + 2), "A masked row adds nothing"),
    "e^x left out of a softmax": ("4-mask-and-heads", 1, ROW[2] / ROW.sum(), "Raise e"),
    "positions from 0, in P": ("2-embeddings", 3, V["W_E"][2, 0] + V["W_pos"][2, 0], "Positions count from"),
    "positions from 0, in x": ("2-embeddings", 3, V["resid_pre"][2, 0], "Positions count from"),
    "post-norm": (
        "5-block", 4,
        (NO_ATTENTION["resid_post"][4, 3] - NO_ATTENTION["resid_post"][4].mean()) / NO_ATTENTION["resid_post"][4].std(),
        "the norm comes before each branch",
    ),
    "no norm before W_1": ("5-block", 1, V["resid_mid"][3] @ V["W_in"][:, 1] + V["b_in"][1], "LayerNorm was left out"),
    "no norm before W_U": ("6-output", 1, V["resid_post"][1] @ V["W_U"][:, 10], "The final norm comes first"),
    "W_U read as a row": ("6-output", 1, V["ln_final.normalized"][1] @ V["W_E"][10], "has a column for each token"),
    "log base 10": ("6-output", 4, -np.log10(V["probs"][4, 7]), "base ten"),
    "e^z left out": ("6-output", 4, -np.log(V["logits"][4, 7] / V["logits"][4].sum()), "Probabilities come from"),
    "ids from 1": ("1-tokens", 1, RUNS["dog/ids.1"] + 1, "counted the list from 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_BOXES)
def test_a_box_names_the_slip(page: Page, site: Path, case: str) -> None:
    name, number, value, words = IN_BOXES[case]
    visit(page, site, name)
    reply = answer(box(page, number), f"{value:.4f}")
    assert reply.startswith("Not yet.")
    assert words in " ".join(reply.split())


#: the reply's name: page, ref, what somebody gets
IN_EXERCISES = {
    "id": ("1-tokens", "ids.2", V["ids"][2] + 1),
    "sign": ("3-query-key-value", "ln1.centred.2.0", -V["ln1.centred"][2, 0]),
    "row": ("3-query-key-value", "ln1.mean.2", V["ln1.mean"][3]),
    "sample": ("3-query-key-value", "ln1.variance.2", np.var(V["resid_pre"][2], ddof=1)),
    "root": ("3-query-key-value", "attn.scaled.0.4.0", V["attn.dots.0"][4, 0] / 2),
    "column": ("3-query-key-value", "attn.pattern.0.2.1", softmax(MASKED, 0)[2, 1]),
    "mask": ("3-query-key-value", "attn.pattern.0.2.1", softmax(SCORES, 1)[2, 1]),
    "share": ("3-query-key-value", "attn.pattern.0.2.1", ROW[1] / ROW.sum()),
    "exp": ("6-output", "logits.exp.4.6", V["logits"][4, 6]),
    "log": ("6-output", "loss.2", -np.log10(V["probs.target"][2])),
    "row_of_e": ("6-output", "logits.4.8", V["ln_final.normalized"][4] @ V["W_E"][8]),
    "unnormed": ("6-output", "logits.4.8", V["resid_post"][4] @ V["W_U"][:, 8]),
    "normed": ("4-mask-and-heads", "resid_mid.4.1", V["ln2.normalized"][4, 1]),
    "bias": ("5-block", "mlp.pre.4.3", V["mlp.pre"][4, 3] - V["b_in"][3]),
}


@pytest.mark.parametrize("slip", IN_EXERCISES)
def test_an_exercise_names_the_slip(page: Page, site: Path, slip: str) -> None:
    name, ref, value = IN_EXERCISES[slip]
    visit(page, site, name)
    page.get_by_role("button", name="Another one").click()
    page.evaluate("ref => pose(ref)", ref)  # a reader waits until chance brings it
    words = page.evaluate("slip => replyTo(slip).textContent", slip)
    assert answer(page.locator(".exercise"), f"{value:.4f}").split() == ["Not", "yet.", *words.split()]


@pytest.mark.parametrize("name", STEPS)
def test_a_page_has_the_words_of_its_slips_and_no_others(pages: dict[str, Element], name: str) -> None:
    replies = pages[name].find(".//template[@id='replies']")
    said = [reply.get("data-say") for reply in replies.iter("p") if reply.get("data-say")]
    known = {reply for own in json.loads(replies.get("data-slips")).values() for reply in own}
    assert known == set(said) & {reply for _, reply, _ in slips(MAIN.steps, 4)}
    assert len(set(said)) == len(said)


def test_no_reply_speaks_of_layer_norm_before_the_page_that_explains_it(pages: dict[str, Element]) -> None:
    names = [name for name in STEPS if "LayerNorm" in text(pages[name].find(".//template[@id='replies']"))]
    assert names[0] == "3-query-key-value"


# Exercises.


def assert_worth_asking(ref: str, name: str) -> None:
    """No 0 + 0, no e to −∞, and no run that makes no difference to the number."""
    run, _, rest = ref.rpartition("/")
    assert run != "play"
    if run and rest in set(MAIN.refs()):
        assert float(RUNS[ref]) != float(MAIN[rest])
    if name != STEPS[0]:
        expression = explain(*RUNS.find(ref)).expression
        assert expression is not None
        operands = [number.value for number in numbers(expression)]
        assert sum(bool(v) and math.isfinite(v) for v in operands) * 2 > len(operands)


@pytest.mark.parametrize("name", STEPS)
def test_twenty_exercises_of_a_page_ask_for_its_own_numbers_and_take_them(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    marks = Marks(RUNS, lambda: "")
    exercise = page.locator(".exercise")
    posed = set()
    for _ in range(20):
        page.get_by_role("button", name="Another one").click()
        ref = page.evaluate("exercise.posed")
        posed.add(ref)
        trace, value, _ = RUNS.find(ref)
        assert trace.steps[value].page == STEPS.index(name) + 1
        assert_worth_asking(ref, name)
        asking = exercise.locator(".working").first.text_content()
        line = unescape(re.sub("<[^>]*>", "", marks.worked(ref)))
        right = shown(float(RUNS[ref]))
        assert asking.split() == [*line.split()[:-1], "?"]
        assert answer(exercise, line.split()[-1]) == "Well done."
        assert answer(exercise, right) == "Well done."
        assert exercise.locator(".answer .working").text_content().split() == line.split()
    assert len(posed) > 5


def test_the_numbers_of_an_exercise_are_marks_like_others(page: Page, site: Path) -> None:
    visit(page, site, "3-query-key-value")
    page.locator("td [data-ref]").first.click()
    page.keyboard.press("Escape")
    for edit in ({}, {"set": {"W_E.0.1": 0.5}}):
        page.get_by_role("button", name="Another one").click()
        change(page, edit)
        mark = page.locator(".exercise .working [data-ref]").first
        expect(mark).to_have_attribute("role", "button")
        mark.click()
        expect(mark).to_have_class(re.compile(r"\basked\b"))
        expect(page.get_by_role("dialog")).not_to_contain_text("This page does not show it")
        page.keyboard.press("Escape")


def test_a_new_exercise_starts_afresh(page: Page, site: Path) -> None:
    visit(page, site, "3-query-key-value")
    expect(page.locator(".exercise")).to_have_count(0)
    page.get_by_role("button", name="Another one").click()
    answer(page.locator(".exercise"), "999")
    expect(page.locator(".exercise .hint div")).to_be_visible()
    page.get_by_role("button", name="Another one").click()
    expect(page.locator(".exercise .hint div")).to_be_hidden()
    expect(page.get_by_role("status")).to_have_text([""] * page.get_by_role("status").count())
    expect(page.locator(".exercise input")).to_have_value("")
    expect(page.locator(".exercise input")).to_be_focused()


# After a change of the toy.


def test_after_a_change_the_live_number_is_the_right_one_and_an_old_verdict_is_gone(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    answer(box(page, 1), shown(V["logits"][1, 10]))
    answer(box(page, 2), shown(V["ln_final.scale"][0]))
    change(page, {"set": {"W_U.0.10": 3}})
    expect(box(page, 1).get_by_role("status")).to_be_empty()
    expect(box(page, 1)).to_have_class("check done")
    old, new = V["logits"][1, 10], V["logits"][1, 10] + V["ln_final.normalized"][1, 0] * (3 - V["W_U"][0, 10])
    assert answer(box(page, 1), f"{old:.3f}").startswith("Not yet.")
    assert answer(box(page, 1), f"{new:.3f}") == "Well done."


def test_after_a_change_of_the_text_the_last_row_is_the_last_one_and_what_is_not_there_is_said(
    page: Page, site: Path
) -> None:
    visit(page, site, "6-output")
    change(page, {"text": "the cat"})
    odds = page.evaluate("Math.exp(live.at('logits.1.6') - live.at('logits.1.8'))")
    assert answer(box(page, 3), f"{odds:.3f}") == "Well done."
    visit(page, site, "5-block")
    page.goto((site / "4-mask-and-heads.html").as_uri() + "#text=the")
    page.reload()
    assert answer(box(page, 1), "0.035") == "This text has no such number."


def test_an_exercise_follows_a_change(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    page.get_by_role("button", name="Another one").click()
    page.evaluate("pose('logits.4.7')")
    change(page, {"set": {"W_U.1.7": 3}})
    expect(page.locator(".exercise .working").first).to_contain_text("× 3")
    new = page.evaluate("live.at('logits.4.7')")
    assert answer(page.locator(".exercise"), f"{new:.3f}") == "Well done."


# Progress.


def progress(page: Page) -> list[str]:
    """What the path says under each step."""
    said = "words => getComputedStyle(words, '::after').content.replaceAll('\"', '')"
    return [words.evaluate(said) for words in page.locator(".path .words").all()]


def test_progress_is_on_the_path_after_a_reload_and_on_the_next_page(
    page: Page, site: Path, pages: dict[str, Element]
) -> None:
    visit(page, site, "3-query-key-value")
    assert progress(page) == ["", "", "0 of 4 done", "", "", "", ""]
    for k, right in enumerate(right_answers(pages["3-query-key-value"])):
        assert progress(page)[2] == f"{k} of 4 done"
        answer(box(page, k + 1), right)
    assert progress(page)[2] == "4 of 4 done"
    page.reload()
    assert progress(page)[2] == "4 of 4 done"
    expect(box(page, 1)).to_have_class("check done")
    visit(page, site, "4-mask-and-heads")
    assert progress(page) == ["", "", "4 of 4 done", "0 of 4 done", "", "", ""]
    visit(page, site, "index")
    assert progress(page)[2:4] == ["4 of 4 done", "0 of 4 done"]


def test_progress_can_be_seen_on_a_phone(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    visit(page, site, "3-query-key-value")
    visit(page, site, "1-tokens")
    answer(box(page, 1), "999")
    says = "words => getComputedStyle(words, '::after').color"
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert page.locator(".path [aria-current] .words").evaluate(says) not in (paper, "rgba(0, 0, 0, 0)")
    circle = "circle => getComputedStyle(circle).backgroundImage.includes('conic-gradient')"
    rings = [number.evaluate(circle) for number in page.locator(".path .number").all()]
    assert rings == [False, False, True, False, False, False, False]


def test_a_symbol_of_an_exercise_keeps_its_letter(page: Page, site: Path) -> None:
    """P is another quantity than p."""
    visit(page, site, "6-output")
    page.get_by_role("button", name="Another one").click()
    for line in page.locator(".exercise .working").all():
        assert line.evaluate("line => getComputedStyle(line, '::first-letter').textTransform") == "none"


BROKEN = {
    "it throws when asked for": "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })",
    "it throws on read": """Object.defineProperty(window, "localStorage", { value:
      new Proxy({}, { get() { throw new Error("no"); }, set: () => true }) })""",
    "it throws on write": """Object.defineProperty(window, "localStorage", { value:
      new Proxy({}, { get: () => undefined, set() { throw new Error("full"); } }) })""",
    "it is not there": "Object.defineProperty(window, 'localStorage', { value: undefined })",
    **{
        f"it holds {rubbish}": f"for (let i = 0; i < 9; i++) localStorage['step ' + i] = {rubbish!r}"
        for rubbish in ("", "{", "null", "5", "[[true]]", "9" * 999)
    },
}


@pytest.mark.parametrize("broken", BROKEN)
def test_storage_that_throws_or_holds_rubbish_takes_nothing_down(page: Page, site: Path, broken: str) -> None:
    page.add_init_script(BROKEN[broken])
    for name in ("2-embeddings", "index", "1-tokens"):
        visit(page, site, name)
    assert answer(box(page, 1), "3") == "Well done."
    assert progress(page)[0] == "1 of 3 done"
    page.get_by_role("button", name="Another one").click()
    expect(page.locator(".exercise")).to_be_visible()
    change(page, {"set": {"W_E.2.0": 2}})
    assert answer(box(page, 1), "3") == "Well done."


# For everyone.


def test_a_box_and_an_exercise_by_keyboard_alone(page: Page, site: Path) -> None:
    visit(page, site, "3-query-key-value")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(selector)

    page.locator("#check-yourself").evaluate("heading => { heading.tabIndex = -1; heading.focus(); }")
    tab_to("#check-1 input")
    page.keyboard.type("0,65")
    page.keyboard.press("Enter")
    expect(box(page, 1).get_by_role("status")).to_have_text("Well done.")
    tab_to("#check-3 [type=radio]")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(box(page, 3).get_by_role("status")).to_have_text("Well done.")
    tab_to("[data-do=another]")
    page.keyboard.press("Enter")
    expect(page.locator(".exercise input")).to_be_focused()
    page.keyboard.type(page.evaluate("shown(live.at(exercise.posed))"))
    page.keyboard.press("Enter")
    expect(page.locator(".exercise").get_by_role("status")).to_have_text("Well done.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", STEPS)
def test_axe_finds_nothing_with_verdicts_and_an_exercise_shown(
    page: Page, site: Path, pages: dict[str, Element], name: str, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    visit(page, site, name)
    for k, one in enumerate(of_class(pages[name], "check")):
        traps = [item for traps in of_class(one, "traps") for item in traps]
        answer(box(page, k + 1), text(traps[0]).partition(":")[0] if traps else "the")
    answer(box(page, 1), right_answers(pages[name])[0])
    page.get_by_role("button", name="Another one").click()
    answer(page.locator(".exercise"), "half")
    results = Axe().run(page, options={"preload": False})
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("name", STEPS)
def test_a_phone_shows_verdicts_and_exercises_without_sideways_scroll(
    page: Page, site: Path, pages: dict[str, Element], name: str
) -> None:
    page.set_viewport_size({"width": 320, "height": 740})
    visit(page, site, name)
    for k, right in enumerate(right_answers(pages[name])):
        answer(box(page, k + 1), right)
    for _ in range(5):
        page.get_by_role("button", name="Another one").click()
        page.locator(".exercise .answer summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("name", STEPS)
def test_without_scripts_the_choices_and_which_is_right_are_there_and_no_field(
    new_page: Callable[..., Page], site: Path, name: str
) -> None:
    page = new_page(java_script_enabled=False)
    visit(page, site, name)
    expect(page.locator(".choices li").first).to_be_visible()
    for control in page.locator(".try :is(input, button), .another").all():
        expect(control).to_be_hidden()


@pytest.mark.parametrize("name", STEPS)
def test_choices_have_one_right_one_and_a_reply_to_each_other(site: Path, name: str) -> None:
    boxes = [one for one in of_class(read(site / f"{name}.html"), "check") if of_class(one, "choices")]
    assert boxes
    for one in boxes:
        letters = [choice.get("value") for choice in one.iter("input")]
        replied = [text(trap.find("b")) for trap in only(one, "traps")]
        assert letters == list("abc")
        assert sorted([one.get("data-choice"), *replied]) == letters


def test_the_right_choice_is_not_always_the_same_letter(pages: dict[str, Element]) -> None:
    rights = {one.get("data-choice") for page in pages.values() for one in of_class(page, "check")} - {None}
    assert rights == set(LETTERS)


def test_a_trap_that_a_switch_makes_the_right_answer_is_not_shown(page: Page, site: Path) -> None:
    visit(page, site, "4-mask-and-heads")
    trap = box(page, 1).locator(".traps li", has_text="later tokens included")
    box(page, 1).locator("summary", has_text="Answer").click()
    expect(trap).to_be_visible()
    change(page, {"off": ["mask_off"]})
    expect(trap).to_be_hidden()
    change(page, {"off": []})
    expect(trap).to_be_visible()


def test_a_masked_zero_is_not_taken_for_the_number_of_another_row(page: Page, site: Path) -> None:
    visit(page, site, "4-mask-and-heads")
    assert "beside" not in answer(box(page, 1), "0")
