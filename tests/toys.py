"""The shipped toy, toy files written from plain data, and hypothesis strategies for random toys."""

import json
import tomllib
from functools import cache
from pathlib import Path

import oracle
from hypothesis import assume
from hypothesis import strategies as st

from sevensteps.engine.steps import Trace
from sevensteps.engine.toy import Toy, load_toy
from sevensteps.refs import Runs
from sevensteps.web.derived import add_derived
from sevensteps.web.lab import load_recording

SHIPPED = Path(__file__).parent.parent / "content" / "toy.toml"


@cache
def shipped() -> Toy:
    return load_toy(SHIPPED)


@cache
def shipped_traces() -> dict[str, Trace]:
    return shipped().traces()


@cache
def shipped_runs() -> Runs:
    """The traces with the derived values of the pages."""
    return add_derived(shipped_traces(), SHIPPED.parent / "derived.toml")


@cache
def recorded_runs() -> Runs:
    """The lab's recorded runs with the values derived from them."""
    content = SHIPPED.parent
    return add_derived(load_recording(content / "lab.json").traces, content / "lab.toml")


def shipped_data() -> dict:
    """The shipped file as plain data, fresh each time, for a test to change."""
    return tomllib.loads(SHIPPED.read_text(encoding="utf-8"))


def toml(data: dict) -> str:
    """A toy file for plain data: inline lists and tables, one key a line."""
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in data.items())


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)


def load(data: dict, folder: Path) -> Toy:
    """The toy of a real file with this data."""
    path = folder / "toy.toml"
    path.write_text(toml(data), encoding="utf-8")
    return load_toy(path, "toy.toml")


WEIGHT = st.integers(-20, 20).map(lambda tenths: tenths / 10)
TOKEN = st.text('ab␣é🙂<&"|{$_].', min_size=1, max_size=3)


def vectors(size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(WEIGHT, min_size=size, max_size=size)


def matrices(rows: int, columns: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(vectors(columns), min_size=rows, max_size=rows)


@st.composite
def toys(draw: st.DrawFn) -> dict:
    """Plain data of a toy file: any sizes, weights in tenths, any text that its vocabulary can cut, some patches."""
    vocabulary = draw(st.lists(TOKEN, min_size=2, max_size=6, unique=True))
    text = "".join(draw(st.lists(st.sampled_from(vocabulary), min_size=1, max_size=5)))
    ids = oracle.cut(text, vocabulary)
    assume(ids is not None)
    size = st.integers(1, 4)
    d, heads, d_head, units = draw(st.integers(2, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(size)
    tied = draw(st.booleans())
    shapes = {
        "W_E": matrices(len(vocabulary), d),
        "W_pos": matrices(len(ids) + draw(st.integers(0, 2)), d),
        "W_O": matrices(heads * d_head, d),
        "W_in": matrices(d, units),
        "b_in": vectors(units),
        "W_out": matrices(units, d),
        "b_out": vectors(d),
    }
    shapes |= {name: _per_head(heads, matrices(d, d_head)) for name in ("W_Q", "W_K", "W_V")}
    shapes |= {} if tied else {"W_U": matrices(d, len(vocabulary))}
    if draw(st.booleans()):
        shapes |= {name: _per_head(heads, vectors(d_head)) for name in ("b_Q", "b_K", "b_V")} | {"b_O": vectors(d)}
    for norm in ("ln1", "ln2", "ln_final"):
        if parts := draw(st.sets(st.sampled_from("wb"))):
            shapes[norm] = st.fixed_dictionaries({part: vectors(d) for part in sorted(parts)})
    return {
        "text": text.replace("␣", " "),
        "next": draw(st.sampled_from(vocabulary)),
        "vocabulary": vocabulary,
        "layer_norm_eps": draw(st.sampled_from([0, 1e-12, 1e-5, 0.001, 0.1, 1])),
        "activation": draw(st.sampled_from(["relu", "gelu_tanh", "gelu_erf"])),
        "tied": tied,
        "weights": draw(st.fixed_dictionaries(shapes)),
        "runs": {"other": draw(_runs(heads))},
    }


def _per_head(heads: int, entries: st.SearchStrategy) -> st.SearchStrategy[list]:
    return st.lists(entries, min_size=heads, max_size=heads)


def _runs(heads: int) -> st.SearchStrategy[dict]:
    one_head = st.integers(0, heads - 1)
    patches = st.one_of(
        st.just({}),
        st.just({"attn_out": 0}),
        st.just({"mlp_out": 0}),
        st.just({"W_U": "W_E.T"}),
        st.just({f"attn.scores.{h}": f"attn.scaled.{h}" for h in range(heads)}),
        one_head.map(lambda h: {f"attn.z.{h}": 0}),
        one_head.map(lambda h: {f"attn.k.{h}": f"attn.q.{h}", f"attn.v.{h}": 0.5}),
        st.just({"resid_post": "resid_mid", "ln2.scale": 2, "mlp.post": 0.25}),
    )
    return patches.map(lambda patch: {"patch": patch})
