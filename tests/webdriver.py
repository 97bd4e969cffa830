"""What Firefox and WebKit have in common: the W3C's WebDriver commands, whichever way they are sent."""

import base64
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Control": "\ue009", "Escape": "\ue00c", "ArrowRight": "\ue014"}
IN_THE_MIDDLE = '{ behavior: "instant", block: "center" }'
SECONDS = 60


class DriverError(Exception):
    """A command failed. The message is the browser's."""


class WebDriver:
    """A browser session. A subclass says how commands are sent."""

    def command(self, name: str, **arguments: Any) -> Any:
        """The result of a command, by the name that Marionette has for it. Raises DriverError."""
        raise NotImplementedError

    def open(self, url: str) -> None:
        self.command("Navigate", url=url)

    def run(self, script: str, *arguments: Any) -> Any:
        """What the body of a function returns."""
        return self.command("ExecuteScript", script=script, args=list(arguments))

    def click(self, css: str) -> None:
        """Scroll the first such element into view and click it in its middle."""
        # At once: WebKit would click while the page still scrolls smoothly.
        self.run(f"document.querySelector(arguments[0]).scrollIntoView({IN_THE_MIDDLE})", css)
        found = self.command("FindElement", using="css selector", value=css)
        self.command("ElementClick", id=found[ELEMENT])

    def press(self, *chords: str) -> None:
        """Press keys one after the other, by their names in the DOM; those of a chord are joined by "+"."""
        moves = []
        for chord in chords:
            held = [KEYS.get(key, key) for key in chord.split("+")]
            moves += [{"type": "keyDown", "value": key} for key in held]
            moves += [{"type": "keyUp", "value": key} for key in reversed(held)]
        self.command("PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": moves}])

    def type(self, text: str) -> None:
        self.press(*text)

    def resize(self, width: int, height: int) -> None:
        """The window's size: its bars are part of it."""
        self.command("SetWindowRect", width=width, height=height)

    def shot(self, path: Path) -> None:
        """A picture of what the window shows."""
        path.write_bytes(base64.b64decode(self.command("TakeScreenshot", full=False)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def connected(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    """A connection to the port that a process is about to open. Raises DriverError."""
    end = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), SECONDS)
        except OSError:
            time.sleep(0.05)
    raise DriverError(f"{process.args} does not answer on port {port}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end; after a while, make it."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
