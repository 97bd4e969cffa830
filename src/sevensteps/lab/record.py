"""The readings that the lab's pages show: `build.py lab --record` writes them to content/lab.json (recording.py)."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.ops import Array
from sevensteps.engine.steps import Trace
from sevensteps.lab import readings
from sevensteps.lab.model import Model
from sevensteps.lab.prompts import BLOCK, CAPITALS, HEAD, PLAIN, PROMPTS, SAME_END, WORDS
from sevensteps.lab.recording import TOLERANCE, Run

COMMAND = "python build.py lab --record"
TOP = 10
#: How many entries of a row are shown of all that it has.
SHOWN = 4
#: Rows that are read through W_U at once: 49,152 logits of each stay in memory.
AT_ONCE = 128
BANDS = 10

Means = Mapping[str, Array]


def record(model: Model, means: Means) -> dict[str, Any]:
    """All readings of all pages, in about five minutes. `means`: the mean row of each part (readings.mean_rows)."""
    made = {"command": COMMAND, "model": model.name, "sha256": model.checksum, "numpy": np.__version__}
    runs = {name: make().data() for name, make in makers(model, means).items()}
    return {"made": made, "tolerance": TOLERANCE, "runs": runs}


def makers(model: Model, means: Means) -> dict[str, Callable[[], Run]]:
    """The runs of the file by name, each as a function that makes it."""
    of_prompts: dict[str, Callable[[], Run]] = {name: partial(_prompt, model, name, means) for name in PROMPTS}
    return of_prompts | {
        "model": partial(_model, model),
        "countries": partial(_countries, model, means),
        "same_end": partial(_same_end, model),
        "repeat": partial(_repeat, model),
        "plain": partial(_plain_text, model, means),
        "read_back": partial(_read_back, model),
    }


def _trace(model: Model, text: str) -> Trace:
    return model.trace(model.encode(text))


def _p(trace: Trace, token: int) -> float:
    return float(trace["probs"][-1, token])


def _model(model: Model) -> Run:
    """Sizes."""
    run = Run(model)
    sizes = {
        "vocabulary": (len(model.vocabulary), "tokens of the vocabulary", "V"),
        "d_model": (model.weights["W_E"].shape[1], "width of the stream", "d"),
        "layers": (model.layers, "blocks", ""),
        "heads": (model.heads, "query heads of a block", ""),
        "d_head": (model.d_head, "width of a head", ""),
        "positions": (model.positions, "positions", ""),
        "parameters": (model.parameters, "parameters", ""),
    }
    for name, (size, title, symbol) in sizes.items():
        run.number(name, size, title, symbol=symbol)
    return run


def _prompt(model: Model, name: str, means: Means) -> Run:
    """The next token, the loss at every position, and what else the prompt asks for."""
    prompt = PROMPTS[name]
    trace = _trace(model, prompt.text)
    run = Run(model, prompt.text, trace.tokens)
    _next_token(run, trace)
    _losses(run, trace)
    if prompt.lens:
        _lens(run, model, trace)
    if prompt.sweep:
        _sweep(run, model, trace, "off", None)
        _sweep(run, model, trace, "mean", means)
    return run


def _next_token(run: Run, trace: Trace) -> None:
    best = readings.top(trace, TOP)
    stream = readings.streams(run.model)[-1]
    run.number("y", trace[stream][-1, :SHOWN], "last row of the stream, its first entries", "dimension", symbol="y")
    run.number("scale", trace["ln_final.scale"][-1], "root of the mean square of the last row", symbol="σ")
    run.number("gain", run.model.weights["ln_final.w"][:SHOWN], "gain of the final norm", "dimension", symbol="γ")
    run.number("f", trace["ln_final.normalized"][-1, :SHOWN], "last row after the final norm", "dimension", symbol="f")
    run.number("ln_Z", np.log(trace["logits.exp_sum"][-1]), "ln of the sum of e^z", symbol="ln Z")
    run.token("top", [guess.id for guess in best], "most likely tokens", "place")
    run.number("top.id", [guess.id for guess in best], "ids of the most likely tokens", "place", symbol="id")
    run.number("top.z", [guess.logit for guess in best], "logits of the most likely tokens", "place", symbol="z")
    run.number("top.p", [guess.p for guess in best], "probabilities of the most likely tokens", "place", symbol="p")


def _losses(run: Run, trace: Trace) -> None:
    losses = readings.losses(trace)
    run.number("ids", trace["ids"], "ids", "position", symbol="id")
    run.token("start", int(trace["ids"][0]), "token in front of every text")
    run.token("target", trace["targets"][:-1].astype(int), "tokens that follow", "position")
    run.number("loss", losses, "cross-entropy of the token that follows", "position", symbol="loss")
    run.number("loss.mean", losses.mean(), "mean of the losses", symbol="L")
    run.number("loss.uniform", trace["loss.uniform"], "loss of a uniform guess", symbol="ln V")


def _lens(run: Run, model: Model, trace: Trace) -> None:
    layers = list(readings.lens(model, trace))
    place, known = ("layer", "position"), [cells[:-1] for cells in layers]  # No token follows the last position.
    losses = np.array([[cell.loss for cell in cells] for cells in known], dtype=np.float64)
    run.token("lens.top", [[cell.guess.id for cell in cells] for cells in layers], "best guess", *place)
    run.number("lens.p", [[cell.guess.p for cell in cells] for cells in layers], "p of the best guess", *place)
    run.number("lens.rank", [[cell.rank for cell in cells] for cells in known], "rank of the true next token", *place)
    run.number("lens.loss", losses, "loss of the true next token", *place, symbol="loss")
    run.number("lens.mean", losses.mean(axis=1), "mean loss", "layer", symbol="L")


def _sweep(run: Run, model: Model, trace: Trace, name: str, means: Means | None) -> None:
    """p of the best guess with one block's attention, or one head, replaced by 0 or by its mean row."""
    best = readings.top(trace, 1)[0].id
    swept = readings.sweep(model, trace, best, means)
    bar = tqdm(swept, f"{run.text} {name}", model.layers, unit="block", file=sys.stderr, leave=False)
    whole, heads = zip(*bar, strict=True)
    what = "off" if means is None else "at its mean"
    run.number(f"{name}.block", whole, f"p with a block's attention {what}", "block", symbol="p")
    run.number(f"{name}.head", heads, f"p with one head {what}", "block", "head", symbol="p")


