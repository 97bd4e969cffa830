"""A toy of many positions, dimensions and tokens: every page is built, and what it cuts it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.scaled_toy import random_source
from conftest import ROOT
from live_pages import change, open_page
from pages import only, read, text
from playwright.sync_api import Browser, Page, expect

from sevensteps.web.check import check_site
from sevensteps.web.output import write_site
from sevensteps.web.site import load_sources, render

POSITIONS, D_MODEL, HEADS, VOCABULARY = 20, 24, 3, 50
BEHIND = """() => [...document.querySelectorAll("main [data-ref]:not([data-places])")]
  .filter(({dataset, textContent}) => textContent !== shown(live.at(dataset.ref) ?? NaN))
  .map(({dataset}) => dataset.ref)"""
HEIGHTS = (
    """() => [...document.querySelectorAll(".bench table[data-rows]")].map((table) => table.tBodies[0].rows.length)"""
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_source(ROOT, tmp_path_factory.mktemp("large"), POSITIONS, D_MODEL, HEADS, VOCABULARY)


@pytest.fixture(scope="module")
def large(source: Path) -> Path:
    write_site(source / "site", render(load_sources(source)).files)
    return source / "site"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(error))
    yield page
    page.close()
    assert errors == []


def test_its_numbers_pass_the_check(source: Path, large: Path) -> None:
    faults = check_site(load_sources(source), large).faults
    assert [str(fault) for fault in faults if fault.kind != "claim"] == []


def test_a_table_of_all_tokens_with_all_shows_the_first_and_says_so(large: Path) -> None:
    page = read(large / "2-embeddings.html")
    [table] = [table for table in page.iter("table") if "cosine of every row" in text(table.find("caption"))]
    assert len(table.findall("tbody/tr")) == 40
    assert f"the first 40 of {VOCABULARY}" in text(table.find("caption"))


def test_all_weights_stand_where_they_are_introduced(large: Path) -> None:
    html = (large / "2-embeddings.html").read_text("utf-8")
    assert f'data-ref="W_E.{VOCABULARY - 1}.{D_MODEL - 1}"' in html


def test_the_workbench_shows_some_rows_columns_and_heads_and_says_how_many(large: Path) -> None:
    said = text(only(read(large / "workbench.html"), "bench"))
    assert f"8 of {VOCABULARY} rows · 8 of {D_MODEL} columns" in said
    assert "pattern: the weights · the first 8 rows · the first 8 columns" in said
    assert f"2 of {HEADS} heads" in said


@pytest.mark.parametrize(("words", "rows"), [(20, 8), (17, 8), (16, 16), (3, 3)])
def test_the_tables_of_the_workbench_follow_a_text_of_any_length(
    page: Page, large: Path, words: int, rows: int
) -> None:
    open_page(page, large, "workbench")
    change(page, {"text": "the" + " cat" * (words - 1)})
    assert page.evaluate("live.trace('main').tokens.length") == words
    assert set(page.evaluate(HEIGHTS)) == {rows}
    expect(page.locator(".in-part:visible")).to_have_count(page.locator(".in-part").count() if rows < words else 0)
    assert page.evaluate(BEHIND) == []


@pytest.mark.parametrize(
    ("name", "ref"), [("2-embeddings", "W_E.49.1"), ("5-block", "W_in.0.1"), ("6-output", "W_U.1.6")]
)
def test_an_edit_reaches_every_number_of_a_page(page: Page, large: Path, name: str, ref: str) -> None:
    open_page(page, large, name)
    change(page, {"set": {ref: 0.35}})
    assert page.evaluate("(ref) => live.at(ref)", ref) == 0.35
    assert page.evaluate(BEHIND) == []


def test_a_new_largest_weight_draws_every_shade_of_a_large_table_anew(page: Page, large: Path) -> None:
    open_page(page, large, "2-embeddings")
    change(page, {"set": {"W_E.1.3": -80}})
    table = page.locator("table:has([data-ref='W_E.49.23'])").first
    cells = table.locator("td:has(> [data-ref^='W_E.'])")
    read_cell = "cells => cells.map((cell) => [cell.firstChild.value, cell.style.getPropertyValue('--v')])"
    shades = cells.evaluate_all(read_cell)
    assert len(shades) == VOCABULARY * D_MODEL
    for value, shade in shades:
        assert float(shade or 0) == pytest.approx(float(value) / 80, abs=0.0051)
