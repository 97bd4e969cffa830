"""Links that work from a folder on a disk: each leads to a file of the site and to an element that is there."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from sevensteps.web.check.reader import Node, Page
from sevensteps.web.check.rules import Finding

#: Attributes that hold one address, and those that name elements of the same page.
ADDRESSES = ("href", "src", "xlink:href", "poster", "action")
NAMES = ("aria-labelledby", "aria-describedby", "aria-controls", "for")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def ids(page: Page) -> set[str]:
    return {node.attributes["id"] for node in page.with_attribute("id")}


def links(page: Page) -> list[tuple[Node, str]]:
    """Every internal link of a page with its address."""
    found = [(node, node.attributes[name]) for node in page.nodes for name in ADDRESSES if name in node.attributes]
    return [(node, address) for node, address in found if not _SCHEME.match(address)]


def link_faults(page: Page, files: Mapping[str, set[str]]) -> Iterator[Finding]:
    """What is wrong with the links and ids of a page. `files` are those of the site, with the ids in each."""
    own = ids(page)
    for node, address in links(page):
        expected = _expected(page.name, address, files, own)
        if expected:
            yield Finding("link", node, "", address, expected)
    for node in page.nodes:
        yield from _requests(node)
        for name in NAMES:
            for wanted in node.attributes.get(name, "").split():
                if wanted not in own:
                    yield Finding("link", node, name, wanted, "an id of this page")
    yield from _duplicates(page)


def _expected(page: str, address: str, files: Mapping[str, set[str]], own: set[str]) -> str:
    """What a link should have been; empty where it is right."""
    path, _, anchor = address.partition("#")
    path = unquote(path.partition("?")[0])
    if path.startswith("/"):
        return "an address relative to the page"
    target = normpath(join(dirname(page), path)) if path else page
    if path.endswith("/") or target not in files:
        return "a file of the site"
    known = own if target == page else files[target]
    return "" if not anchor or unquote(anchor) in known else f"an id of {target}"


def _requests(node: Node) -> Iterator[Finding]:
    """A page loads nothing from elsewhere; only links and metadata may name other sites."""
    loads = node.tag not in ("a", "link") or node.attributes.get("rel") in ("stylesheet", "icon", "preload")
    for name in ADDRESSES:
        address = node.attributes.get(name, "")
        if loads and _SCHEME.match(address) and not address.startswith("data:"):
            yield Finding("link", node, "", address, "a file of the site")


def _duplicates(page: Page) -> Iterator[Finding]:
    with_id = page.with_attribute("id")
    counts = Counter(node.attributes["id"] for node in with_id)
    seen: set[str] = set()
    for node in with_id:
        name = node.attributes["id"]
        if counts[name] > 1 and name in seen:
            yield Finding("id", node, name, f"{counts[name]} elements with it", "one")
        seen.add(name)
