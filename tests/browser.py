"""The browsers of the tests: which they use, and how to get those that are not found."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import firefox
import webkit
from playwright.sync_api import Page, sync_playwright

from sevensteps.browser import NAMED, NoBrowserError, launch

DOWNLOAD_SECONDS = 600
#: The other engines (test_other_browsers.py). Without them their tests are skipped.
OTHERS = ("firefox-esr", "webkit2gtk-driver", "xvfb")


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


def get_others() -> None:
    """Firefox and WebKit, where they can be had."""
    if not (firefox.installed() and webkit.installed()) and _is_root() and shutil.which("apt-get"):
        _succeeds(["apt-get", "update"])
        for package in OTHERS:
            _succeeds(["apt-get", "install", "-y", package])


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
