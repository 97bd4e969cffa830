"""By keyboard and by ear (WCAG 2.2 AA): every page in every state and theme, and what a screen reader is told."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from axe_playwright_python.sync_playwright import Axe
from live_pages import open_page, settled
from pages import PAGES, text
from playwright.sync_api import Page, expect
from readings import PIECES, RECORD, reading, readings, written

PROBES = (Path(__file__).parent / "probes.js").read_text("utf-8")
OPEN_ALL = "document.querySelectorAll('details').forEach(details => { details.open = true })"
#: Breaks claims on the pages from 5 on, changes numbers on nearly all, and says more than can be used.
CHANGED = "#W_O.0.1=2&W_U.1.6=-1.5&nonsense=3"
MOST_STOPS = 300
#: Names of the elements that Tab reaches, in the order of the document.
STOPS = """[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
  .filter(e => e.tabIndex === 0 && !e.disabled && e.getClientRects().length)
  .filter(e => e.checkVisibility({visibilityProperty: true}))"""
#: A group of radio buttons is one stop: the one that is chosen, or the first.
ONE_OF_A_GROUP = """.filter((e, i, all) => e.type !== "radio" || e.checked ||
  (!all.some(o => o.name === e.name && o.form === e.form && o.checked) &&
  e === all.find(o => o.type === "radio" && o.name === e.name && o.form === e.form)))"""
THEMES = {
    "dark": {"color_scheme": "dark"},
    "light": {"color_scheme": "light"},
    "forced colours": {"color_scheme": "dark", "forced_colors": "active"},
}


def headings(root: Element) -> list[int]:
    return [int(element.tag[1]) for element in root.iter() if re.fullmatch("h[1-6]", element.tag)]


@pytest.mark.parametrize("name", PAGES)
def test_headings_come_in_order_and_no_level_is_left_out(pages: dict[str, Element], name: str) -> None:
    levels = headings(pages[name])
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_page_says_its_language_and_has_a_title_of_its_own(pages: dict[str, Element]) -> None:
    assert {page.get("lang") for page in pages.values()} == {"en"}
    titles = {name: page.findtext("head/title") for name, page in pages.items()}
    assert len(set(titles.values())) == len(pages)
    assert all(text(page.find(".//h1")) in titles[name] for name, page in pages.items())


@pytest.mark.parametrize("name", PAGES)
def test_every_cell_of_a_table_has_a_heading_in_its_row_and_in_its_column(pages: dict[str, Element], name: str) -> None:
    for table in pages[name].iter("table"):
        what = text(table)[:60]
        rows = [list(row) for row in table.iter("tr")]
        assert [cell.get("scope") for cell in rows[0]] == ["col"] * len(rows[0]), what
        assert all(text(cell) for cell in rows[0]), what
        for heading, *cells in rows[1:]:
            assert heading.get("scope") == "row", what
            assert text(heading), what
            assert len(cells) == len(rows[0]) - 1, what


def test_a_table_is_named_by_its_caption_or_by_its_figure(pages: dict[str, Element]) -> None:
    for page in pages.values():
        framed = {id(table) for figure in page.iter("figure") for table in figure.iter("table")}
        for table in page.iter("table"):
            caption = table.find("caption")
            assert id(table) in framed or (caption is not None and text(caption)), text(table)[:60]


def test_a_drawing_is_named_or_nothing_to_the_ear(pages: dict[str, Element]) -> None:
    for page in pages.values():
        around = {child: parent for parent in page.iter() for child in parent}
        for drawing in page.iter("svg"):
            up = [drawing]
            while up[-1] in around:
                up.append(around[up[-1]])
            hidden = any(one.get("aria-hidden") == "true" for one in up)
            assert hidden or any(one.get("aria-label") for one in up[:3]), drawing.attrib


def test_what_shows_under_the_pointer_shows_under_the_focus(site: Path) -> None:
    """A rule for :hover alone may set off what can be pressed, and tells nothing."""
    telling = re.compile(r"(?<![-\w])(?!text-decoration|border-color|color\b|background|cursor)[a-z-]+\s*:")
    styles = re.sub(r"/\*.*?\*/", "", (site / "static/style.css").read_text("utf-8"), flags=re.S)
    rules = re.findall(r"([^{};]*:hover[^{]*)\{([^}]*)\}", styles)
    assert rules
    assert [rule for rule in rules if ":focus-visible" not in rule[0] and telling.search(rule[1])] == []


def visit(page: Page, site: Path, name: str, fragment: str = "") -> None:
    open_page(page, site, name, fragment)
    page.evaluate(PROBES)
    page.evaluate(OPEN_ALL)
    settled(page)


def test_the_skip_link_is_the_first_stop_and_leads_to_the_text(page: Page, site: Path) -> None:
    visit(page, site, "4-mask-and-heads")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the text")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.querySelector('main :is(a, [tabindex=\"0\"])')")


@pytest.mark.parametrize("name", PAGES)
def test_tab_goes_through_a_page_in_its_order_and_each_stop_is_seen(
    new_page: Callable[..., Page], site: Path, name: str
) -> None:
    page = new_page(viewport={"width": 1280, "height": 620}, reduced_motion="reduce")
    visit(page, site, name, CHANGED)
    page.evaluate(f"stops = {STOPS}{ONE_OF_A_GROUP}")
    count, faults = page.evaluate("stops.length"), []
    for number in range(count):
        page.keyboard.press("Tab")
        if page.evaluate("number => document.activeElement !== stops[number]", number):
            faults.append(page.evaluate("n => `${stops[n].outerHTML.slice(0, 80)} is not stop ${n}`", number))
            break
        faults += page.evaluate("probes.focus()")
    assert faults == []
    page.keyboard.press("Tab")
    assert page.evaluate("stops.includes(document.activeElement)") is False


def test_on_a_phone_no_stop_is_covered_either(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(viewport={"width": 360, "height": 640}, reduced_motion="reduce")
    for name in ("4-mask-and-heads", "workbench"):
        visit(page, site, name, CHANGED)
        faults = []
        for _ in range(page.evaluate(f"{STOPS}{ONE_OF_A_GROUP}.length")):
            page.keyboard.press("Tab")
            faults += page.evaluate("probes.focus()")
        assert faults == []


def everything_open(page: Page, site: Path, name: str) -> None:
    """A changed toy with broken claims, a notice, a wrong and a right verdict, an exercise, the panel and a note."""
    visit(page, site, name, CHANGED)
    for number, box in enumerate(page.locator(".check").all()):
        if box.get_attribute("data-choice"):
            box.get_by_role("radio").nth(number % 3).check()
        else:
            right = box.evaluate("box => box.dataset.answer ? live.at(box.dataset.answer) : '␣roof'")
            box.get_by_role("textbox").fill(str(right) if number % 2 else "12.5")
        box.get_by_role("button", name="Check").click()
    if page.locator("[data-do=another]").count():
        page.locator("[data-do=another]").click()
    if page.locator("[data-turns=Infinity]").count():
        page.locator("[data-turns=Infinity]").click()
    page.get_by_role("button", name="Copy link").click()
    page.evaluate(OPEN_ALL)
    settled(page)
    numbers = page.locator("td > [data-ref].editable, main [data-ref][role]").locator("visible=true")
    if numbers.count():
        numbers.first.evaluate("number => ask(number.dataset.ref, number)")


@pytest.mark.parametrize("name", [name for name in PAGES if name != "404"])
def test_axe_finds_nothing_with_everything_open_in_any_theme(
    new_page: Callable[..., Page], site: Path, name: str
) -> None:
    page = new_page(reduced_motion="reduce")  # no colour is met on its way to another
    everything_open(page, site, name)
    expect(page.locator("#notice")).not_to_be_empty()
    expect(page.locator("#bar")).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_visible()
    for theme, media in THEMES.items():
        page.emulate_media(**media)
        # What a theme changes are colours. Preloading would ask for the stylesheet again, which a file may not do.
        rules = {} if theme == "light" else {"runOnly": ["color-contrast"]}
        results = Axe().run(page, options={"preload": False, **rules})
        assert results.violations_count == 0, f"{theme}: {results.generate_report()}"


def test_a_changed_number_says_what_it_was_to_the_eye_the_keyboard_and_the_ear(page: Page, site: Path) -> None:
    visit(page, site, "6-output", "#W_U.1.6=-1.5")
    number = page.locator("td [data-ref='W_U.1.6']").first
    tip = "number => getComputedStyle(number, '::after').content.replaceAll('\"', '')"
    number.focus()
    page.keyboard.press("Home")
    number.focus()
    assert number.evaluate(tip).startswith("was ")
    expect(number).to_have_accessible_name(re.compile("−1.5.*was"))
    page.keyboard.press("Escape")
    assert number.evaluate(tip) == "none"
    number.hover()
    assert number.evaluate(tip) == "none"
    page.keyboard.press("Shift")
    assert number.evaluate(tip).startswith("was ")
    number.click()
    expect(page.get_by_role("dialog")).to_contain_text("It was ")


def test_what_is_wrong_with_an_entry_is_said_and_belongs_to_its_field(page: Page, site: Path) -> None:
    visit(page, site, "6-output")
    page.locator("#check-1 input").fill("much")
    page.locator("#check-1").get_by_role("button", name="Check").click()
    expect(page.locator("#check-1 output")).not_to_be_empty()
    assert 'described "I cannot read a number there.' in reading(page, "#check-1 input")
    page.locator("td [data-ref='W_U.1.6']").first.click()
    page.get_by_role("dialog").get_by_role("textbox").fill("much")
    assert 'described "not a number" invalid true' in reading(page, ".ask input")
    page.locator("#change-text").fill("the mouse")
    told = reading(page, "#change-text")
    assert 'described "no token fits at character' in told
    assert "invalid true" in told


def test_the_needle_is_turned_without_dragging_and_says_where_it_points(page: Page, site: Path) -> None:
    visit(page, site, "needle-and-dial")
    page.get_by_label("across").fill("0")
    page.get_by_label("up").fill("1.5")
    slider = page.get_by_role("slider", name="Needle")
    expect(slider).to_have_attribute("aria-valuetext", "90 degrees, length 1.50")
    slider.press("ArrowDown")
    expect(slider).to_have_attribute("aria-valuetext", "90 degrees, length 1.40")


def test_the_pieces_are_read_as_recorded(page: Page, site: Path) -> None:
    """`python tests/readings.py` records them anew: read what has changed aloud first."""
    assert written(readings(page, site)) == RECORD.read_text("utf-8")


def test_a_recorded_piece_has_numbers_only_as_refs_and_formulas_with_their_structure() -> None:
    record = RECORD.read_text("utf-8")
    assert all(f"# {name}\n" in record for name in PIECES)
    assert not re.search(r"\d[.]\d{2}", re.sub(r"\{[^}]*\}", "", record))
    assert {"MathMLSquareRoot", "MathMLFraction", "MathMLSub"} <= set(record.split())
