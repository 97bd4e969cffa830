"""The site's scripts in fresh documents: any toy's JSON, without a page of the site around it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from pages import PAGES
from playwright.sync_api import Page

from sevensteps.engine.toy import Toy
from sevensteps.refs import Runs
from sevensteps.web.live import live_data, shared_data

#: The pages that carry the toy's JSON.
WITH_SCRIPTS = tuple(name for name in PAGES if name != "404")
FOLDER = Path(__file__).parent.parent / "static" / "js"
#: What runs and explains a toy and needs no page.
SCRIPTS = [(FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in ("ops", "print", "engine", "explain")]

#: Every value of every run, as text: JSON has no infinity. (As one string: Playwright is slow with many small ones.)
ALL_VALUES = """
JSON.stringify(Object.fromEntries([...Object.keys(data.runs), "generated"].map((run) => {
  const values = Object.entries(live.trace(run).values);
  return [run, Object.fromEntries(values.map(([name, x]) => [name, [x.shape, [...x.data].map(String)]]))];
})))
"""

#: A frame is a document of its own, with its own globals: the scripts run anew in each.
_IN_A_FRAME = """
async ([html, code]) => {
  const frame = document.createElement("iframe");
  frame.srcdoc = html;
  await new Promise((loaded) => {
    frame.onload = loaded;
    document.body.append(frame);
  });
  const result = frame.contentWindow.eval(code);
  frame.remove();
  return result;
}
"""


def evaluated(page: Page, toy: Toy, runs: Runs, code: str) -> Any:
    """What an expression gives in a document with this toy's JSON and the scripts."""
    scripts = "".join(f"<script>{script}</script>" for script in (shared_data(toy, runs, ()), *SCRIPTS))
    data = f'<script type="application/json" id="toy">{live_data(toy, runs, {}, "")}</script>'
    return page.evaluate(_IN_A_FRAME, [f"<!doctype html><body>{data}{scripts}", code])


def arrays(found: str) -> dict[str, dict[str, np.ndarray]]:
    """ALL_VALUES as arrays, by run and name."""
    return {
        run: {name: np.array(list(map(float, texts))).reshape(shape) for name, (shape, texts) in values.items()}
        for run, values in json.loads(found).items()
    }
