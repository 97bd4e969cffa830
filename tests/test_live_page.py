"""The page of a changed toy is the page that the build writes for it: every mark, text, class, shade and order."""

import copy
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from live_pages import change
from playwright.sync_api import Browser, Page, expect
from toys import shipped_data, toml

from sevensteps.web.site import load_sources, render

NAMES = (
    "index", "1-tokens", "2-embeddings", "3-query-key-value", "4-mask-and-heads", "5-block", "6-output",
    "7-generation", "workbench", "glossary",
)  # fmt: skip
STATES: dict[str, dict[str, Any]] = {
    "an embedding": {"set": {"W_E.1.3": 0.3}},
    "a position": {"set": {"W_pos.4.1": -0.7}},
    "a query weight": {"set": {"W_Q.0.3.0": -1.3}},
    "an output weight of the heads": {"set": {"W_O.2.2": 1.7}},
    "a bias of a hidden unit": {"set": {"b_in.2": -0.45}},
    "a column of the unembedding, which reorders the softmax": {"set": {"W_U.3.6": -0.8, "W_U.1.7": 1.9}},
    "many weights": {"set": {"W_E.2.0": 1.1, "W_K.1.3.1": 0.35, "W_V.0.2.0": -2, "W_in.3.0": 0.125, "W_out.1.3": 0}},
    "dials": {"set": {"temperature_low": 0.8, "top_k": 2, "top_p": 0.5, "r": 0.95, "shift": -2}},
    "another last token": {"text": "the cat climbed the sofa"},
    "a shorter text": {"text": "the cat climbed"},
    "a longer text": {"text": "the dog climbed the wall"},
    "a text of seven tokens": {"text": "the cat climbed the dog the"},
    "a text that fills all positions": {"text": "the cat the dog climbed the roof"},
    "another token that follows": {"next": 7},
    "no attention": {"off": ["attention_off"]},
    "no second head": {"off": ["head_2_off"]},
    "no MLP": {"off": ["mlp_off"]},
    "a tied read-out": {"off": ["tied"]},
    "no LayerNorm": {"off": ["layer_norm_off"]},
    "no mask, and another text": {"off": ["mask_off"], "text": "the dog climbed the floor.", "next": 11},
    "everything": {"set": {"W_U.0.9": 1.45}, "text": "the dog climbed", "next": 1, "off": ["head_1_off"]},
}

ODD_STATES = [
    {"set": {"W_U.3.6": 1e308}},
    {"set": {"W_E.1.3": 1e308, "W_pos.4.3": 1e308}},
    {"set": {"W_in.3.0": -1e308, "W_out.0.3": 1e308}},
    {"text": "the dog"},
    {"text": "the", "off": ["mask_off"]},
    {"text": "the cat the cat the cat the cat"},
    {"set": {"top_k": 0, "temperature_low": 0, "top_p": 2}},
    {},
]

SHOW = """async (state) => {
  live = new Runs({ ...SHIPPED, ...state }, live.cache);
  document.dispatchEvent(new Event("toy"));
  while (pageWaiting) await new Promise((done) => setTimeout(done));
}"""
# What a reader and the other scripts find on a page, element by element in order, and what stands in it by itself.
FOUND = r"""() => {
  const kept = ["data-ref", "data-token", "data-worked", "data-kind", "data-answer", "data-token-answer",
    "data-calculated"];
  // Controls; cuts and picks, which play.js makes; notes, which speak of the toy as built. Page 7 says in other words
  // where the toy's text goes on otherwise, and of a row that it names by its token.
  const otherwise = `p:has([data-claim*="generated/"]:not([data-every])), p:has([data-claim="0 = 1"])`;
  const left = new Set(document.querySelectorAll(`.live, [data-cuts] *, output, .notes, ${otherwise}`));
  const lines = [];
  const look = (element) => {
    if (left.has(element)) return;
    const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    const nearlyOne = (node) => node?.dataset.ref?.startsWith("running.") && Math.abs(node.value - 1) < 1e-12;
    // Added up to 1 or to a hair beside it, by the order of the additions, the last running sum is 1 or 1.000.
    const text = nearlyOne(element) ? "1" : own.map((node) => node.data).join("").trim().replace(/\s+/g, " ");
    const classes = [...element.classList].filter((name) => !["changed", "missing", "editable"].includes(name)).sort();
    const there = kept.filter((name) => element.hasAttribute(name));
    const marks = there.map((name) => `${name}=${element.getAttribute(name)}`);
    const pad = element.getAttribute("data-pad");
    if (pad && !nearlyOne(element.firstChild)) marks.push(`pad=${pad}`);
    const value = element.dataset.ref && (element.getAttribute("value") ?? element.dataset.value);
    if (value !== undefined) marks.push(`value=${value}`);
    for (const name of ["--v", "--zero", "--i", "--t"]) {
      const number = element.style.getPropertyValue(name).trim();
      // A shade of nothing needs no style.
      if (number && (element.localName !== "td" || Number(number))) marks.push(`${name}=${Number(number)}`);
    }
    lines.push([element.localName, classes.join(" "), text, marks]);
    for (const child of element.children) look(child);
  };
  look(document.getElementById("main"));
  return lines;
}"""


