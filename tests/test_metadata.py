"""What the site says of itself to search engines and other sites, and what it never does."""

import shutil
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from pages import PAGES, text
from PIL import Image
from playwright.sync_api import Browser
from toys import shipped_traces

ROOT = Path(__file__).parent.parent
ADDRESS = tomllib.loads((ROOT / "content/site.toml").read_text(encoding="utf-8"))["url"]
#: The colours of a probability's bar and of the room beside it.
BAR, TRACK = (0, 117, 78), (197, 232, 215)
LISTED = [name for name in PAGES if name != "404"]


def meta(page: Element) -> dict[str, str]:
    """The content of every <meta> by its name or property; each is there once (a colour of the frame once a theme)."""
    pairs = [(tag.get("name") or tag.get("property"), tag.get("content")) for tag in page.iter("meta")]
    named = [(name, content) for name, content in pairs if name and name != "theme-color"]
    assert [name for name, count in Counter(name for name, _ in named).items() if count > 1] == []
    return dict(named)


def links(page: Element, rel: str) -> list[str]:
    return [link.get("href") for link in page.iter("link") if link.get("rel") == rel]


def test_every_page_has_a_title_and_a_description_of_its_own(pages: dict[str, Element]) -> None:
    titles = [text(page.find(".//title")) for page in pages.values()]
    descriptions = [meta(page)["description"] for page in pages.values()]
    assert len(set(titles)) == len(set(descriptions)) == len(PAGES)
    assert all(len(title) <= 65 and "Seven Steps" in title for title in titles)
    assert all(40 <= len(description) <= 170 for description in descriptions)


@pytest.mark.parametrize("name", LISTED)
def test_a_page_tells_other_sites_what_to_show_of_it(pages: dict[str, Element], name: str) -> None:
    page, said = pages[name], meta(pages[name])
    address = ADDRESS + ("" if name == "index" else f"{name}.html")
    assert links(page, "canonical") == [said["og:url"]] == [address]
    assert said["og:title"] == text(page.find(".//h1"))
    assert said["og:description"] == said["description"]
    assert said["og:type"] == ("website" if name == "index" else "article")
    assert said["og:image"] == f"{ADDRESS}static/preview.png"
    assert len(said["og:image:alt"]) > 40
    assert said["twitter:card"] == "summary_large_image"


def test_the_404_has_no_address_to_be_shown_or_found_at(pages: dict[str, Element]) -> None:
    assert links(pages["404"], "canonical") == []
    assert not any(name.startswith("og:") for name in meta(pages["404"]))


def test_robots_may_read_everything_and_learn_of_the_sitemap(site: Path) -> None:
    lines = (site / "robots.txt").read_text(encoding="utf-8").splitlines()
    assert lines == ["User-agent: *", "Allow: /", f"Sitemap: {ADDRESS}sitemap.xml"]


def test_the_address_is_set_in_one_place(tmp_path: Path, site: Path) -> None:
    for folder in ("content", "templates", "static"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    settings = tmp_path / "content/site.toml"
    other = "https://example.org/steps"
    settings.write_text(settings.read_text(encoding="utf-8").replace(ADDRESS, other), encoding="utf-8")
    command = [sys.executable, ROOT / "build.py", "--source", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    for file in site.rglob("*"):
        if file.suffix in (".html", ".xml", ".txt") and file.parent == site:
            moved = (tmp_path / "site" / file.name).read_text(encoding="utf-8")
            assert moved == file.read_text(encoding="utf-8").replace(ADDRESS, f"{other}/"), file.name


# The preview


def preview(folder: Path) -> np.ndarray:
    with Image.open(folder / "static/preview.png") as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB"), dtype=int)


def test_the_preview_has_the_size_that_it_is_said_to_have(site: Path, pages: dict[str, Element]) -> None:
    said = meta(pages["index"])
    height, width, _ = preview(site).shape
    assert [said["og:image:width"], said["og:image:height"]] == [str(width), str(height)] == ["1200", "630"]
    assert (site / "static/preview.png").stat().st_size < 200_000


def test_the_bars_of_the_preview_are_the_toys_largest_probabilities(site: Path) -> None:
    pixels = preview(site)
    bar, track = ((pixels == colour).all(axis=2) for colour in (BAR, TRACK))
    rows = np.flatnonzero(bar.any(axis=1))
    bars = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    middles = [rows[len(rows) // 2] for rows in bars]
    shares = [bar[y].sum() / (bar[y].sum() + track[y].sum()) for y in middles]
    largest = np.sort(shipped_traces()["main"].values["probs"][-1])[::-1]
    assert shares == pytest.approx(largest[:5], abs=0.02)


# What the site never does


@pytest.fixture
def host(site: Path) -> Iterator[str]:
    """The built site on a port of this machine, as a web host gives it."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_no_page_sets_a_cookie_or_asks_another_site_even_when_it_is_used(host: str, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in PAGES:
        page.goto(f"{host}/{name}.html")
        if page.locator("#main data.num").count():
            page.locator("#main data.num >> visible=true").first.click()
        assert page.evaluate("document.cookie") == ""
    assert context.cookies() == []
    assert len(asked) > len(PAGES)
    assert [url for url in asked if not url.startswith(host)] == []
    context.close()
