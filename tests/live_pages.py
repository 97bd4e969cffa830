"""Pages whose toy is changed: how tests open them, read their state, and hypothesis strategies for changes."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from playwright.sync_api import Page
from toys import shipped, shipped_traces

AS_SHIPPED: dict[str, Any] = {"set": {}, "text": None, "next": None, "off": [], "play": []}
VOCABULARY = shipped().vocabulary
POSITIONS = len(shipped().weights["W_pos"])
SWITCHES = [name for name, run in shipped().runs.items() if run.patch]
#: The ref of every entry of every weight.
ENTRIES = [
    ".".join((name, *map(str, index))) for name, array in shipped().weights.items() for index in np.ndindex(array.shape)
]
SECONDS = 30

_opened = 0


def open_page(page: Page, site: Path, name: str, fragment: str = "") -> None:
    """Load a page anew: another query each time, so that no step is only a jump inside the same document."""
    global _opened
    _opened += 1
    page.goto(f"{(site / name).as_uri()}.html?{_opened}{fragment}")


def until(page: Page, expression: str) -> None:
    """Wait until it is true. Playwright's own way has the page evaluate a text, which the page's policy forbids."""
    end = time.monotonic() + SECONDS
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(10)


def settled(page: Page) -> None:
    """Wait until the page shows its toy: what is out of sight follows a moment after an edit."""
    until(page, "typeof pageWaiting === 'undefined' || !pageWaiting")


def change(page: Page, edit: dict[str, Any]) -> None:
    """Merge a partial state into the toy's, as a control does, and wait until the whole page shows it."""
    page.evaluate("(edit) => change(edit)", edit)
    settled(page)


def state(page: Page) -> dict[str, Any]:
    page.wait_for_load_state()  # A page that was just opened takes its address in when it is loaded.
    return page.evaluate("live.state")


def notice(page: Page) -> str:
    return page.locator("#notice").inner_text()


def fragment(page: Page) -> str:
    """What the address says, once it is written: not at every step of a drag."""
    until(page, "location.hash === stateHash()")
    return page.evaluate("location.hash")


def values(page: Page, run: str = "main", which: str = "live") -> dict[str, list[float]]:
    """Every value of the forward pass in a run."""
    steps = list(shipped_traces()["main"].steps)
    script = "([run, steps]) => steps.map((name) => [name, [...RUNS.trace(run).values[name].data]])"
    return dict(page.evaluate(script.replace("RUNS", which), [run, steps]))


TENTHS = st.integers(-30, 30).map(lambda tenths: tenths / 10)
#: Any bits, but no larger than a forward pass can hold.
FLOATS = st.floats(-1e6, 1e6)
TEXTS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=POSITIONS).map(
    lambda tokens: "".join(tokens).replace("␣", " ")
)


def states(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, Any]]:
    """Changes of any kind."""
    return st.fixed_dictionaries(
        {
            "set": st.dictionaries(st.sampled_from(ENTRIES), numbers, max_size=8),
            "text": st.none() | TEXTS,
            "next": st.none() | st.integers(0, len(VOCABULARY) - 1),
            "off": st.lists(st.sampled_from(SWITCHES), unique=True, max_size=2),
        }
    )
