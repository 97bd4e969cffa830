"""The command that takes a picture of every page: one page of it in all its looks, and the index."""

import re
import struct
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from screenshots import LOOKS, index, take


def size_of(png: Path) -> tuple[int, int]:
    """Width and height in pixels, as the file's header says."""
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:])


@pytest.mark.parametrize("look", LOOKS)
def test_a_picture_is_as_wide_as_its_look_and_as_long_as_the_page(
    browser: Browser, site: Path, tmp_path: Path, look: str
) -> None:
    take(browser, site / "odds.html", look, tmp_path / "odds.png")
    width, height = size_of(tmp_path / "odds.png")
    assert width == LOOKS[look]["viewport"]["width"]
    assert height > 1.5 * LOOKS[look]["viewport"]["height"]


def test_the_looks_are_those_of_desktop_phone_dark_and_paper() -> None:
    assert list(LOOKS) == ["desktop", "phone", "dark", "print"]


def test_the_index_shows_every_page_in_every_look() -> None:
    shown = re.findall(r'<img src="([^"]+)"', index(["index", "odds"]))
    assert shown == [f"{look}/{name}.png" for name in ("index", "odds") for look in LOOKS]
