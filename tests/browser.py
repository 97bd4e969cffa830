"""The browser of the tests. `python tests/browser.py` says which one they use and gets one when none is found."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright

NAMED = "SEVENSTEPS_BROWSER"
DOWNLOAD_SECONDS = 600
REMEDIES = f"""\
No browser for the tests. Do one of these:
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


def watch(page: Page, folder: Path) -> list[str]:
    """A list that fills with what a page of this folder must never do: speak on the console, fail, ask elsewhere."""
    seen: list[str] = []
    inside = folder.resolve().as_uri() + "/"
    page.on("console", lambda message: seen.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.append(f"error: {error}"))
    page.on("request", lambda asked: None if asked.url.startswith(inside) else seen.append(f"request: {asked.url}"))
    return seen


def installers() -> Iterator[list[list[str]]]:
    """The ways to get a browser, each a list of commands."""
    yield [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if _is_root() and shutil.which("apt-get"):
        yield [["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]]


def get() -> str:
    """The name of a browser that starts, installed when there was none. Raises NoBrowserError."""
    try:
        return _name()
    except NoBrowserError:
        if os.environ.get(NAMED):
            raise
    for commands in installers():
        if all(_succeeds(command) for command in commands):
            try:
                return _name()
            except NoBrowserError as error:
                print(error, file=sys.stderr)
    return _name()


def _name() -> str:
    with sync_playwright() as playwright:
        name, browser = launch(playwright)
        browser.close()
    return name


def _succeeds(command: list[str]) -> bool:
    print("+", *command, flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=environment, timeout=DOWNLOAD_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


if __name__ == "__main__":
    try:
        print(f"The browser tests use {get()}.")
    except NoBrowserError as error:
        sys.exit(str(error))
