"""The pages on paper: the PDF of the whole site as the command line makes it, and each page printed by itself."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from unicodedata import normalize
from xml.etree.ElementTree import Element

import pytest
from pages import PAGES, STEPS, of_class, text
from playwright.sync_api import Page
from pypdf import PageObject, PdfReader
from pypdf.generic import Destination

ROOT = Path(__file__).parent.parent
ON_PAPER = [name for name in PAGES if name != "404"]
MM = 72 / 25.4
#: What a sheet of A4 leaves between its margins, in the browser's pixels.
PRINTABLE = (210 - 2 * 16) * 96 / 25.4

OVERFLOWING = """width => [...document.querySelectorAll("main :is(table, pre, figure, math, svg, .working, .check)")]
  .filter(thing => thing.getClientRects().length)
  .filter(thing => thing.getBoundingClientRect().right > width + 1 || thing.scrollWidth > thing.clientWidth + 1
    && getComputedStyle(thing).display !== "inline")
  .map(thing => `${thing.localName}.${thing.getAttribute("class")}: ${thing.textContent.trim().slice(0, 40)}`)"""

COLOURS = """[...document.querySelectorAll("body, body *")].map(e => getComputedStyle(e))
  .map(style => `${style.color} on ${style.backgroundColor}`)"""
SHOWN = "some => [...document.querySelectorAll(some)].filter(e => e.getClientRects().length).map(e => e.outerHTML)"


def printed(*options: object, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "build.py", "pdf", *options]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, encoding="utf-8")


@dataclass
class Line:
    """A piece of text on a sheet, and where it begins: how far from the left and above the lower edge, in mm."""

    text: str
    left: float
    height: float


def read_sheet(sheet: PageObject) -> tuple[str, list[Line]]:
    """All text of a sheet, and its pieces."""
    lines: list[Line] = []

    def see(text: str, outer: list[float], inner: list[float], *_: object) -> None:
        if text.strip():
            left, height = (inner[4] * outer[i] + inner[5] * outer[2 + i] + outer[4 + i] for i in (0, 1))
            lines.append(Line(text.strip(), left / MM, height / MM))

    return sheet.extract_text(visitor_text=see), lines


def squeezed(words: str) -> str:
    """Without white space and ligatures: a PDF keeps places, not spaces."""
    return re.sub(r"\s", "", normalize("NFKC", words))


@dataclass
class Book:
    """The PDF, and what is read from it once for all tests."""

    reader: PdfReader
    texts: tuple[str, ...]
    lines: tuple[list[Line], ...]

    @property
    def contents(self) -> range:
        """The sheets of the contents, from 0: between the cover and the first page of the site."""
        return range(1, self.number(self.outline[1]))

    @property
    def outline(self) -> list[Destination]:
        def flat(items: list[object]) -> Iterator[Destination]:
            for item in items:
                yield from flat(item) if isinstance(item, list) else [item]

        return list(flat(self.reader.outline))

    def number(self, target: Destination) -> int:
        number = self.reader.get_destination_page_number(target)
        assert number is not None
        return number

    def links(self, sheet: int) -> list[dict[str, object]]:
        return [link.get_object() for link in self.reader.pages[sheet].get("/Annots", [])]


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    file = tmp_path_factory.mktemp("printed") / "book.pdf"
    ended = printed("--output", file)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"Open {file}\n"
    assert list(file.parent.iterdir()) == [file]
    reader = PdfReader(BytesIO(file.read_bytes()))
    texts, lines = zip(*map(read_sheet, reader.pages), strict=True)
    return Book(reader, texts, lines)


@pytest.fixture(scope="session")
def headings(pages: dict[str, Element]) -> list[list[str]]:
    """For each page on paper its headings in order; what needs scripts has none there."""

    def walk(element: Element) -> Iterator[str]:
        if "live" not in element.get("class", "").split():
            if element.tag in ("h1", "h2", "h3"):
                yield text(element)
            for child in element:
                yield from walk(child)

    return [list(walk(pages[name].find(".//main"))) for name in ON_PAPER]


def test_every_sheet_is_a4_and_bears_its_number_at_the_foot(book: Book) -> None:
    assert len(book.reader.pages) > len(ON_PAPER)
    for number, sheet in enumerate(book.reader.pages, start=1):
        assert [float(side) / MM for side in sheet.mediabox] == pytest.approx([0, 0, 210, 297], abs=0.5)
        (number_line,) = (line for line in book.lines[number - 1] if line.text == str(number) and line.height < 15)
        assert number_line.left == pytest.approx(105, abs=2)


def test_the_contents_name_every_page_and_section_with_the_sheet_on_which_it_stands(
    book: Book, pages: dict[str, Element]
) -> None:
    contents = squeezed("".join(book.texts[sheet] for sheet in book.contents))
    listed = 0
    for name in ON_PAPER:
        step = f"{STEPS.index(name) + 1}·" if name in STEPS else ""
        for heading in (heading for heading in pages[name].find(".//main").iter() if heading.tag in ("h1", "h2")):
            title = squeezed(text(heading))
            assert step + title in contents
            # The digits of the next title may follow at once: any sheet that they can name will do.
            after = contents.partition(step + title)[2]
            digits = re.match(r"\d+", after)[0]
            sheets = [int(digits[:length]) for length in range(1, len(digits) + 1)]
            on = [
                sheet for sheet in sheets if 0 < sheet <= len(book.texts) and title in squeezed(book.texts[sheet - 1])
            ]
            assert on, f"{text(heading)} does not stand on sheet {digits}"
            contents = after[len(str(on[-1])) :]
            step = ""
            listed += 1
    assert listed > 80


def test_the_outline_holds_every_heading_on_its_sheet(book: Book, headings: list[list[str]]) -> None:
    expected = ["Contents", *(heading for page in headings for heading in page)]
    assert [squeezed(item.title) for item in book.outline] == [squeezed(heading) for heading in expected]
    for item in book.outline:
        assert squeezed(item.title) in squeezed(book.texts[book.number(item)])


def test_no_heading_stands_at_the_foot_of_a_sheet_without_what_it_announces(book: Book) -> None:
    alone = [
        item.title
        for item in book.outline
        if not any(15 < line.height < item.top / MM - 8 for line in book.lines[book.number(item)])
    ]
    assert alone == []


def test_links_between_pages_lead_to_sheets_and_all_others_to_the_web(book: Book) -> None:
    known = book.reader.named_destinations
    inside = [link["/Dest"] for sheet in range(len(book.texts)) for link in book.links(sheet) if "/Dest" in link]
    outside = [link["/A"]["/URI"] for sheet in range(len(book.texts)) for link in book.links(sheet) if "/A" in link]
    assert len(inside) > 200
    assert [name for name in inside if name not in known] == []
    assert [uri for uri in outside if not uri.startswith("https://")] == []


def test_a_printed_link_names_the_sheet_to_which_it_leads(book: Book) -> None:
    known = book.reader.named_destinations
    named = 0
    for sheet, words in enumerate(book.texts):
        targets = {book.number(known[link["/Dest"]]) + 1 for link in book.links(sheet) if "/Dest" in link}
        for number in re.findall(r"\(p\.\s*(\w*)\)", words):
            assert int(number) in targets
            named += 1
    assert named > 50


def test_every_answer_is_printed(book: Book, pages: dict[str, Element]) -> None:
    everything = squeezed("".join(book.texts))
    answers = [
        squeezed(text(paragraph))
        for name in ON_PAPER
        for answer in of_class(pages[name], "answer")
        for paragraph in answer.iter("p")
        # A formula and an index have no one order in a PDF.
        if answer.tag == "details" and not any(child.tag in ("math", "sub", "sup") for child in paragraph.iter())
    ]
    assert len(answers) > 50
    assert [answer for answer in answers if answer not in everything] == []


def test_the_pdf_is_tagged_and_says_its_language_and_title(book: Book) -> None:
    catalogue = book.reader.trailer["/Root"]
    assert catalogue["/MarkInfo"]["/Marked"]
    assert "/StructTreeRoot" in catalogue
    assert catalogue["/Lang"] == "en"
    assert book.reader.metadata.title.startswith("Seven Steps")


def test_without_a_browser_the_command_says_what_to_install_and_the_old_pdf_stays(tmp_path: Path) -> None:
    file = tmp_path / "book.pdf"
    file.write_bytes(b"old")
    ended = printed("--output", file, SEVENSTEPS_BROWSER=str(tmp_path / "missing"))
    assert ended.returncode == 3
    assert "playwright install chromium" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("package", ["playwright", "pypdf"])
def test_without_a_package_the_command_names_it_in_one_line(tmp_path: Path, package: str) -> None:
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(name={package!r})", "utf-8")
    ended = printed("--output", tmp_path / "book.pdf", PYTHONPATH=str(tmp_path))
    assert ended.returncode == 3
    assert ended.stderr == f"The PDF needs {package}: run `python -m pip install -e '.[pdf]'`.\n"
    assert not (tmp_path / "book.pdf").exists()


def test_a_file_that_is_no_pdf_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine", "utf-8")
    ended = printed("--output", file)
    assert ended.returncode == 2
    assert str(file) in ended.stderr
    assert file.read_text("utf-8") == "mine"


def test_a_mistake_in_the_template_of_the_book_is_named(tmp_path: Path) -> None:
    for folder in ("content", "templates", "static"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    with (tmp_path / "templates/book.html").open("a", encoding="utf-8") as template:
        template.write("<%= nothing_of_this_name %>\n")
    ended = printed("--source", tmp_path)
    assert ended.returncode == 2
    assert "templates/book.html:" in ended.stderr
    assert "nothing_of_this_name" in ended.stderr


@pytest.mark.parametrize("name", ON_PAPER)
def test_nothing_reaches_beyond_the_right_edge_of_the_paper(page: Page, site: Path, name: str) -> None:
    page.set_viewport_size({"width": int(PRINTABLE), "height": 1000})
    page.emulate_media(media="print")
    page.goto((site / f"{name}.html").as_uri())
    assert page.locator("main :is(table, pre, figure, math)").count() > 0
    assert page.evaluate(OVERFLOWING, PRINTABLE) == []


@pytest.mark.parametrize("name", ON_PAPER)
def test_nothing_that_needs_a_screen_is_printed(page: Page, site: Path, name: str) -> None:
    page.emulate_media(media="print")
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate(SHOWN, "button, input, select, nav, .live:not(.changed-bar)") == []


@pytest.mark.parametrize("name", ["index", "6-output", "workbench"])
def test_paper_is_white_and_has_the_same_colours_whatever_the_screen_has(page: Page, site: Path, name: str) -> None:
    seen = []
    for scheme in ("light", "dark"):
        page.emulate_media(media="print", color_scheme=scheme)
        page.goto((site / f"{name}.html").as_uri())
        seen.append(page.evaluate(COLOURS))
    assert seen[0][0] == "rgb(0, 0, 0) on rgb(255, 255, 255)"
    assert seen[0] == seen[1]


def test_a_printed_page_says_to_which_step_a_link_leads(page: Page, site: Path) -> None:
    page.emulate_media(media="print")
    page.goto((site / "5-block.html").as_uri())
    after = "link => getComputedStyle(link, '::after').content"
    assert page.get_by_role("link", name="LayerNorm").first.evaluate(after) == '" (step 3)"'
    page.goto((site / "6-output.html").as_uri())
    assert page.get_by_role("main").get_by_role("link", name="step 5").first.evaluate(after) == "none"


def test_the_two_readings_of_the_needle_are_both_printed(page: Page, site: Path) -> None:
    page.emulate_media(media="print")
    page.goto((site / "needle-and-dial.html").as_uri())
    assert [table.is_visible() for table in page.locator(".needle-picture table").all()] == [True, True]
