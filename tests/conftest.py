"""Fixtures of all tests: the site as the command line builds it, and a browser page that must stay silent."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from browser import watch
from pages import PAGES, read
from playwright.sync_api import Browser, Page, sync_playwright

from sevensteps.browser import NoBrowserError, launch
from sevensteps.lab.package import packaged_model

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a freshly built site."""
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, ROOT / "build.py", "--output", folder]
    # Run in another folder: the build must not depend on the working folder.
    build = subprocess.run(command, cwd=folder.parent, capture_output=True, encoding="utf-8")
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Element]:
    """The built pages as trees."""
    return {name: read(site / f"{name}.html") for name in PAGES}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A running Chromium; never installs one."""
    with sync_playwright() as playwright:
        try:
            _, started = launch(playwright)
        except NoBrowserError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        yield started
        started.close()


@pytest.fixture
def new_page(browser: Browser, site: Path) -> Iterator[Callable[..., Page]]:
    """Opens offline pages, each in a fresh context with the given options; at the end all must have been silent."""
    contexts, watched = [], []

    def open_page(**options: Any) -> Page:
        contexts.append(browser.new_context(offline=True, **options))
        page = contexts[-1].new_page()
        watched.append(watch(page, site))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [event for seen in watched for event in seen] == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One such page with Playwright's default options."""
    return new_page()


@pytest.fixture(scope="session")
def packaged() -> Path:
    """The file of the lab's packaged model; tests/prepare.py gets it where it can be had."""
    path = packaged_model()
    if path is None:
        pytest.skip("the lab's model is not installed (python build.py lab --install)")
    return path
