"""Take a picture of every page as readers meet it: on a desktop, on a phone, in the dark, on paper.

Run as `python tests/screenshots.py FOLDER`. The site is built anew. The folder's index.html shows all pictures.
"""

import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from sevensteps.browser import NoBrowserError, launch

ROOT = Path(__file__).parents[1]
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
#: Name -> options of the browser's context. On paper the width is that between the margins of A4, at 96 dots an inch.
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": DESKTOP,
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "dark": {**DESKTOP, "color_scheme": "dark"},
    "print": {"viewport": {"width": 672, "height": 951}},
}
INDEX = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Screenshots</title>
<style>
body {{ font-family: sans-serif; }}
tr {{ vertical-align: top; }}
img {{ width: 20vw; max-height: 60vh; object-fit: cover; object-position: top; border: 1px solid #999; }}
</style>
<table>
<tr><th></th>{heads}</tr>
{rows}
</table>
</html>
"""


def take(browser: Browser, page_file: Path, look: str, file: Path) -> None:
    """One picture of a whole page."""
    with browser.new_context(offline=True, **LOOKS[look]) as context:
        page = context.new_page()
        page.emulate_media(media="print" if look == "print" else "screen")
        page.goto(page_file.as_uri())
        page.evaluate("document.fonts.ready.then(() => null)")
        # As high as the page: a picture beyond the window would be taken without the phone's touch.
        width = page.evaluate("innerWidth")
        page.set_viewport_size({"width": width, "height": page.evaluate("document.documentElement.scrollHeight")})
        # A page of 20,000 pixels takes its time.
        page.screenshot(path=file, animations="disabled", timeout=300_000)


def index(names: list[str]) -> str:
    """A table of the pictures: a row for each page, a column for each look."""
    heads = "".join(f"<th>{look}</th>" for look in LOOKS)
    rows = "\n".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(
            f'<td><a href="{look}/{name}.png"><img src="{look}/{name}.png" alt="" loading="lazy"></a></td>'
            for look in LOOKS
        )
        + "</tr>"
        for name in names
    )
    return INDEX.format(heads=heads, rows=rows)


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        site = Path(scratch, "site")
        subprocess.run([sys.executable, ROOT / "build.py", "--output", site], check=True, stdout=subprocess.DEVNULL)
        names = sorted(file.relative_to(site).with_suffix("").as_posix() for file in site.rglob("*.html"))
        _, browser = launch(playwright)
        for look in LOOKS:
            for name in names:
                file = folder / look / f"{name}.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                take(browser, site / f"{name}.html", look, file)
        browser.close()
    (folder / "index.html").write_text(index(names), "utf-8")
    print(f"Open {folder / 'index.html'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]))
    except NoBrowserError as error:
        sys.exit(str(error))
