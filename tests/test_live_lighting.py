"""What is under the pointer or has the focus is lit wherever it stands on the page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from live_pages import change
from playwright.sync_api import Locator, Page

LIT = """(all) => all.map((e) => {
  const { outlineStyle, filter } = getComputedStyle(e);
  const key = e.now ?? e.dataset.ref ?? e.dataset.v ?? e.textContent;
  return [e.localName, key, outlineStyle !== "none" || filter !== "none"];
})"""

Visit = Callable[..., Page]


@pytest.fixture
def visit(new_page: Callable[..., Page], site: Path) -> Visit:
    """Opens a page of the site by its name."""

    def open_page(name: str, **options: object) -> Page:
        page = new_page(viewport={"width": 1280, "height": 900}, **options)
        page.goto((site / f"{name}.html").as_uri())
        return page

    return open_page


def lit(page: Page) -> set[tuple[str, str]]:
    """The elements that are lit, as (tag, what they stand for)."""
    return {(tag, key) for tag, key, _ in page.locator(".kin").evaluate_all(LIT)}


def all_of(page: Page, selector: str) -> int:
    return page.locator(f"main {selector}").count()


def first(page: Page, selector: str) -> Locator:
    return page.locator(selector).locator("visible=true").first


# A quantity lights up


def test_a_number_is_lit_in_prose_tables_pictures_and_formulas_and_nothing_else_is(visit: Visit) -> None:
    page = visit("6-output")
    first(page, ".softmax-picture [data-ref='probs.4.6']").hover()
    assert {key for _, key in lit(page)} == {"probs.4.6"}
    numbers, marks = all_of(page, "[data-ref='probs.4.6']"), all_of(page, "[data-v='probs.4.6']")
    assert page.locator(".kin").count() == numbers + marks
    assert {"data", "span"} <= {tag for tag, _ in lit(page)}


def test_what_is_lit_is_outlined_or_glows_and_is_not_told_by_its_tint_alone(visit: Visit) -> None:
    page = visit("6-output")
    first(page, ".norm-picture .figure tspan").hover()
    shown = page.locator(".kin").evaluate_all(LIT)
    assert len(shown) > 3
    assert [key for _, key, stands_out in shown if not stands_out] == []


def test_a_mark_of_a_picture_lights_its_number(visit: Visit) -> None:
    page = visit("index")
    page.locator(".read .column:last-child .colours i").nth(1).hover()
    assert lit(page) == {("i", "resid_post.4.1")}
    page = visit("3-query-key-value")
    page.locator(".head-picture rect").nth(2).hover(position={"x": 4, "y": 4})
    assert ("tspan", "attn.pattern.0.4.2") in lit(page)
    assert ("data", "attn.pattern.0.4.2") in lit(page)


def test_a_token_is_lit_in_every_heading_and_picture(visit: Visit) -> None:
    page = visit("2-embeddings")
    first(page, "td code.token, p code.token:text-is('␣roof')").hover()
    found = page.locator(".kin").all_text_contents()
    assert set(found) == {"␣roof"}
    assert len(found) == page.locator("main .token:text-is('␣roof')").count() > 5
    assert ("text", "␣roof") in lit(page)


def test_a_symbol_lights_its_table_and_its_other_places(visit: Visit) -> None:
    page = visit("5-block")
    first(page, ".spine var:text-is('h')").hover()
    found = lit(page)
    assert {("mi", "h"), ("var", "h"), ("span", "resid_mid.4.1"), ("data", "resid_mid.4.1")} <= found
    assert {key.rpartition(".")[0] for _, key in found} == {"", "resid_mid.4"}


def test_a_row_heading_lights_the_numbers_of_its_row(visit: Visit) -> None:
    page = visit("5-block")
    row = page.locator("tr:has(td [data-ref='resid_post.4.0'])").first
    row.locator("th").hover(position={"x": 4, "y": 4})
    refs = row.locator("[data-ref]").evaluate_all("(all) => all.map((e) => e.dataset.ref)")
    assert {key for _, key in lit(page) if "." in key} == set(refs)
    assert ("span", "resid_post.4.0") in lit(page)


def test_the_focus_lights_like_the_pointer_and_moves_on(visit: Visit) -> None:
    page = visit("4-mask-and-heads")
    number = page.locator(".patterns [data-ref]").first
    number.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    ref = page.evaluate("document.activeElement.dataset.ref")
    assert ref == "attn.pattern.0.1.1"
    assert {key for _, key in lit(page)} == {ref}


def test_nothing_stays_lit_when_the_pointer_goes_on_to_plain_text(visit: Visit) -> None:
    page = visit("6-output")
    first(page, ".softmax-picture [data-ref]").hover()
    assert lit(page)
    page.locator("h1").hover()
    assert lit(page) == set()


def test_touch_lights_nothing(visit: Visit) -> None:
    page = visit("6-output", has_touch=True)
    first(page, ".softmax-picture th code").tap()
    assert lit(page) == set()


def test_after_a_change_of_text_a_mark_lights_what_it_shows_now(visit: Visit) -> None:
    page = visit("6-output")
    change(page, {"text": "the cat climbed"})
    first(page, ".softmax-picture tbody .track").hover()
    (key,) = {key for _, key in lit(page)}
    assert key.startswith("logits.3.")
    first(page, f".softmax-picture [data-ref='{key}']").hover()
    assert {key for _, key in lit(page)} == {key}
    assert "span" in {tag for tag, _ in lit(page)}
