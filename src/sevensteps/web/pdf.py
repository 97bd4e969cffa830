"""The whole site as one PDF, printed by the browser. Needs Playwright, pypdf and a Chromium."""

import tempfile
from io import BytesIO
from pathlib import Path

from playwright.sync_api import Error, Page, sync_playwright
from pypdf import PdfReader

from sevensteps.browser import launch
from sevensteps.web.book import book
from sevensteps.web.output import write_file
from sevensteps.web.site import Site, Sources

#: The first Chromium that prints page numbers by a stylesheet.
OLDEST = 131
#: Numbers of sheets move the text, and the text moves the numbers: this often at most.
PASSES = 6
NUMBER_LINKS = """sheets => {
  for (const link of document.querySelectorAll("a[data-sheet]")) link.dataset.sheet = sheets[link.hash.slice(1)];
}"""


class PrintingError(Exception):
    """The browser does not print the book. The message says why."""


def write_pdf(sources: Sources, site: Site, output: Path) -> None:
    """Write the site as a PDF. Raises NoBrowserError, PrintingError, or InputError when the file cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: content for name, content in site.files.items() if name.startswith("static/")}
        files |= {"book.html": book(sources, site), "book.css": (sources.root / "static/css/book.css").read_bytes()}
        for name, content in files.items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        pdf = _print(Path(folder, "book.html"))
    write_file(output, pdf)


def _print(book: Path) -> bytes:
    with sync_playwright() as playwright:
        name, browser = launch(playwright)
        if int(browser.version.partition(".")[0]) < OLDEST:
            raise PrintingError(f"{name} has version {browser.version}; the PDF needs {OLDEST} or newer.")
        try:
            page = browser.new_page()
            page.goto(book.as_uri())
            page.evaluate("document.fonts.ready.then(() => null)")
            return _numbered(page)
        except Error as error:
            raise PrintingError(f"{name} did not print: {error.message}") from None
        finally:
            browser.close()


def _numbered(page: Page) -> bytes:
    """Print until every link names the sheet that it leads to. A first draft without tags takes a third of the time."""
    sheets = _sheets(page.pdf(prefer_css_page_size=True))
    for _ in range(PASSES):
        page.evaluate(NUMBER_LINKS, sheets)
        pdf = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        found = _sheets(pdf)
        if found == sheets:
            return pdf
        sheets = found
    raise PrintingError("The page numbers do not settle.")


def _sheets(pdf: bytes) -> dict[str, int]:
    """Id -> the number of the sheet on which it stands, from 1, for every id that a link leads to."""
    reader = PdfReader(BytesIO(pdf))
    numbers = {name: reader.get_destination_page_number(target) for name, target in reader.named_destinations.items()}
    return {name.removeprefix("/"): number + 1 for name, number in numbers.items() if number is not None}
