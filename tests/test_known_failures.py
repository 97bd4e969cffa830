"""Faults of numbers and pages that readers of such sites have reported elsewhere: where each one is tested.

The faults of models, 11 to 24, are in test_engine_known_failures.py. Those that another file tests are named here.
"""

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from live_pages import change
from pages import PAGES, of_class, text, with_attribute
from playwright.sync_api import Page, expect

TESTS = Path(__file__).parent
ROOT = TESTS.parent
A4_WIDTH = 718  # pixels between margins of one centimetre

ELSEWHERE = {
    "1 a chain continues from an unrounded value": [
        "test_hand_check.py::test_every_worked_line_closes_from_its_printed_digits",
        "test_check.py::test_a_chain_that_goes_on_from_the_unrounded_value_does_not_close",
    ],
    "3 printed terms do not add up to the printed sum": [
        "test_hand_check.py::test_a_derived_cell_is_within_one_unit_of_its_printed_operands_or_the_table_says_so",
        "test_hand_check.py::test_a_whole_row_of_probabilities_adds_to_one_in_print_or_the_table_says_to_what",
    ],
    "7 results differ by system, threads or seed": [
        "test_site.py::test_hash_seed_and_locale_change_nothing",
        "test_engine_oracle.py::test_every_value_of_every_run_of_the_shipped_toy",
    ],
    "8 labels of neighbouring rows swapped": ["test_check.py::test_swapped_labels_of_rows_are_a_fault"],
    "9 token ids invented for show": [
        "test_outline.py::test_page_1_lists_every_token_with_its_id_and_cuts_the_text_to_its_end",
        "test_engine_oracle.py::test_the_shipped_toy_takes_its_ids_from_the_reference_cut",
        "test_content.py::test_a_fact_has_its_source_on_its_page",
    ],
    "10 an exercise whose answer is stale": [
        "test_content.py::test_a_box_that_asks_for_a_number_works_it_out",
        "test_check.py::test_an_answer_that_is_no_number_of_the_toy_is_a_fault",
        "test_tamper.py::test_editing_any_weight_changes_the_site_and_breaks_only_claims",
    ],
    "25 sideways scroll on a phone": [
        "test_browser.py::test_a_narrow_page_does_not_scroll_sideways",
        "test_browser.py::test_what_is_wider_than_a_phone_scrolls_in_its_own_named_region",
    ],
    "26 links and requests that fail from a file": [
        "test_browser.py::test_a_page_loads_in_silence_and_has_one_heading",
        "test_site.py::test_links_are_relative_and_lead_to_real_files",
    ],
    "27 storage that throws": [
        "test_live_answers.py::test_storage_that_throws_or_holds_rubbish_takes_nothing_down",
        "test_look.py::test_a_theme_once_chosen_stays_and_is_there_before_anything_is_painted",
        "test_look.py::test_a_stored_theme_that_is_none_is_left_aside",
    ],
    "28 unreadable in the dark": ["test_browser.py::test_axe_finds_nothing"],
    "29 answers collapsed in print": ["test_browser.py::test_an_answer_is_closed_on_the_screen_and_printed_on_paper"],
    "30 right answers marked wrong": [
        "test_live_answers.py::test_minus_a_half_in_every_spelling",
        "test_live_answers.py::test_a_number_is_read_in_any_spelling",
        "test_live_answers.py::test_a_number_worked_out_from_the_printed_operands_is_right_too",
    ],
    "31 tables without caption or scope": [
        "test_content.py::test_a_table_has_a_caption_scopes_and_a_labelled_group_to_scroll_in",
        "test_content.py::test_a_step_has_a_picture_made_of_its_numbers",
    ],
    "32 half-done builds, stale pages, sources deleted": [
        "test_site.py::test_a_failed_build_leaves_the_old_site_and_nothing_beside_it",
        "test_site.py::test_a_stale_page_is_gone_after_the_next_build",
        "test_site.py::test_an_output_folder_that_holds_sources_is_refused",
        "test_site.py::test_an_output_folder_with_somebodys_files_is_refused",
    ],
    "33 two builds of one input differ": ["test_site.py::test_two_builds_of_one_input_are_equal_byte_for_byte"],
    "34 encodings and line ends": [
        "test_site.py::test_every_text_file_is_utf8_with_lf_and_says_its_language",
        "test_toyfile.py::test_a_mark_in_front_and_windows_line_ends_do_no_harm",
    ],
}


