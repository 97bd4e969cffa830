"""The workbench, Needle and dial, and Odds: what a reader turns there shows what numpy gives for it."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from live_pages import change, fragment, settled
from numpy.typing import NDArray
from playwright.sync_api import Page, expect
from toys import load, shipped_data, shipped_runs, shipped_traces

from sevensteps.printing import shown

RUNS = shipped_runs()
EMBEDDINGS, OWN = RUNS["needle/needle_E"], RUNS["needle/needle_own"]
LOGITS = np.array([4.81, 4.12, 3.74, 3.10, 1.85, 0.87, -0.42, -1.35])
WEIGHTS = (
    "W_E", "W_pos", "W_Q.0", "W_K.0", "W_V.0", "W_Q.1", "W_K.1", "W_V.1", "W_O", "W_in", "b_in", "W_out", "b_out",
    "W_U",
)  # fmt: skip
CHANGED = re.compile(r"\bchanged\b")
Values = NDArray[np.float64]


@pytest.fixture
def opened(page: Page, site: Path) -> Callable[[str], Page]:
    """Opens a page of the site by its name."""

    def open_page(name: str) -> Page:
        page.goto((site / f"{name}.html").as_uri())
        return page

    return open_page


def texts(page: Page, name: str, count: int) -> list[str]:
    """What the page prints for the entries of a row in its tables, as far as they are to be seen."""
    settled(page)
    return [page.locator(f"td [data-ref='{name}.{k}']:visible").first.inner_text() for k in range(count)]


def needle(page: Page) -> Values:
    """The needle as its two fields show it."""
    return np.array([float(page.locator(f"[data-edit='needle.{i}']").input_value()) for i in range(2)])


def softmax(z: Values) -> Values:
    e = np.exp(z - z.max())
    return e / e.sum()


def shows_what_the_needle_reads(page: Page, kind: str, words: Values) -> bool:
    """Whether cosines, logits and probabilities are those of the needle shown. `words`: (word, 2)."""
    settled(page)
    f = needle(page)
    z = np.array([word[0] * f[0] + word[1] * f[1] for word in words])  # A product of matrices may round otherwise.
    cosines = z / (np.hypot(*words.T) * np.hypot(*f))
    due = {"cosine": cosines, "z": z, "p": softmax(z)}
    return all(
        texts(page, f"needle/{kind}_{name}", len(z)) == [shown(float(v)) for v in values]
        for name, values in due.items()
    )


def test_arrow_keys_turn_the_needle_and_change_its_length(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    before = needle(page)
    page.locator("#needle-tip").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    turned = needle(page)
    angle = np.degrees(np.arctan2(*before[::-1]) - np.arctan2(*turned[::-1]))
    assert angle == pytest.approx(20, abs=1)
    assert np.hypot(*turned) == pytest.approx(np.hypot(*before), abs=0.02)
    assert shows_what_the_needle_reads(page, "own", OWN.T)
    page.keyboard.press("ArrowUp")
    assert np.hypot(*needle(page)) == pytest.approx(np.hypot(*turned) + 0.1, abs=0.02)
    assert shows_what_the_needle_reads(page, "own", OWN.T)
    now = float(page.locator("#needle-tip").get_attribute("aria-valuenow"))
    assert now == pytest.approx(np.degrees(np.arctan2(*needle(page)[::-1])), abs=0.51)


def test_the_needle_follows_the_pointer_and_one_undo_takes_a_whole_drag_back(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    before = needle(page)
    tip, drawing = page.locator("#needle-tip"), page.locator(".plane svg").bounding_box()
    box = tip.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    middle = (drawing["x"] + drawing["width"] / 2, drawing["y"] + drawing["height"] / 2)
    one = drawing["width"] / 360 * 80
    page.mouse.move(middle[0] + one, middle[1] - one / 2, steps=5)
    page.mouse.move(middle[0] + one, middle[1] + one / 2, steps=5)
    page.mouse.up()
    assert needle(page) == pytest.approx([1, -0.5], abs=0.02)
    assert shows_what_the_needle_reads(page, "own", OWN.T)
    page.mouse.move(*middle)  # the button is up: nothing follows any more
    assert needle(page) == pytest.approx([1, -0.5], abs=0.02)
    page.keyboard.press("Control+z")
    assert needle(page).tolist() == before.tolist()


def test_the_drawn_tip_and_the_bold_word_follow_the_fields(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    page.locator("[data-edit='needle.0']").fill("1.5")
    page.locator("[data-edit='needle.1']").fill("-0.5")
    page.keyboard.press("Tab")
    settled(page)  # The tables beside the drawing get their last widths a moment later.
    box, drawing = page.locator("#needle-tip").bounding_box(), page.locator(".plane svg").bounding_box()
    at = (box["x"] + box["width"] / 2 - drawing["x"]) / drawing["width"] * 360 - 180
    assert at / 80 == pytest.approx(1.5, abs=0.05)
    assert page.locator(".words.read-own .marked text").text_content() == "climbs"
    assert page.locator(".words.read-tied .marked text").text_content() == "dog"


def test_a_needle_of_no_length_gives_every_word_the_same(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    for i in range(2):
        page.locator(f"[data-edit='needle.{i}']").fill("0")
    page.keyboard.press("Tab")
    assert set(texts(page, "needle/own_p", 8)) == {shown(1 / 8)}
    assert set(texts(page, "needle/own_cosine", 8)) == {"undefined"}
    assert page.locator(".words .marked").count() == 0


def test_where_the_words_are_read_stands_in_the_address(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    page.locator("#read-tied").check()
    assert "needle_is_tied=1" in fragment(page)
    page.reload()
    expect(page.locator("#read-tied")).to_be_checked()
    expect(page.locator(".plane .read-own").first).to_be_hidden()
    page.locator("#read-own").check()
    assert "needle_is_tied" not in fragment(page)


def test_the_switch_reads_the_same_needle_where_the_embeddings_are(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    expect(page.locator(".read-tied").first).to_be_hidden()
    f = needle(page)
    page.locator("#read-tied").check()
    for part in page.locator(".read-own").all():
        expect(part).to_be_hidden()
    assert needle(page).tolist() == f.tolist()
    assert shows_what_the_needle_reads(page, "tied", EMBEDDINGS)
    assert (EMBEDDINGS @ f).argmax() != (f @ OWN).argmax()


@pytest.mark.parametrize(("i", "j"), [(0, 1), (7, 2), (5, 5)])
def test_the_odds_of_a_pair_are_e_to_the_difference(opened: Callable[[str], Page], i: int, j: int) -> None:
    page = opened("odds")
    page.locator("[data-edit=robot_i]").select_option(str(i))
    page.locator("[data-edit=robot_j]").select_option(str(j))
    gap = LOGITS[i] - LOGITS[j]
    for name, value in (("gap", gap), ("odds", np.exp(gap))):
        line = page.locator(f"[data-worked='robot/robot_{name}'] [data-ref='robot/robot_{name}']")
        expect(line).to_have_attribute("value", repr(float(value)).removesuffix(".0"))
    words = RUNS.traces["robot"].vocabulary
    for name, k in (("i", i), ("j", j)):
        expect(page.locator(f"[data-token='id robot/robot_{name}']")).to_have_text(words[k])


def test_a_constant_moves_every_bar_and_no_odds(opened: Callable[[str], Page]) -> None:
    page = opened("odds")
    odds = page.locator("[data-worked='robot/robot_odds'] [data-ref='robot/robot_odds']")
    before, bars = odds.inner_text(), page.locator("[data-v^='robot/robot_shifted.']")
    places = "bars => bars.map(bar => getComputedStyle(bar).getPropertyValue('--v'))"
    assert [float(v) for v in bars.evaluate_all(places)] == pytest.approx(LOGITS)
    page.locator("input[type=number][data-edit=robot_shift]").fill("-2.5")
    page.keyboard.press("Tab")
    settled(page)
    assert [float(v) for v in bars.evaluate_all(places)] == pytest.approx(LOGITS - 2.5)
    assert texts(page, "robot/robot_shifted", 8) == [shown(float(v)) for v in LOGITS - 2.5]
    assert odds.inner_text() == before
    page.locator("#show-later").check()
    assert texts(page, "robot/robot_p", 8) == [shown(float(p)) for p in softmax(LOGITS)]


@pytest.mark.parametrize("javascript", [True, False])
def test_probabilities_are_not_to_be_seen_before_they_are_asked_for(
    new_page: Callable[..., Page], site: Path, javascript: bool
) -> None:
    page = new_page(java_script_enabled=javascript)
    page.goto((site / "odds.html").as_uri())
    for mark in page.locator("[data-ref^='robot/robot_p.']").all():
        expect(mark).to_be_hidden()
    page.locator("#show-later").check()
    cells = page.locator("td [data-ref^='robot/robot_p.']")
    expect(cells).to_have_count(8)
    for cell in cells.all():
        expect(cell).to_be_visible()


def test_the_workbench_has_every_weight_and_every_row_of_the_forward_pass(opened: Callable[[str], Page]) -> None:
    page, main = opened("workbench"), shipped_traces()["main"]
    heads = [f"attn.{part}.{h}" for h in range(2) for part in ("q", "k", "v", "scores", "pattern", "z")]
    norms = [f"{norm}.{part}" for norm in ("ln1", "ln2", "ln_final") for part in ("mean", "scale", "normalized")]
    stream = [
        "ids",
        "resid_pre",
        "attn.concat",
        "attn_out",
        "resid_mid",
        "mlp.pre",
        "mlp.post",
        "mlp_out",
        "resid_post",
    ]
    ends = ["logits", "probs", "probs.target", "loss", "loss.mean", "loss.uniform"]
    marks = "marks => Object.fromEntries(marks.map(mark => [mark.dataset.ref, mark.textContent]))"
    printed = page.locator(".bench [data-ref]").evaluate_all(marks)
    for name in (*WEIGHTS, *heads, *norms, *stream, *ends):
        for index in np.ndindex(main[name].shape):
            ref = ".".join((name, *map(str, index)))
            assert printed[ref] == shown(float(main[ref])), ref


@pytest.mark.parametrize(("ref", "place"), [("W_U.3.6", (3, 6)), ("W_E.4.2", (4, 2)), ("W_in.1.1", (1, 1))])
def test_one_changed_weight_runs_through_to_the_loss(
    opened: Callable[[str], Page], tmp_path: Path, ref: str, place: tuple[int, int]
) -> None:
    page, data = opened("workbench"), shipped_data()
    data["weights"][ref.partition(".")[0]][place[0]][place[1]] = -1.25
    due = load(data, tmp_path).traces()["main"]
    change(page, {"set": {ref: -1.25}})
    for name in ("loss.mean", "probs.4.6", "logits.4.3", ref):
        for mark in page.locator(f".bench [data-ref='{name}']").all():
            assert mark.inner_text() == shown(float(due[name])), name
    expect(page.locator(f".bench td [data-ref='{ref}']")).to_have_class(CHANGED)
    expect(page.locator(".bench tfoot [data-ref='loss.mean']")).to_have_class(CHANGED)


def test_the_workbench_grows_with_the_text(opened: Callable[[str], Page], tmp_path: Path) -> None:
    page, data = opened("workbench"), shipped_data()
    data["text"] = "the cat climbed the roof."
    due = load(data, tmp_path).traces()["main"]
    change(page, {"text": data["text"]})
    marks = "marks => Object.fromEntries(marks.map(mark => [mark.dataset.ref, mark.textContent]))"
    printed = page.locator(".bench td [data-ref]").evaluate_all(marks)
    for name in ("resid_pre", "attn.scores.1", "attn.pattern.0", "ln2.scale", "logits", "loss"):
        for index in np.ndindex(due[name].shape):
            ref = ".".join((name, *map(str, index)))
            assert printed[ref] == shown(float(due[ref])), ref
    table = page.locator("table:has([data-ref='attn.pattern.0.6.6'])")
    numbers = [str(n) for n in range(1, 8)]
    assert table.locator("tbody th").all_inner_texts() == numbers
    assert table.locator("thead th").all_inner_texts()[1:] == numbers


def test_the_whole_workbench_is_seen_at_once_on_a_laptop(opened: Callable[[str], Page], page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    opened("workbench")
    hidden = """tables => tables.filter(table => {
      const { right, bottom } = table.getBoundingClientRect();
      const region = table.closest(".scroll");
      return bottom > innerHeight || right > innerWidth || region.scrollWidth > region.clientWidth + 1;
    }).map(table => table.caption.textContent)"""
    assert page.locator(".bench table").evaluate_all(hidden) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_pages_that_were_changed(opened: Callable[[str], Page], page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    changes = {
        "workbench": "change({ set: { 'W_U.3.6': 0.7 } })",
        "needle-and-dial": "change({ set: { 'needle.0': -1 } })",
        "odds": "change({ set: { robot_shift: 2 } })",
    }
    for name, changed in changes.items():
        opened(name)
        page.evaluate(changed)
        results = Axe().run(page, options={"preload": False})
        assert results.violations_count == 0, results.generate_report()


def test_a_needle_out_of_range_is_refused_in_words_and_stays(opened: Callable[[str], Page]) -> None:
    page = opened("needle-and-dial")
    now = "[...live.at('needle/needle').data]"
    before = page.evaluate(now)
    page.locator("[data-edit='needle.0']").fill("9")
    expect(page.locator("#notice")).to_contain_text("out of range")
    assert page.evaluate(now) == before