def _countries(model: Model, means: Means) -> Run:
    """p of the capital, intact and without one block's attention or one head of it."""
    run = Run(model, "The capital of … is", list(CAPITALS))
    block, head = readings.part_name(model, BLOCK), readings.part_name(model, BLOCK, HEAD)
    pattern = f"{block_prefixes(model.layers)[BLOCK]}attn.pattern.{HEAD}"
    traces = [_trace(model, f"The capital of {country} is") for country in CAPITALS]
    capitals = [model.tokenizer.encode(f" {capital}").ids[0] for capital in CAPITALS.values()]
    looked_at = [len(trace.tokens) - 2 for trace in traces]
    run.token("capital", capitals, "capital", "prompt")
    looks = [trace[pattern][-1, at] for trace, at in zip(traces, looked_at, strict=True)]
    run.number("looks", looks, "how much the head looks at the country", "prompt", symbol="A")
    for name, parts, instead in (
        ("intact", [], None), ("block", [block], None), ("head", [head], None),
        ("block_mean", [block], means), ("head_mean", [head], means),
    ):  # fmt: skip
        changed = [readings.off(trace, parts, instead) for trace in traces]
        p = [_p(trace, capital) for trace, capital in zip(changed, capitals, strict=True)]
        run.number(f"{name}.p", p, f"p of the capital, {name.replace('_', ' at its ')}", "prompt", symbol="p")
        run.token(f"{name}.top", [readings.top(trace, 1)[0].id for trace in changed], "best guess", "prompt")
    return run


def _same_end(model: Model) -> Run:
    """Two prompts with the same last token, intact and with attention off in every block."""
    run = Run(model, " / ".join(SAME_END), SAME_END)
    traces = [_trace(model, text) for text in SAME_END]
    for name, parts in (("intact", []), ("off", readings.every_block(model))):
        changed = [readings.off(trace, parts) for trace in traces]
        best = [readings.top(trace, 1)[0] for trace in changed]
        run.token(f"{name}.top", [guess.id for guess in best], "best guess", "prompt")
        run.number(f"{name}.p", [guess.p for guess in best], "p of the best guess", "prompt", symbol="p")
        first, second = (trace["logits"][-1] for trace in changed)
        run.number(f"{name}.difference", np.abs(first - second).max(), "largest difference of two logits")
    return run


