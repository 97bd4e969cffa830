"""Print Lighthouse's scores of every page, on a phone and on a desktop, and what costs points.

Run as `python tests/bench/lighthouse.py [page …]`. It builds the site, serves it on a port of this machine as a web
host would, and needs Node and Chrome or Chromium. Performance depends on how busy the machine is: a page below the
target is measured again, and the median counts.
"""

import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIGHTHOUSE = "lighthouse@12.8.2"
TARGET, RUNS = 98, 3
PRESETS = {"phone": [], "desktop": ["--preset=desktop"]}
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
COMPRESSED = (".html", ".css", ".js", ".svg", ".xml", ".txt")


class Host(SimpleHTTPRequestHandler):
    """A folder of files, texts compressed, connections kept, as web hosts do it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return self.send_error(404)
        content = compressed(path) if path.suffix in COMPRESSED else path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        if path.suffix in COMPRESSED:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@cache
def compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), 6, mtime=0)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        subprocess.run([sys.executable, ROOT / "build.py", "--output", site], check=True, capture_output=True)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Host, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        slugs = sys.argv[1:] or sorted(p.relative_to(site).with_suffix("").as_posix() for p in site.rglob("*.html"))
        host = f"http://127.0.0.1:{server.server_port}"
        print(f"{LIGHTHOUSE}, target {TARGET}\n{'':28}" + "".join(f"{category:>16}" for category in CATEGORIES))
        worst = [min(scores) for scores in zip(*measured(host, slugs), strict=True)]
        print(f"{'worst':28}" + "".join(f"{score:16}" for score in worst))


def measured(host: str, slugs: list[str]) -> Iterator[list[int]]:
    """The scores of each page on each device, printed as they come."""
    for slug in slugs:
        for device, options in PRESETS.items():
            reports = [report(f"{host}/{slug}.html", options)]
            while min(scores(reports[-1])) < TARGET and len(reports) < RUNS:
                reports.append(report(f"{host}/{slug}.html", options))
            median = [int(statistics.median(each)) for each in zip(*map(scores, reports), strict=True)]
            print(f"{slug:20}{device:8}" + "".join(f"{score:16}" for score in median), flush=True)
            for cost in costs(reports[-1]):
                print(f"{'':24}{cost}", flush=True)
            yield median


def report(address: str, options: list[str]) -> dict[str, Any]:
    """What Lighthouse says of one page."""
    command = [
        "npx", "--yes", LIGHTHOUSE, address, "--quiet", "--output=json", "--output-path=stdout",
        f"--only-categories={','.join(CATEGORIES)}", "--chrome-flags=--headless=new --no-sandbox", *options,
    ]  # fmt: skip
    # It looks for Chrome by itself, but not for a Chromium.
    chrome = os.environ.get("CHROME_PATH") or shutil.which("chromium") or ""
    ended = subprocess.run(command, env=os.environ | {"CHROME_PATH": chrome}, capture_output=True, encoding="utf-8")
    if ended.returncode:
        sys.exit(f"{LIGHTHOUSE} failed:\n{ended.stderr}")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def scores(found: dict[str, Any]) -> list[int]:
    """From 0 to 100, in the order of CATEGORIES."""
    return [round(100 * (found["categories"][category]["score"] or 0)) for category in CATEGORIES]


def costs(found: dict[str, Any]) -> Iterator[str]:
    """The audits that count and are not perfect."""
    for category in CATEGORIES:
        for part in found["categories"][category]["auditRefs"]:
            audit = found["audits"][part["id"]]
            if part["weight"] and audit["score"] is not None and audit["score"] < 1:
                shown = audit.get("displayValue", "")
                yield f"{category}: {audit['title']} {shown} ({100 * audit['score']:.0f})"


if __name__ == "__main__":
    main()
