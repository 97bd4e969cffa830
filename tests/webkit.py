"""Drives WebKitGTK by its own WebDriver over HTTP, on a display of its own that nobody sees."""

import glob
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from contextlib import ExitStack
from typing import Any

from webdriver import SECONDS, DriverError, WebDriver, connected, end, free_port

DRIVER, DISPLAY = "WebKitWebDriver", "Xvfb"
#: The method and the path of each command, in a session.
PATHS = {
    "Navigate": ("POST", "/url"),
    "ExecuteScript": ("POST", "/execute/sync"),
    "FindElement": ("POST", "/element"),
    "ElementClick": ("POST", "/element/{id}/click"),
    "PerformActions": ("POST", "/actions"),
    "SetWindowRect": ("POST", "/window/rect"),
    "TakeScreenshot": ("GET", "/screenshot"),
}


def installed() -> bool:
    return bool(shutil.which(DRIVER) and shutil.which(DISPLAY) and mini_browsers())


def mini_browsers() -> list[str]:
    """The small browser that comes with the library, in each version of it."""
    return sorted(glob.glob("/usr/lib/*/webkit*gtk-*/MiniBrowser"))


class WebKit(WebDriver):
    """WebKit's MiniBrowser, with a home of its own."""

    def __init__(self) -> None:
        with ExitStack() as undo:
            home = undo.enter_context(tempfile.TemporaryDirectory(prefix="webkit-", ignore_cleanup_errors=True))
            server, display = started_display()
            undo.callback(end, server)
            port = free_port()
            process = subprocess.Popen(
                [DRIVER, f"--port={port}"],
                cwd=home,
                env={**os.environ, "HOME": home, "DISPLAY": display, "GDK_BACKEND": "x11"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            undo.callback(end, process)
            connected(port, process).close()
            self._session = f"http://127.0.0.1:{port}/session"
            browser = {"binary": mini_browsers()[-1], "args": ["--automation"]}
            wanted = {"alwaysMatch": {"webkitgtk:browserOptions": browser}}
            session = self._answer("POST", "", {"capabilities": wanted})
            self._session += f"/{session['sessionId']}"
            undo.callback(self._answer, "DELETE", "")
            self.version: str = session["capabilities"]["browserVersion"]
            self.close = undo.pop_all().close

    def command(self, name: str, **arguments: Any) -> Any:
        method, path = PATHS[name]
        return self._answer(method, path.format(**arguments), arguments if method == "POST" else None)

    def console(self) -> list[str]:
        """Nothing: in automation WebKit keeps it to itself."""
        return []

    def _answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._session + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise DriverError(error.read().decode()) from None


def started_display() -> tuple[subprocess.Popen[bytes], str]:
    """A display server on a free display, and the display's name."""
    reads, writes = os.pipe()
    command = [DISPLAY, "-displayfd", str(writes), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=[writes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        return process, f":{pipe.readline().strip()}"
