"""Print how fast the live site is in a browser: ready from a file, an edit shown, a number asked.

Run as `python tests/bench/live.py [--large]`. It prints figures beside their targets and judges nothing. `--large`
adds a toy of 64 positions, d = 64, 8 heads and 500 tokens, whose site takes half a minute to build.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from scaled_toy import random_source

from sevensteps.browser import launch

ROOT = Path(__file__).parents[2]
RUNS = 15
#: Page -> the weight that is edited on it.
EDITS = {
    "2-embeddings": "W_E.1.3", "3-query-key-value": "W_Q.0.3.0", "4-mask-and-heads": "W_O.0.1", "5-block": "W_in.0.1",
    "6-output": "W_U.1.6", "7-generation": "W_U.1.6", "workbench": "W_E.1.3",
}  # fmt: skip
FIGURES = ("ready", "edit", "slowest", "whole", "ask", "slowest")
ASKED = "logits.last.6"
READY_MS, ASK_MS = 200, 50
EDIT_MS = {"as shipped": 16, "64 positions, d = 64": 100}

READY = """() => {
  const loaded = performance.getEntriesByType("navigation")[0];
  return loaded.domContentLoadedEventEnd - loaded.startTime;
}"""
# The reader edits a weight in sight. The first task changes and lays out what is in view, and the browser paints it in
# the next frame; what is out of view follows in small tasks, up to the event "shown".
EDIT = """async ([ref, runs]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  placeOf(ref).scrollIntoView({ block: "center", behavior: "instant" });
  await frame();
  const times = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    change({ set: { [ref]: 0.25 + i / 8 } });
    document.body.getBoundingClientRect();
    const edited = performance.now() - start;
    await new Promise((done) => document.addEventListener("shown", done, { once: true }));
    times.push([edited, performance.now() - start]);
    await frame();
  }
  return times;
}"""
ASK = """([number, runs]) => {
  const times = [];
  const ref = number.replace("last", live.trace("main").tokens.length - 1);
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    ask(ref);
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        _, browser = launch(playwright)
        sites = {"as shipped": ROOT}
        if "--large" in sys.argv:
            sites["64 positions, d = 64"] = random_source(ROOT, Path(scratch) / "large", 64, 64, 8, 500)
        for name, source in sites.items():
            site = Path(scratch) / name
            build = [sys.executable, ROOT / "build.py", "--source", source, "--output", site]
            subprocess.run(build, check=True, capture_output=True)
            print(
                f"\n{name:22}{'ready ms':>10}{'edit ms':>10}{'slowest':>10}{'all ms':>10}{'ask ms':>10}{'slowest':>10}"
            )
            for slug, ref in EDITS.items():
                figures = measured(browser.new_page(), site, slug, ref)
                print(f"{slug:22}" + "".join(f"{figure:10.1f}" for figure in figures))
            print(f"{'target':22}{READY_MS:10}{EDIT_MS[name]:10}{'':20}{ASK_MS:10}")
        browser.close()


def measured(page: Page, site: Path, slug: str, ref: str) -> list[float]:
    """FIGURES in milliseconds: ready after opening, an edit in sight shown, the whole page changed, a number asked."""
    ready = []
    for _ in range(5):
        page.goto((site / f"{slug}.html").as_uri())
        ready.append(page.evaluate(READY))
    edits, wholes = zip(*page.evaluate(EDIT, [ref, RUNS]), strict=True)
    asks = page.evaluate(ASK, [ASKED, RUNS])
    page.close()
    middle = statistics.median
    return [middle(ready), middle(edits), max(edits), middle(wholes), middle(asks), max(asks)]


if __name__ == "__main__":
    main()