def changed_source(state: dict[str, Any], folder: Path) -> Path:
    """The sources with a toy.toml and a derived.toml that hold a state."""
    for name in ("content", "templates", "static"):
        shutil.copytree(ROOT / name, folder / name)
    data = copy.deepcopy(shipped_data())
    file = folder / "content" / "derived.toml"
    derived = tomllib.loads(file.read_text("utf-8"))
    for ref, value in state.get("set", {}).items():
        if ref in derived["constants"]:
            derived["constants"][ref]["value"] = value
            continue
        *path, last = [int(part) if part.isdigit() else part for part in ref.split(".")]
        place = data["weights"]
        for part in path:
            place = place[part]
        place[last] = value
    if "text" in state:
        data["text"] = state["text"]
    if "next" in state:
        data["next"] = data["vocabulary"][state["next"]]
    data["patch"] = {name: new for run in state.get("off", ()) for name, new in data["runs"][run]["patch"].items()}
    (folder / "content" / "toy.toml").write_text(toml(data), "utf-8")
    file.write_text(toml(derived), "utf-8")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each state the folder of the site that the build writes for it."""
    folders = {}
    for number, (name, state) in enumerate(STATES.items()):
        source = changed_source(state, tmp_path_factory.mktemp(f"state-{number}") / "source")
        folders[name] = source / "site"
        for path, content in render(load_sources(source)).files.items():
            (folders[name] / path).parent.mkdir(parents=True, exist_ok=True)
            (folders[name] / path).write_bytes(content)
    return folders


def lines(page: Page) -> list[str]:
    return [_line(*found) for found in page.evaluate(FOUND)]


def _line(tag: str, classes: str, text: str, marks: list[str]) -> str:
    # The last digits of a float may differ between numpy and JavaScript.
    rounded = [re.sub(r"(?<=^value=)\S*[\d]$", lambda digits: f"{float(digits[0]):.9g}", mark) for mark in marks]
    return " ".join(filter(None, (tag, classes, *rounded, f"“{text}”" if text else "")))


@pytest.mark.parametrize("name", NAMES)
def test_every_changed_toy_shows_the_page_that_the_build_writes_for_it(
    page: Page, browser: Browser, site: Path, built: dict[str, Path], name: str
) -> None:
    page.goto((site / f"{name}.html").as_uri())
    differences = {}
    with browser.new_page() as other:
        for state, folder in built.items():
            page.evaluate(SHOW, STATES[state])
            other.goto((folder / f"{name}.html").as_uri())
            found, expected = lines(page), lines(other)
            if found != expected:
                differences[state] = [(a, b) for a, b in zip(found, expected, strict=False) if a != b][:5]
    assert differences == {}


@pytest.mark.parametrize("name", NAMES)
def test_back_to_the_shipped_toy_the_page_is_exactly_as_built(page: Page, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    before = lines(page)
    for state in STATES.values():
        page.evaluate(SHOW, state)
    assert lines(page) != before
    page.evaluate(SHOW, {})
    assert lines(page) == before
    assert page.locator("main").locator(".changed, .missing, [data-was]").count() == 0


@pytest.mark.parametrize("name", NAMES)
def test_no_state_breaks_a_page(page: Page, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    for state in ODD_STATES:
        page.evaluate(SHOW, state)
    assert page.locator("main").inner_text()
    assert "NaN" not in page.locator("main").text_content()


def test_a_number_that_the_text_does_not_have_is_a_dash_and_says_what_it_was(page: Page, site: Path) -> None:
    page.goto((site / "3-query-key-value.html").as_uri())
    number = page.locator("main [data-ref='attn.pattern.0.4.2']:not(.worked *)").first
    was = number.text_content()
    page.evaluate(SHOW, {"text": "the dog"})
    dash = page.locator("main .missing").first
    assert dash.text_content() == "–"
    assert page.locator(f"main .changed.missing[data-was='{was}']").count() > 0


def test_only_what_changed_is_marked_and_says_what_it_was(page: Page, site: Path) -> None:
    page.goto((site / "6-output.html").as_uri())
    page.evaluate(SHOW, {"set": {"W_U.3.6": 0.7}})
    weight = page.locator("td [data-ref='W_U.3.6']").first
    assert (weight.text_content(), weight.get_attribute("data-was")) == ("0.7", "1")
    assert "changed" in weight.get_attribute("class")
    assert page.locator(".changed[data-ref^='W_U.']:not([data-ref='W_U.3.6'])").count() == 0
    assert page.locator(".changed[data-ref^='resid_post']").count() == 0


def test_notes_on_printed_digits_speak_of_the_toy_as_built_only(page: Page, site: Path) -> None:
    page.goto((site / "6-output.html").as_uri())
    note = page.locator(".note:has([data-calculated])").first
    figures = note.locator(".as-built")
    expect(figures).to_be_visible()
    change(page, {"set": {"W_U.3.6": 0.7}})
    expect(figures).to_be_hidden()
    expect(note).to_contain_text("rounded afterwards")
    page.evaluate("travel(-1)")
    expect(figures).to_be_visible()


# What is in view, and of it what does not say the same as the toy; then the same for the whole page, when it is shown.
BEHIND = """async () => {
  const wrong = (marks) => marks.filter((mark) => mark.textContent !== shown(live.at(mark.dataset.ref))).length;
  const marks = [...document.querySelectorAll("main td > [data-ref]")];
  const seen = marks.filter((mark) => {
    const { top, bottom } = mark.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  change({ set: { "W_U.3.6": 0.7, "W_U.1.6": -2 } });
  const behind = [wrong(seen), wrong(marks)];
  while (pageWaiting) await new Promise((done) => setTimeout(done));
  return [seen.length, ...behind, wrong(marks)];
}"""


def test_what_is_in_view_follows_at_once_and_the_rest_of_the_page_a_moment_later(page: Page, site: Path) -> None:
    page.goto((site / "6-output.html").as_uri())
    page.locator("td [data-ref='W_U.3.6']").first.scroll_into_view_if_needed()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    seen, behind_in_view, behind, behind_at_last = page.evaluate(BEHIND)
    assert seen > 40
    assert behind_in_view == 0
    assert behind > 0
    assert behind_at_last == 0
