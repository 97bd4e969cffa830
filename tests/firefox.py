"""Drives a stock Firefox by Marionette, its own protocol: JSON over a socket. It needs no driver."""

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from webdriver import DriverError, WebDriver, connected, end, free_port

PREFERENCES = {
    # The preferences that Marionette recommends would loosen what a page opened from a file may do.
    "remote.prefs.recommended": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.newtabpage.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
#: Errors, warnings and reports of pages; a page's own console calls do not get here.
TAKE_CONSOLE = """
const messages = Services.console.getMessageArray()
  .filter((message) => message instanceof Ci.nsIScriptError && /^(file|http):/.test(message.sourceName))
  .map((message) => `${message.category}: ${message.errorMessage} ${message.sourceName}:${message.lineNumber}`);
Services.console.reset();
return messages;
"""


def installed() -> str | None:
    """The path of a Firefox."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox(WebDriver):
    """A headless Firefox with a profile of its own."""

    def __init__(self) -> None:
        with ExitStack() as undo:
            home = undo.enter_context(tempfile.TemporaryDirectory(prefix="firefox-", ignore_cleanup_errors=True))
            port = free_port()
            preferences = {**PREFERENCES, "marionette.port": port}
            lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()]
            Path(home, "user.js").write_text("".join(lines), "utf-8")
            # Without system access Marionette cannot read the console.
            options = ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", home]
            process = subprocess.Popen(
                [installed() or "firefox", *options],
                env={**os.environ, "HOME": home},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            undo.callback(end, process)
            self._socket = undo.enter_context(connected(port, process))
            self._received()  # It greets.
            self.version: str = self._sent("WebDriver:NewSession")["capabilities"]["browserVersion"]
            self.close = undo.pop_all().close

    def command(self, name: str, **arguments: Any) -> Any:
        answer = self._sent(f"WebDriver:{name}", **arguments)
        return answer.get("value", answer)

    def console(self) -> list[str]:
        """What was written since the last call."""
        self._sent("Marionette:SetContext", value="chrome")
        messages: list[str] = self.run(TAKE_CONSOLE)
        self._sent("Marionette:SetContext", value="content")
        return messages

    def _sent(self, command: str, **arguments: Any) -> Any:
        message = json.dumps([0, 0, command, arguments]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._received()
        if error:
            raise DriverError(f"{error['error']}: {error['message']}")
        return result

    def _received(self) -> Any:
        """A message: its length in bytes, a colon, JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self._bytes(1)
        return json.loads(self._bytes(int(length[:-1])))

    def _bytes(self, number: int) -> bytes:
        found = b""
        while len(found) < number:
            more = self._socket.recv(number - len(found))
            if not more:
                raise DriverError("Firefox has ended")
            found += more
        return found
