"""The browser that makes the PDF and runs the tests: whichever Chromium starts first. Needs Playwright."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Error, Playwright

NAMED = "SEVENSTEPS_BROWSER"
REMEDIES = f"""\
No browser starts. Do one of these:
  - install Chrome, Edge or Chromium (on Debian: `apt-get install chromium`);
  - run `python -m playwright install chromium`;
  - set {NAMED} to the path of a Chromium, Chrome or Edge.
Tried:
"""


class NoBrowserError(Exception):
    """No candidate starts. The message names the remedies and what was tried."""


def candidates() -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, Playwright's launch options), the best first. A browser named by the user is never replaced by another."""
    if named := os.environ.get(NAMED):
        yield f"{named} (from {NAMED})", {"executable_path": shutil.which(named) or named}
        return
    yield "Playwright's own Chromium", {}
    yield "Chrome", {"channel": "chrome"}
    yield "Edge", {"channel": "msedge"}
    for command in ("chromium", "chromium-browser"):
        if path := shutil.which(command):
            yield path, {"executable_path": path}


def launch(playwright: Playwright) -> tuple[str, Browser]:
    """Start the first candidate that starts: its name and the browser. Raises NoBrowserError."""
    tried = []
    for name, options in candidates():
        try:
            # Root cannot use Chromium's sandbox, and the pages are our own files.
            return name, playwright.chromium.launch(chromium_sandbox=False, **options)
        except Error as error:
            tried.append(f"  {name}: {error.message.splitlines()[0]}")
    raise NoBrowserError(REMEDIES + "\n".join(tried))
