"""Arithmetic as a tree of printed figures: what a page prints and what `explain` gives become comparable."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sevensteps.expression import Apply, Constant, Expression, Number


@dataclass(frozen=True)
class Figure:
    """A marked number, and its places if it names them. Two are the same when their refs are, whatever they print."""

    ref: str
    text: str = field(default="", compare=False)
    places: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Operation:
    """An operator, named as in `expression.Apply`, on its operands."""

    operator: str
    operands: "tuple[Arithmetic, ...]"


#: A str is a number of the formula itself: the 4 under a mean of four, or π.
Arithmetic: TypeAlias = Figure | str | Operation


def operation(operator: str, operands: list[Arithmetic]) -> Arithmetic:
    """With a sum in a sum, or a product in a product, drawn into one; a sum of one term is the term."""
    if operator in "+×":
        operands = [
            part
            for operand in operands
            for part in (
                operand.operands if isinstance(operand, Operation) and operand.operator == operator else (operand,)
            )
        ]
        if len(operands) == 1:
            return operands[0]
    return Operation(operator, tuple(operands))


def explained(expression: Expression, run: str) -> Arithmetic:
    """The arithmetic of `explain`, its refs written out with the run (`attention_off/`, or nothing for main)."""
    if isinstance(expression, Number):
        return Figure(run + expression.ref)
    if isinstance(expression, Constant):
        return expression.text
    assert isinstance(expression, Apply)  # the third and last kind
    return operation(expression.operator, [explained(operand, run) for operand in expression.operands])


def figures(arithmetic: Arithmetic) -> Iterator[Figure]:
    """Every marked number in it, from left to right."""
    if isinstance(arithmetic, Figure):
        yield arithmetic
    elif isinstance(arithmetic, Operation):
        for operand in arithmetic.operands:
            yield from figures(operand)


def with_texts(arithmetic: Arithmetic, text: Callable[[str], str]) -> Arithmetic:
    """The same arithmetic with the text that `text(ref)` gives for each number."""
    if isinstance(arithmetic, Figure):
        return Figure(arithmetic.ref, text(arithmetic.ref))
    if isinstance(arithmetic, Operation):
        return Operation(arithmetic.operator, tuple(with_texts(operand, text) for operand in arithmetic.operands))
    return arithmetic


def written(arithmetic: Arithmetic) -> str:
    """The arithmetic in refs, for a message."""
    if isinstance(arithmetic, Operation):
        return f"{arithmetic.operator}({', '.join(map(written, arithmetic.operands))})"
    return arithmetic.ref if isinstance(arithmetic, Figure) else arithmetic