@pytest.mark.parametrize("name", [name for names in ELSEWHERE.values() for name in names])
def test_a_test_named_here_exists(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"\ndef {function}(" in (TESTS / file).read_text(encoding="utf-8")


def numbers(root: Element) -> list[tuple[str, float, str]]:
    """(ref, value, printed text) of every mark."""
    marks = [(mark, mark.get("value") or mark.get("data-value")) for mark in with_attribute(root, "data-ref")]
    return [(mark.get("data-ref"), float(value), text(mark)) for mark, value in marks]


def test_2_the_same_quantity_printed_differently(pages: dict[str, Element]) -> None:
    shown: dict[str, set[str]] = {}
    for page in pages.values():
        in_worked_lines = {mark for line in of_class(page, "worked") for mark in with_attribute(line, "data-places")}
        for mark in with_attribute(page, "data-ref"):
            if mark not in in_worked_lines:  # those may print more places, so that they close
                shown.setdefault(mark.get("data-ref"), set()).add(text(mark))
    assert {ref: texts for ref, texts in shown.items() if len(texts) > 1} == {}
    assert len(shown) > 500


@pytest.mark.parametrize("name", PAGES)
def test_4_a_sign_lost_or_minus_zero(pages: dict[str, Element], name: str) -> None:
    for ref, value, shown in numbers(pages[name]):
        assert not re.fullmatch("[-−]0(?:[.]0*)?", shown), ref
        assert shown.startswith(("−", ">−")) == (value < 0), ref


@pytest.mark.parametrize("name", PAGES)
def test_5_a_small_number_printed_as_zero_or_a_masked_one_as_small(pages: dict[str, Element], name: str) -> None:
    for ref, value, shown in numbers(pages[name]):
        assert (shown.strip("0.") == "") == (value == 0), ref
        assert (shown == "−∞") == (value == -math.inf), ref
        masked = re.fullmatch(r"attn\.pattern\.\d\.(\d)\.(\d)", ref)
        if masked and masked[2] > masked[1]:
            assert shown == "0", ref


@pytest.mark.parametrize("name", PAGES)
def test_6_a_table_or_figure_cited_by_a_number_or_a_row_by_a_typed_one(name: str) -> None:
    source = (ROOT / "content" / "en" / f"{name}.md").read_text(encoding="utf-8")
    assert re.findall(r"(?i)\b(?:table|figure|picture)s? (?:\d|<%= k\()", source) == []
    prose = re.sub(r"<%.*?%>", "", source, flags=re.DOTALL)
    assert re.findall(r"(?i)\b(?:row|column|position|head|dimension|unit|step)s? \d", prose) == []
    assert re.findall(r"(?i)\b(?:the|this) (?:table|figure|picture) (?:above|below)", prose) == []


def text_files(site: Path) -> dict[str, str]:
    names = (path for path in site.rglob("*") if path.suffix in (".html", ".css", ".js", ".svg"))
    return {path.name: path.read_text(encoding="utf-8") for path in names}


def test_26_modules_fetches_fonts_and_addresses_elsewhere(site: Path) -> None:
    for name, content in text_files(site).items():
        # The canonical address is told, not loaded; the one font stands in the stylesheet.
        code = re.sub(r'<pre.*?</pre>|<cite>.*?</cite>|<link rel="canonical"[^>]*>', "", content, flags=re.DOTALL)
        assert not re.search(r'type="module"|\bfetch\(|new Worker|importScripts|@import', code), name
        assert not re.search(r'(?:src|href)="(?://|https?:)|url\(["\']?(?://|https?:)', code), name


def test_28_colour_as_the_only_sign_of_a_marked_row(page: Page, site: Path) -> None:
    page.goto((site / "6-output.html").as_uri())
    signs = """rows => rows.map(row => getComputedStyle(row.querySelector("th"), "::before").content)"""
    assert set(page.locator("tbody tr.marked").evaluate_all(signs)) == {'"▸ " / "marked: "'}
    assert set(page.locator("tbody tr:not(.marked)").evaluate_all(signs)) == {"none"}


def test_28_colour_as_the_only_sign_of_a_value(pages: dict[str, Element]) -> None:
    shaded = [cell for page in pages.values() for cell in page.iter("td") if "--v" in cell.get("style", "")]
    assert len(shaded) > 500
    assert [cell for cell in shaded if not text(cell)] == []


@pytest.mark.parametrize("name", PAGES)
def test_29_a_table_cut_in_print(page: Page, site: Path, name: str) -> None:
    page.set_viewport_size({"width": A4_WIDTH, "height": 1000})
    page.goto((site / f"{name}.html").as_uri())
    page.emulate_media(media="print")
    cut = """[...document.querySelectorAll("main table, main math")]
      .filter(thing => thing.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      .map(thing => thing.textContent.trim().slice(0, 40))"""
    assert page.evaluate(cut) == []


def test_30_a_wrong_answer_that_prints_as_the_right_one(pages: dict[str, Element]) -> None:
    boxes = [box for page in pages.values() for box in of_class(page, "check") if "data-answer" in box.attrib]
    for box in boxes:
        (line, *_) = of_class(box, "worked")
        right = text(list(with_attribute(line, "data-ref"))[-1])
        for trap in [item for traps in of_class(box, "traps") for item in traps]:
            first = next(with_attribute(trap, "data-ref"))
            assert text(first) != right, box.get("data-answer")
    assert len(boxes) > 10


def test_30_a_sum_that_floating_point_misses_by_a_hair(page: Page, site: Path) -> None:
    """0.1 + 0.2 is not 0.3 there: a box that asks for it takes 0.3 all the same."""
    page.goto((site / "2-embeddings.html").as_uri())
    change(page, {"set": {"W_E.2.0": 0.1, "W_pos.1.0": 0.2}})
    box = page.locator("[data-answer='resid_pre.1.0']")
    box.get_by_label("Your answer").fill("0.3")
    box.get_by_role("button", name="Check").click()
    expect(box.get_by_role("status")).to_have_text("Well done.")


def test_31_a_chart_without_text(pages: dict[str, Element]) -> None:
    charts = {chart for page in pages.values() for chart in page.iter("svg")}
    groups = [group for page in pages.values() for group in with_attribute(page, "aria-label")]
    in_groups = {chart for group in groups if group.get("role") == "group" for chart in group.iter("svg")}
    assert charts
    for chart in charts - in_groups:
        assert chart.get("aria-hidden") == "true" or chart.get("aria-label")
    for page in pages.values():
        assert not list(page.iter("canvas"))
        assert all(image.get("alt") for image in page.iter("img"))


@pytest.fixture
def windows_source(tmp_path: Path) -> Path:
    """The sources with the line ends of Windows, and a sentence that is not true: the build has something to say."""
    for folder in ("content", "templates", "static"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    page = tmp_path / "content" / "en" / "404.md"
    false = "<% call claim('T > 100') %>The ␣ stands for a space<% endcall %>.\n"
    page.write_text(page.read_text(encoding="utf-8") + false, encoding="utf-8")
    for file in (*tmp_path.glob("content/**/*.*"), *tmp_path.glob("templates/*.*")):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    return tmp_path


def test_34_a_system_with_another_encoding_and_other_line_ends(windows_source: Path, site: Path) -> None:
    strict = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    command = [sys.executable, *strict, ROOT / "build.py", "--source", windows_source]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    build = subprocess.run(command, env=environment, capture_output=True)
    assert build.returncode == 0, build.stderr
    assert "no longer true: The ␣ stands for a space".encode() in build.stderr
    for name in PAGES:
        if name != "404":
            html = (windows_source / "site" / f"{name}.html").read_bytes()
            assert html == (site / f"{name}.html").read_bytes()
