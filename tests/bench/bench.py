"""Print how long build and check take, how large the pages are, and how the times grow with the toy.

Run as `python tests/bench/bench.py`. It prints figures beside their targets and judges nothing.
"""

import gzip
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scaled_toy import scaled_source

ROOT = Path(__file__).parents[2]
RUNS = 5
TARGETS = {"build s": 1.0, "check s": 2.0, "page bytes": 120_000, "page bytes, gzip": 20_000}
#: How many times as many tokens and how many times as wide.
GROWTH = {"as shipped": (1, 1), "4 x tokens": (4, 1), "4 x width": (1, 4), "4 x both": (4, 4)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        times = {}
        print(f"{'':20}{'build s':>9}{'ratio':>7}{'check s':>9}{'ratio':>7}   the check's last line")
        for name, (longer, wider) in GROWTH.items():
            source = scaled_source(ROOT, Path(folder) / name, longer, wider)
            build, _ = median_seconds(source)
            check, last_line = median_seconds(source, "check")
            times[name] = (build, check)
            ratios = [now / then for now, then in zip(times[name], times["as shipped"], strict=True)]
            print(f"{name:20}{build:9.3f}{ratios[0]:7.2f}{check:9.3f}{ratios[1]:7.2f}   {last_line}")
        largest = print_pages(Path(folder) / "as shipped/site")
    print(f"\n{'':20}{'figure':>11}{'target':>11}{'ratio':>7}")
    for (name, target), figure in zip(TARGETS.items(), (*times["as shipped"], *largest), strict=True):
        print(f"{name:20}{figure:11,.6g}{target:11,.6g}{figure / target:7.2f}")


def median_seconds(source: Path, *words: str) -> tuple[float, str]:
    """Run build.py on a source folder in fresh processes: the median time and the last line that it printed."""
    command = [sys.executable, ROOT / "build.py", *words, "--source", source, "--output", source / "site"]
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        ended = subprocess.run(command, capture_output=True, encoding="utf-8")
        seconds.append(time.perf_counter() - start)
    # A check that finds faults exits with 1 and is timed all the same; one that crashes is not.
    if ended.returncode > (1 if "check" in words else 0) or "Traceback" in ended.stderr:
        sys.exit(f"build.py failed:\n{ended.stdout}{ended.stderr}")
    return statistics.median(seconds), ended.stdout.strip().splitlines()[-1]


def print_pages(site: Path) -> tuple[int, int]:
    """Print each page's size and numbers; the largest size, raw and gzipped."""
    print(f"\n{'page':30}{'bytes':>9}{'gzip':>9}{'numbers':>9}")
    sizes = []
    for page in sorted(site.rglob("*.html")):
        raw = page.read_bytes()
        sizes.append((len(raw), len(gzip.compress(raw, mtime=0))))
        print(f"{page.name:30}{sizes[-1][0]:9,}{sizes[-1][1]:9,}{raw.count(b'data-ref='):9,}")
    return max(raw for raw, _ in sizes), max(small for _, small in sizes)


if __name__ == "__main__":
    main()
