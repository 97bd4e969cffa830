"""Get what the tests need besides Python packages, a browser and the lab's model: `python tests/prepare.py`.

Without a browser it fails. Firefox, WebKit and the model are done without: their tests are skipped, and say so.
"""

import sys

import browser
import firefox
import webkit

from sevensteps.browser import NoBrowserError
from sevensteps.lab.package import install


def main() -> None:
    """Say what was found. Raises NoBrowserError, and InputError where the model is not what it was."""
    print(f"The browser tests use {browser.get()}.")
    browser.get_others()
    others = {"Firefox": firefox.installed(), "WebKit": webkit.installed(), "The lab's model": install()}
    for name, found in others.items():
        print(f"{name}: {'found' if found else 'not found, its tests are skipped'}.")


if __name__ == "__main__":
    try:
        main()
    except NoBrowserError as error:
        sys.exit(str(error))
