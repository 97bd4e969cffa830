"""Print how fast the lab is with the packaged model, on one thread, and how much memory it takes.

Run as `python tests/bench/lab.py`. It prints figures beside their targets and judges nothing.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from sevensteps.lab import readings
from sevensteps.lab.llama import load_llama
from sevensteps.lab.model import Model
from sevensteps.lab.package import packaged_model

ROOT = Path(__file__).parents[2]
PROMPT = "The capital of France is"
RUNS = 5
TARGETS = {"command, cold s": 2.0, "later prompt s": 0.3, "sweep of a prompt s": 30.0, "peak memory MB": 700.0}


def main() -> None:
    path = packaged_model()
    if path is None:
        sys.exit("The model is not installed: python build.py lab --install")
    with threadpool_limits(1):
        model = load_llama(path)
        figures = [cold(), later(model), sweep(model), megabytes()]
    print(f"\n{'':20}{'figure':>9}{'target':>9}{'ratio':>7}")
    for (name, target), figure in zip(TARGETS.items(), figures, strict=True):
        print(f"{name:20}{figure:9.2f}{target:9.2f}{figure / target:7.2f}")


def cold() -> float:
    """The whole command in a fresh process, from Python's start to the printed answer: the median."""
    command = [sys.executable, ROOT / "build.py", "lab", PROMPT]
    return statistics.median(
        seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(RUNS)
    )


def later(model: Model) -> float:
    """A prompt with a loaded model: the median."""
    return statistics.median(seconds(lambda: model.trace(model.encode(PROMPT))) for _ in range(RUNS))


def sweep(model: Model) -> float:
    """Every block off and every head off, one at a time."""
    trace = model.trace(model.encode(PROMPT))
    swept = readings.sweep(model, trace, readings.top(trace, 1)[0].id)
    return seconds(lambda: list(tqdm(swept, total=model.layers, mininterval=5)))


def megabytes() -> float:
    """The most memory that this process and the command took, in MB. Linux counts it in kB."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1000


def seconds(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
