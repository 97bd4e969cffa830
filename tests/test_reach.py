"""Every width, zoomed in, with larger text, by finger: nothing is lost, cut off, covered or too small to hit."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from live_pages import open_page, settled
from pages import PAGES
from playwright.sync_api import Page, expect

WIDTHS = (320, 360, 390, 768, 1024, 1280, 1920, 2560)
PROBES = (Path(__file__).parent / "probes.js").read_text("utf-8")
OPEN_ALL = "document.querySelectorAll('details').forEach(details => { details.open = true })"
#: A change of which little is to be seen but the bar, and a notice.
CHANGED = "#W_pos.7.3=0.25&nonsense=3"
#: The spacing that a reader may set (WCAG 1.4.12).
SPACED = """const sheet = new CSSStyleSheet();
  sheet.replaceSync(`*, ::before, ::after { line-height: 1.5 !important; letter-spacing: .12em !important;
    word-spacing: .16em !important } p { margin-bottom: 2em !important }`);
  document.adoptedStyleSheets = [sheet];"""
#: 1280 × 1024 at 400 %.
ZOOMED = {"width": 320, "height": 256}
#: How much of the window stays covered when the page is scrolled to its middle.
COVERED = """() => {
  scrollTo(0, document.documentElement.scrollHeight / 2);
  const rows = Array.from({length: innerHeight}, (_, y) => document.elementsFromPoint(innerWidth / 2, y));
  const stays = e => /sticky|fixed/.test(getComputedStyle(e).position) && !e.matches("th, caption, figcaption");
  return rows.filter(found => found.some(stays)).length / innerHeight;
}"""
#: How much of a table that scrolls sideways its headings cover.
HEADINGS = """tables => Math.max(0, ...tables.map(table => {
  const [heading, region] = [table.querySelector("tbody th"), table.closest(".scroll")];
  const sticks = heading && getComputedStyle(heading).position === "sticky" && region.scrollWidth > region.clientWidth;
  return sticks ? heading.offsetWidth / region.clientWidth : 0;
}))"""


def visit(page: Page, site: Path, name: str, fragment: str = "") -> None:
    open_page(page, site, name, fragment)
    page.evaluate(PROBES)
    page.evaluate(OPEN_ALL)
    settled(page)


def layouts(page: Page, widths: tuple[int, ...]) -> dict[int, list[str]]:
    """The faults of the layout at each width, where there are any."""
    found = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        found[width] = page.evaluate("probes.layout()")
    return {width: faults for width, faults in found.items() if faults}


@pytest.mark.parametrize("name", PAGES)
def test_at_every_width_nothing_scrolls_sideways_is_cut_off_or_overlaps(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    assert layouts(page, WIDTHS) == {}


@pytest.mark.parametrize("name", PAGES)
def test_a_changed_page_spaced_as_a_reader_likes_it_loses_nothing(page: Page, site: Path, name: str) -> None:
    visit(page, site, name, CHANGED)
    page.evaluate(SPACED)
    assert layouts(page, (320, 1280)) == {}


@pytest.mark.parametrize("name", PAGES)
def test_text_of_twice_the_size_loses_nothing(page: Page, site: Path, name: str) -> None:
    settings = page.context.new_cdp_session(page)
    settings.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    visit(page, site, name)
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") > 30
    assert layouts(page, (640, 1280)) == {}


@pytest.mark.parametrize("name", PAGES)
def test_at_400_percent_what_stays_in_sight_leaves_room_for_the_page(page: Page, site: Path, name: str) -> None:
    page.set_viewport_size(ZOOMED)
    visit(page, site, name, CHANGED)
    assert page.evaluate(COVERED) <= 0.3
    if name != "404":
        page.get_by_role("button", name="Close the notice").click()
    assert page.evaluate(COVERED) == 0
    assert page.locator(".scroll table").evaluate_all(HEADINGS) <= 0.4


def test_at_400_percent_a_note_leaves_its_number_in_sight_and_ends_on_the_screen(
    new_page: Callable[..., Page], site: Path
) -> None:
    page = new_page(viewport=ZOOMED, reduced_motion="reduce")
    visit(page, site, "4-mask-and-heads", CHANGED)
    number = page.locator("td [data-ref='W_O.0.1']").first
    number.click()
    own, note = number.bounding_box(), page.locator(".ask").bounding_box()
    assert own["y"] >= 0
    assert note["y"] >= own["y"] + own["height"]
    assert note["y"] + note["height"] <= ZOOMED["height"]


@pytest.mark.parametrize("name", ["2-embeddings", "5-block", "6-output"])
def test_arrows_in_a_wide_table_never_lead_behind_its_headings(
    new_page: Callable[..., Page], site: Path, name: str
) -> None:
    page = new_page(viewport={"width": 320, "height": 640}, reduced_motion="reduce")
    visit(page, site, name)
    wide = [
        table for table in page.locator(".scroll table:has(tbody [data-ref])").all()
        if table.evaluate("table => table.closest('.scroll').scrollWidth > table.closest('.scroll').clientWidth + 1")
    ]  # fmt: skip
    covered = []
    for table in wide:
        numbers = table.locator("tbody tr:has([data-ref])").first.locator("[data-ref]")
        for key, start in (("ArrowLeft", numbers.last), ("ArrowRight", numbers.first)):
            start.focus()
            for _ in range(numbers.count() - 1):
                page.keyboard.press(key)
                covered += [fault for fault in page.evaluate("probes.focus()") if fault.startswith("covered")]
    assert wide
    assert covered == []


@pytest.mark.parametrize("name", PAGES)
def test_a_finger_hits_every_control_link_and_number(new_page: Callable[..., Page], site: Path, name: str) -> None:
    page = new_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    visit(page, site, name, CHANGED)
    assert page.evaluate("probes.smallTargets()") == []
    numbers = page.locator("td [data-ref]").locator("visible=true")
    if numbers.count():
        numbers.first.tap()
        assert page.evaluate("probes.smallTargets()") == []


def test_the_whole_cell_of_a_number_can_be_hit(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    cell = page.locator("td:has(> [data-ref='W_U.1.6'])").first
    cell.click(position={"x": 2, "y": 2})
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(cell.locator("[data-ref]")).to_have_class(re.compile("asked"))


@pytest.mark.parametrize("name", [name for name in PAGES if name != "workbench"])
def test_a_mouse_hits_them_too(page: Page, site: Path, name: str) -> None:
    """Not on the workbench: the whole network on one screen is what it is for. Its notes reach every number."""
    visit(page, site, name, CHANGED)
    assert page.evaluate("probes.smallTargets()") == []
