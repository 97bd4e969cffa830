"""The marks that make a figure checkable: where it comes from, written into the HTML beside its digits."""

import math
import re
from collections.abc import Callable
from html import escape

import numpy as np

from sevensteps.engine.ops import most_likely_first
from sevensteps.engine.steps import Step, Trace
from sevensteps.explain import explain
from sevensteps.expression import Number
from sevensteps.printing import shown, with_places
from sevensteps.refs import FROM_ZERO, Runs, run_of
from sevensteps.web.facts import Fact
from sevensteps.web.hues import common_hue
from sevensteps.web.worked import closing_places, formula

#: A mark names ids: `top REF` the first of a row, largest first, `second REF` the second, `id REF` the ids in REF.
PLACES = ("top", "second")
_POINTED = re.compile(r"(?P<row>.+?)(?P<open>[\[,])(?P<item>top|second|id (?P<id>[^\[\],]+))\]")

#: Elements that carry a number: <data> in text, <mn> in MathML, <tspan> in SVG.
TAGS = {"data": "value", "mn": "data-value", "tspan": "data-value"}


def full(value: float) -> str:
    """The value to its last digit, as both Python and JavaScript read it."""
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def ids_named(mark: str, runs: Runs) -> list[int]:
    """The ids that a mark names. Raises UnknownRefError."""
    kind, _, ref = mark.partition(" ")
    row = runs[ref]
    return [int(v) for v in np.ravel(row)] if kind == "id" else [int(most_likely_first(row)[PLACES.index(kind)])]


def pointed(written: str, runs: Runs) -> tuple[str, str]:
    """The ref of an entry that follows from the run, and the mark that says which: p[last,top], running[id drawn].

    For any other ref no mark. Raises UnknownRefError.
    """
    match = _POINTED.fullmatch(written.strip())
    if match is None:
        return runs.ref(written), ""
    row = runs.ref(match["row"] + "]" * (match["open"] == ","))
    mark = f"id {runs.ref(match['id'])}" if match["id"] else f"{match['item']} {row}"
    return f"{row}.{ids_named(mark, runs)[0]}", mark


class Marks:
    """Writes numbers, facts, tokens and worked lines as HTML. `origin` adds an attribute that says the source line."""

    def __init__(self, runs: Runs, origin: Callable[[], str]) -> None:
        self.runs, self.origin = runs, origin

    def number(self, ref: str, tag: str = "data", places: int | None = None, entry: str = "") -> str:
        """A value of a trace by its ref. A worked line may ask for more places. `entry` is a mark as of `pointed`."""
        value = float(self.runs[ref])
        more = "" if places is None else f' data-places="{places}"'
        more += f' data-entry="{entry}"' if entry else ""
        text = shown(value) if places is None else with_places(value, places)
        css = ' class="num"' if tag != "mn" else ""
        attributes = f'{css} {TAGS[tag]}="{full(value)}" data-ref="{escape(ref)}"{more}{self.origin()}'
        return f"<{tag}{attributes}>{escape(text)}</{tag}>"

    def fact(self, key: str, fact: Fact, tag: str = "data") -> str:
        """A figure of facts.toml with its key."""
        css = ' class="num fact"' if tag != "mn" else ""
        value = f'{TAGS[tag]}="{full(fact.value)}"'
        return f'<{tag}{css} {value} data-fact="{escape(key)}"{self.origin()}>{fact.text}</{tag}>'

    def working(self, ref: str, entry: str = "") -> str:
        """A worked line as a paragraph, in the hue of its result."""
        return f'<p class="{f"working {common_hue(self.runs, [ref])}".strip()}">{self.worked(ref, entry)}</p>'

    def worked(self, ref: str, entry: str = "") -> str:
        """A worked line: label = arithmetic = result. Only the label and the number where nothing is calculated."""
        worked = explain(*self.runs.find(ref))
        places = closing_places(worked)
        left = f'<span class="label">{self.label(ref)}</span> = '
        result = self.number(ref, places=places.result if places else None)
        if worked.expression is None or isinstance(worked.expression, Number):
            return self._line(ref, f"{left}{result}", "copy", entry)

        def operand(number: Number) -> str:
            return self.number(run_of(ref) + number.ref, places=places.operands if places else None)

        line = f"{left}{formula(worked.expression, operand, structure)} = {result}"
        return self._line(ref, line, "line" if places else "open", entry)

    def _line(self, ref: str, html: str, kind: str, entry: str) -> str:
        more = f' data-entry="{entry}"' if entry else ""
        return f'<span class="worked" data-worked="{escape(ref)}" data-kind="{kind}"{more}{self.origin()}>{html}</span>'

    def sentence(self, ref: str) -> str:
        """What is done to get a number, in words."""
        worked = explain(*self.runs.find(ref))
        return worked.wording.format(*map(called, worked.operands))

    def label(self, ref: str) -> str:
        """A number's symbol with its place as readers count it, and its run where that is not the main one: y[5, 1]."""
        trace, name, index = self.runs.find(ref)
        step = trace.steps[name]
        places = ", ".join(place(trace, axis, i) for axis, i in zip(step.axes, index, strict=False))
        run = f" ({structure(trace.run.replace('_', ' '))})" if trace.run != "main" else ""
        return called(step) + (f'<span class="place">[{places}]</span>' if places else "") + run


def called(step: Step) -> str:
    """What a value is called: its symbol, or its title where it has none."""
    return symbol(step.symbol) if step.symbol else structure(step.title or step.name)


def place(trace: Trace, axis: str, index: int) -> str:
    """One item of an index as readers count it: positions from 1, tokens by name."""
    if axis == "token":
        return token(trace.vocabulary[index])
    if axis == "prompt":
        return structure(trace.tokens[index])
    return structure(str(index + int(axis not in FROM_ZERO)))


def header(trace: Trace, axis: str, index: int) -> str:
    """The heading of a row or column: the position's number and token, the token, or a number from 1."""
    if axis in ("position", "seen"):
        return f"{structure(str(index + 1))} {token(trace.tokens[index])}"
    return place(trace, axis, index)


def structure(text: str) -> str:
    """Digits that count or name a part of the page or the model: no value of a trace, no fact."""
    return f"<span data-structure>{escape(text)}</span>" if any(c.isdigit() for c in text) else escape(text)


def token(text: str, more: str = "") -> str:
    """A token as it looks everywhere, its space visible. `more`: attributes."""
    return f'<code class="{token_class(text)}"{more}>{escape(text)}</code>'


def token_class(text: str) -> str:
    """What CSS goes by: the sign for a space says nothing to the ear, so a token with one is announced as such."""
    return "token spaced" if text.startswith("␣") else "token"


def symbol(text: str) -> str:
    """A symbol as readers know it: W1, WQ2, d_head as a letter with its index, e^z with z raised."""
    if "^" in text:
        base, _, power = text.partition("^")
        return f"<var>{escape(base)}</var><sup>{symbol(power)}</sup>"
    match = _INDEXED.fullmatch(text)
    letter, tail = (match["letter"], match["index"]) if match else (text, "")
    index = f"<sub>{structure(tail)}</sub>" if tail else ""
    return f"<var>{escape(letter)}{index}</var>"


#: A letter and its index: behind a _, as digits at the end, or as the kind of a weight or bias (WQ1, bO).
_INDEXED = re.compile(r"(?P<letter>[^_]+?|[Wb])(?:_|(?<=[Wb])(?=[A-Z])|(?=\d))(?P<index>[^_]+)")
