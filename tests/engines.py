"""The commands that the three engines share, and Chromium with them. The others: firefox.py and webkit.py."""

from collections.abc import Callable
from typing import Any, Protocol

from playwright.sync_api import Browser


class Engine(Protocol):
    version: str
    close: Callable[[], None]

    def open(self, url: str) -> None:
        """Returns when the page is loaded."""

    def run(self, script: str, *arguments: Any) -> Any:
        """What the body of a function returns."""

    def click(self, css: str) -> None: ...

    def press(self, *chords: str) -> None: ...

    def type(self, text: str) -> None: ...

    def console(self) -> list[str]:
        """What the browser's own console got since the last call, where it can be had."""


class Chromium:
    """Chromium by Playwright."""

    def __init__(self, browser: Browser) -> None:
        self.version = browser.version
        self._page = browser.new_page()
        self.close = self._page.close
        self._console: list[str] = []
        self._page.on("console", lambda message: self._console.append(f"{message.type}: {message.text}"))
        self._page.on("pageerror", lambda error: self._console.append(str(error)))

    def open(self, url: str) -> None:
        self._page.goto(url)

    def run(self, script: str, *arguments: Any) -> Any:
        return self._page.evaluate(f"(these) => (function () {{ {script} }})(...these)", list(arguments))

    def click(self, css: str) -> None:
        self._page.locator(css).first.click()

    def press(self, *chords: str) -> None:
        for chord in chords:
            self._page.keyboard.press(chord)

    def type(self, text: str) -> None:
        self._page.keyboard.type(text)

    def console(self) -> list[str]:
        taken, self._console = self._console, []
        return taken