def _repeat(model: Model) -> Run:
    """The loss of each word of a list that is said twice, intact and with attention off."""
    text = "".join(f" {word}" for word in WORDS * 2)
    trace = _trace(model, text)
    run = Run(model, text, trace.tokens)
    off = readings.off(trace, readings.every_block(model))
    run.token("target", trace["targets"][:-1].astype(int), "tokens that follow", "position")
    half = (len(trace.tokens) - 1) // 2
    for name, changed in (("intact", trace), ("off", off)):
        losses = readings.losses(changed)
        run.number(name, losses, f"loss, attention {name}", "position", symbol="loss")
        run.number(f"{name}.first", losses[:half].mean(), "mean loss of the first copy", symbol="L")
        run.number(f"{name}.second", losses[half:].mean(), "mean loss of the second copy", symbol="L")
    run.number("loss.uniform", trace["loss.uniform"], "loss of a uniform guess", symbol="ln V")
    return run


def _plain_text(model: Model, means: Means) -> Run:
    """A plain text with attention off in every block: replaced by 0, and by the mean rows."""
    trace = _trace(model, PLAIN)
    run = Run(model, PLAIN, trace.tokens)
    everything = readings.every_block(model)
    stream = readings.streams(model)[-1]
    for name, changed in (
        ("intact", trace), ("zero", readings.off(trace, everything)), ("mean", readings.off(trace, everything, means)),
    ):  # fmt: skip
        run.number(f"{name}.loss", readings.losses(changed).mean(), f"mean loss, {name}", symbol="L")
        best = readings.top(changed, 1)[0]
        run.token(f"{name}.top", best.id, "best guess behind the last token")
        run.number(f"{name}.p", best.p, "p of the best guess", symbol="p")
        size = np.sqrt(np.mean(np.square(changed[stream][1:], dtype=np.float64)))
        run.number(f"{name}.size", size, "root of the mean square of the last stream")
    run.number("loss.uniform", trace["loss.uniform"], "loss of a uniform guess", symbol="ln V")
    return run


def _read_back(model: Model) -> Run:
    """Which tokens come back when a row of the embedding is read through the same matrix."""
    run = Run(model)
    table = model.weights["W_E"]
    returned, fairly = map(np.concatenate, zip(*_returned(model, table), strict=True))  # (V,) each
    same = returned == np.arange(len(table))
    run.number("share", same.mean(), "share of the vocabulary that comes back", symbol="share")
    fair_share = (fairly == np.arange(len(table))).mean()
    run.number("share.fair", fair_share, "share that comes back if all columns had one length", symbol="share")
    bands = [float(band.mean()) for band in np.array_split(same, BANDS)]
    run.number("band.share", bands, "share that comes back, by tenths of the vocabulary", "place", symbol="share")
    common = int(np.bincount(returned[~same]).argmax())
    run.token("common", common, "token that most others give")
    run.number("common.share", (returned[~same] == common).mean(), "its share of those that do not come back")
    lengths = np.linalg.norm(table, axis=1)  # (V,)
    run.token("longest", int(lengths.argmax()), "token with the longest row")
    run.number("length.longest", lengths.max(), "length of the longest row")
    run.number("length.median", np.median(lengths), "length of the median row")
    to_common = table @ table[common] / (lengths * lengths[common])  # (V,) cosines
    cosines = [float(band.mean()) for band in np.array_split(to_common, BANDS)]
    run.number("band.cosine", cosines, "mean cosine with the common token's row", "place", symbol="cosine")
    seen = dict.fromkeys(n for prompt in PROMPTS.values() for n in model.encode(prompt.text))
    examples = [n for n in seen if not same[n]]
    run.token("example", examples, "tokens of the texts that do not come back", "place")
    run.token("example.top", returned[examples], "what comes back", "place")
    run.number("matrix", table.size, "parameters of the matrix")
    run.number("all", model.parameters, "parameters of the model")
    return run


def _returned(model: Model, table: Array) -> Iterator[tuple[Array, Array]]:
    """The best guess from each row of the embedding, read as the last row of the stream is.

    The second is the best guess if all columns had the same length.
    """
    lengths = np.linalg.norm(table, axis=1)  # (V,)
    starts: Iterable[int] = range(0, len(table), AT_ONCE)
    for start in tqdm(starts, desc="layer 0", unit="rows", file=sys.stderr, leave=False):
        rows = table[start : start + AT_ONCE]
        logits = model.read(rows, np.zeros(len(rows), dtype=np.float32))["logits"]  # (AT_ONCE, V)
        yield logits.argmax(axis=-1), (logits / lengths).argmax(axis=-1)
