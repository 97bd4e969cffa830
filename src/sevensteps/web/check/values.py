"""The engine's values as the rules ask for them: each ref is looked up and printed once."""

from collections.abc import Iterator
from functools import cache

from sevensteps.explain import explain, origins
from sevensteps.expression import Number
from sevensteps.refs import UnknownRefError, run_of
from sevensteps.web.check.arithmetic import Arithmetic, explained
from sevensteps.web.check.printed import printed
from sevensteps.web.site import Sources


class Values:
    """Every number of every run by its ref, and the facts by their keys."""

    def __init__(self, sources: Sources) -> None:
        self.runs, self.facts = sources.runs, sources.facts
        self.number = cache(self._number)
        self.text = cache(self._text)
        self.arithmetic = cache(self._arithmetic)

    def _number(self, ref: str) -> float | None:
        """The number at a ref; None where there is none, or a whole row."""
        try:
            value = self.runs[ref]
        except UnknownRefError:
            return None
        return None if value.ndim else float(value)

    def _text(self, ref: str, places: int | None = None) -> str:
        """The number at a ref as it must be printed; empty where there is none."""
        value = self.number(ref)
        return "" if value is None else printed(value, places)

    def _arithmetic(self, ref: str) -> Arithmetic | None:
        """The arithmetic behind the number at a ref; None where it is given or a copy."""
        expression = explain(*self.runs.find(ref)).expression
        if expression is None or isinstance(expression, Number):
            return None
        return explained(expression, run_of(ref))

    def copied_from(self, ref: str) -> Iterator[str]:
        """The ref of a number, and of every number that it is a copy of."""
        trace, name, index = self.runs.find(ref)
        return (run_of(ref) + origin for origin in origins(trace, ".".join((name, *map(str, index)))))

    def marked_token(self, mark: str) -> str | None:
        """What a token mark says: `id ids.4` the token at a position, `top probs.4` the likeliest, then `second`."""
        kind, _, ref = mark.partition(" ")
        try:
            value, vocabulary = self.runs[ref], self.runs.find(ref)[0].vocabulary
        except UnknownRefError:
            return None
        if kind in ("top", "second") and value.ndim == 1 and value.size == len(vocabulary) > 1:
            largest_first = sorted(range(value.size), key=lambda k: -float(value[k]))
            return vocabulary[largest_first[kind == "second"]]
        if kind == "id" and value.ndim == 0 and int(value) in range(len(vocabulary)):
            return vocabulary[int(value)]
        return None
