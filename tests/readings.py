"""What a screen reader is told: pieces of the pages as Chromium's accessibility tree, one line a node.

`python tests/readings.py` writes those of `PIECES` to tests/data/readings.txt, which test_accessibility.py compares.
Read the changes aloud before you commit them. A number stands there as its ref: another toy changes nothing.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from sevensteps.browser import launch

RECORD = Path(__file__).parent / "data" / "readings.txt"
#: Name of a piece: its page and where it stands there.
PIECES = {
    "the path": ("3-query-key-value", "nav.path"),
    "a formula": ("3-query-key-value", ".formula:has(msqrt)"),
    "a formula in a sentence": ("4-mask-and-heads", "p:has(> math msup)"),
    "a worked line": ("6-output", ".working:has([data-worked='probs.4.6'])"),
    "a table": ("4-mask-and-heads", ".scroll:has([data-ref='attn.exp.0.2.0'])"),
    "a picture": ("3-query-key-value", ".head-picture"),
    "a check box with a number to find": ("6-output", ".check:has(input[name=typed]:not([type]))"),
    "a check box with answers to choose from": ("6-output", ".check:has([type=radio])"),
    "controls": ("7-generation", ".player fieldset"),
}  # fmt: skip
REFS = """piece => piece.querySelectorAll("[data-ref]").forEach(number => {
  number.textContent = `{${number.dataset.ref}}`;
})"""
#: What is told with a node's role: the rest is the same for the ear without it, and differs between versions.
ROLES = {
    "navigation", "list", "listitem", "link", "group", "heading", "table", "caption", "row", "columnheader",
    "rowheader", "cell", "button", "textbox", "radio", "checkbox", "slider", "spinbutton", "combobox", "status",
    "figure", "code", "superscript", "subscript", "term", "dialog",
}  # fmt: skip
NAMED = {"link", "heading", "button", "summary", "spinbutton"}
STATES = {"checked", "expanded", "invalid", "valuetext"}


def reading(page: Page, selector: str) -> str:
    """The piece as its tree: role and name of each node, the texts between them, the states that are on."""
    cdp = page.context.new_cdp_session(page)
    found = cdp.send("Runtime.evaluate", {"expression": f"document.querySelector({selector!r})"})["result"]
    root = cdp.send("DOM.describeNode", {"objectId": found["objectId"]})["node"]["backendNodeId"]
    nodes = {node["nodeId"]: node for node in cdp.send("Accessibility.getFullAXTree")["nodes"]}
    (start,) = (node for node in nodes.values() if node.get("backendDOMNodeId") == root)
    lines: list[str] = []
    for depth, told in _told(nodes, start, 0, ""):
        indent = "  " * depth
        is_text = told.startswith('"')
        if is_text and lines and lines[-1].startswith(indent + '"'):
            lines[-1] = f"{lines[-1][:-1].rstrip()} {told[1:]}"
        else:
            lines.append(indent + told)
    return "\n".join(lines)


def _told(nodes: dict[str, Any], node: dict[str, Any], depth: int, within: str) -> Iterator[tuple[int, str]]:
    """Depth and words of a node and all below it. What stands `within` a link or heading is its name."""
    role, name = node["role"]["value"], node.get("name", {}).get("value", "").strip()
    role = "summary" if role.startswith("Disclosure") else role
    is_text = role == "StaticText"
    is_told = not node.get("ignored") and (is_text or role in ROLES | {"summary"} or role.startswith("MathML"))
    if is_text and name and within not in NAMED:
        yield depth, f'"{name}"'
    elif is_told and not is_text:
        yield depth, " ".join([role, *([f'"{name}"'] if name else ()), *_states(node)])
    if not is_text:
        for child in node["childIds"]:
            yield from _told(nodes, nodes[child], depth + is_told, role if is_told else within)


def _states(node: dict[str, Any]) -> Iterator[str]:
    if description := node.get("description", {}).get("value", ""):
        yield f'described "{description}"'
    for state in node.get("properties", ()):
        value = state["value"].get("value")
        if state["name"] in STATES and value not in ("false", False, ""):
            yield f"{state['name']} {value}".removesuffix(" True")
        if state["name"] == "level" and node["role"]["value"] == "heading":
            yield f"level {value}"


def readings(page: Page, site: Path) -> dict[str, str]:
    """All pieces, as they are read."""
    found = {}
    for name, (slug, selector) in PIECES.items():
        page.goto((site / f"{slug}.html").as_uri())
        page.locator(selector).first.evaluate(REFS)
        found[name] = reading(page, selector)
    return found


def written(pieces: dict[str, str]) -> str:
    return "".join(f"# {name}\n{piece}\n\n" for name, piece in pieces.items())


def record() -> None:
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Path(folder) / "site"
        subprocess.run([sys.executable, root / "build.py", "--output", site], check=True, stdout=subprocess.DEVNULL)
        _, browser = launch(playwright)
        RECORD.write_text(written(readings(browser.new_page(), site)), "utf-8", newline="\n")
        browser.close()


if __name__ == "__main__":
    record()
