"""The site in Chromium, opened from its files."""

from collections.abc import Callable
from pathlib import Path

import pages
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import watch
from playwright.sync_api import Browser, Page, expect

STEPS = [f"{slug}.html" for slug in pages.STEPS]
PAGES = [f"{slug}.html" for slug in pages.PAGES]

OPEN_ALL_DETAILS = "document.querySelectorAll('details').forEach(details => { details.open = true })"

# Tables and formulas of the main text that reach beyond the page's width: for each, what it is, the name of the
# focusable region around it, and how far that region scrolls.
WIDE_THINGS = """[...document.querySelectorAll("main table, main math")]
  .filter(thing => thing.getBoundingClientRect().right > document.documentElement.clientWidth)
  .map(thing => {
    const region = thing.closest("[role=group][tabindex='0']");
    if (region) region.scrollLeft = 10000;
    const by = region?.getAttribute("aria-labelledby");
    return {
      what: thing.textContent.trim().slice(0, 60),
      name: region?.getAttribute("aria-label") || (by && document.getElementById(by)?.textContent) || "",
      scrolled: region?.scrollLeft ?? 0,
    };
  })"""


TEXT = """main => {
  const copy = main.cloneNode(true);
  copy.querySelectorAll("select").forEach(list => list.remove());
  return copy.textContent;
}"""


def visit(page: Page, site: Path, name: str) -> None:
    page.goto((site / name).as_uri())


def words(page: Page) -> list[str]:
    """The words of the main text, those in closed answers too. The lists of live controls are no text."""
    return page.locator("main").evaluate(TEXT).split()


def test_the_pages_tested_here_are_all_pages_of_the_site(site: Path) -> None:
    assert sorted(PAGES) == sorted(file.relative_to(site).as_posix() for file in site.rglob("*.html"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_in_silence_and_has_one_heading(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("h1")).to_be_visible()


def test_the_watch_sees_messages_errors_and_requests_outside_the_folder(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (tmp_path / "outside.css").touch()
    (folder / "loud.html").write_text(
        '<link rel="stylesheet" href="../outside.css"><script>console.log("hello"); nothing.here</script>', "utf-8"
    )
    page = browser.new_page()
    seen = watch(page, folder)
    visit(page, folder, "loud.html")
    page.close()
    assert sorted(event.split(":")[0] for event in seen) == ["console log", "error", "request"]


@pytest.mark.parametrize("name", PAGES)
def test_the_path_picture_links_all_seven_steps_and_marks_this_one(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    there = "links => links.map(link => link.href)"
    addresses = {step: (site / step).as_uri() for step in STEPS}
    assert page.locator("nav.path a").evaluate_all(there) == list(addresses.values())
    marked = page.locator("nav.path a[aria-current=page]").evaluate_all(there)
    assert marked == [address for step, address in addresses.items() if step == name]


def test_the_path_picture_goes_round(page: Page, site: Path) -> None:
    visit(page, site, "index.html")
    for number, name in enumerate([*STEPS, STEPS[0]]):
        page.locator("nav.path a").nth(number % len(STEPS)).click()
        expect(page).to_have_url((site / name).as_uri())


@pytest.mark.parametrize(
    ("link", "way"), [("next", ["index.html", *STEPS, "index.html"]), ("prev", [*STEPS[::-1], "index.html"])]
)
def test_next_leads_from_home_through_all_steps_and_home_again_and_previous_back(
    page: Page, site: Path, link: str, way: list[str]
) -> None:
    visit(page, site, way[0])
    for name in way[1:]:
        page.locator(f"nav.pager a[rel={link}]").click()
        expect(page).to_have_url((site / name).as_uri())


def test_the_home_page_has_nothing_before_it(page: Page, site: Path) -> None:
    visit(page, site, "index.html")
    assert page.locator("nav.pager a").evaluate_all("links => links.map(({ rel }) => rel)") == ["next"]


@pytest.mark.parametrize("width", [320, 360])
@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_page_does_not_scroll_sideways(page: Page, site: Path, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    visit(page, site, name)
    page.evaluate(OPEN_ALL_DETAILS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_wider_than_a_phone_scrolls_in_its_own_named_region(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    wide = []
    for name in PAGES:
        visit(page, site, name)
        page.evaluate(OPEN_ALL_DETAILS)
        wide += [{"page": name, **thing} for thing in page.evaluate(WIDE_THINGS)]
    assert wide, "no table is wider than a phone: this test tests nothing"
    assert [thing for thing in wide if not thing["name"].strip() or not thing["scrolled"]] == []


#: How far a table's caption, and the heading of its row headings, move while the numbers scroll to the end.
MOVED = """() => [...document.querySelectorAll(".scroll:has(> table > caption):not(.station *)")].flatMap((box) => {
  const places = () => [...box.querySelectorAll("caption, .corner")].map((e) => e.getBoundingClientRect().left);
  const before = places();
  box.scrollLeft = 9999;
  return box.scrollLeft > 20 ? places().map((left, i) => Math.abs(left - before[i])) : [];
})"""


@pytest.mark.parametrize(
    "name", ["2-embeddings", "5-block", "6-output", "7-generation", "lab/logit-lens", "lab/attention-off"]
)
def test_what_a_table_is_about_stays_in_sight_while_it_scrolls_on_a_phone(page: Page, site: Path, name: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    visit(page, site, f"{name}.html")
    moved = page.evaluate(MOVED)
    assert moved, "no table scrolls: this test tests nothing"
    assert max(moved) < 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(page: Page, site: Path, name: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    visit(page, site, name)
    page.evaluate(OPEN_ALL_DETAILS)
    # Its preloading asks for the stylesheet once more, which a page opened from a file may not do.
    results = Axe().run(page, options={"preload": False})
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("name", PAGES)
def test_all_text_is_there_without_javascript(page: Page, new_page: Callable[..., Page], site: Path, name: str) -> None:
    plain = new_page(java_script_enabled=False)
    visit(page, site, name)
    visit(plain, site, name)
    assert words(plain) == words(page)
    assert len(words(plain)) > 10


@pytest.mark.parametrize("name", STEPS)
def test_an_answer_is_closed_on_the_screen_and_printed_on_paper(page: Page, site: Path, name: str) -> None:
    visit(page, site, name)
    answers = page.locator("section.check details > :not(summary)").all()
    assert len(answers) >= 3
    for answer in answers:
        expect(answer).to_be_hidden()
    page.emulate_media(media="print")
    for answer in answers:
        expect(answer).to_be_visible()
