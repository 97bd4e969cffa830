"""The arithmetic that a worked line prints, read from the finished HTML.

3.014 × 0.5 + (−1.011) × 2        e<sup>2.491</sup> / 30.521        √(1.078 + 0.00001)
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from sevensteps.web.check.arithmetic import Arithmetic, Figure, operation
from sevensteps.web.check.reader import Node

FUNCTIONS = {"√": "root", "ln": "ln", "tanh": "tanh", "erf": "erf", "max": "max"}
POWERS = {"2": "square", "3": "cube"}
_SIGN = re.compile(r"\s+|[=+−×/(),√π]|ln|tanh|erf|max|e")

_PLACES = re.compile(r"-?\d{1,3}")


class UnreadableError(ValueError):
    """Text that is no arithmetic."""


@dataclass(frozen=True)
class Sign:
    """Anything printed that is no number: an operator, a bracket, a function's name."""

    text: str


#: A power is printed as <sup>…</sup>: its brackets.
RAISED, LOWERED = Sign("<sup>"), Sign("</sup>")
Token: TypeAlias = Figure | str | Sign


def places_of(number: Node) -> int | None:
    """The places that a number of a worked line names, if any. Raises UnreadableError."""
    places = number.attributes.get("data-places")
    if places is None or _PLACES.fullmatch(places):
        return int(places) if places else None
    raise UnreadableError(f'data-places="{places}"')


def sides(line: Node) -> list[list[Token]]:
    """What stands between the equals signs of a worked line, its label left out. Raises UnreadableError."""
    parts: list[list[Token]] = [[]]
    for token in _tokens(line):
        if token == Sign("="):
            parts.append([])
        else:
            parts[-1].append(token)
    if parts[0]:
        raise UnreadableError("text before the label")
    return parts[1:]


def _tokens(node: Node) -> list[Token]:
    tokens: list[Token] = []
    for child in node.children:
        if isinstance(child, str):
            tokens += _signs(child)
        elif "data-ref" in child.attributes:
            tokens.append(Figure(child.attributes["data-ref"], child.text, places_of(child)))
        elif "data-structure" in child.attributes:
            tokens.append(child.text)
        elif child.tag == "sup":
            tokens += [RAISED, *_tokens(child), LOWERED]
        elif "label" not in child.classes:
            raise UnreadableError(f"<{child.tag}> in the arithmetic")
    return tokens


def _signs(text: str) -> list[Token]:
    signs: list[Token] = []
    at = 0
    while at < len(text):
        match = _SIGN.match(text, at)
        if match is None:
            raise UnreadableError(f"{text[at:].strip()!r} in the arithmetic")
        if not match[0].isspace():
            signs.append("π" if match[0] == "π" else Sign(match[0]))
        at = match.end()
    return signs


def parse(tokens: list[Token]) -> Arithmetic:
    """One side as a tree. Raises UnreadableError."""
    reader = _Parser(tokens)
    tree = reader.sum()
    if reader.at < len(tokens):
        raise UnreadableError(f"{tokens[reader.at]} after the end of the arithmetic")
    return tree


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at = tokens, 0

    def _take(self, *texts: str) -> str | None:
        """The next sign's text when it is one of these."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if isinstance(token, Sign) and token.text in texts:
            self.at += 1
            return token.text
        return None

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise UnreadableError(f"no {text} where one is due")

    def sum(self) -> Arithmetic:
        tree = self.product()
        while sign := self._take("+", "−"):
            tree = operation(sign, [tree, self.product()])
        return tree

    def product(self) -> Arithmetic:
        tree = self.signed()
        while sign := self._take("×", "/"):
            tree = operation(sign, [tree, self.signed()])
        return tree

    def signed(self) -> Arithmetic:
        return operation("negate", [self.signed()]) if self._take("−") else self.power()

    def power(self) -> Arithmetic:
        if self._take("e"):
            return operation("exp", [self._raised()])
        base = self.atom()
        if self.at == len(self.tokens) or self.tokens[self.at] != RAISED:
            return base
        power = self._raised()
        if not isinstance(power, str) or power not in POWERS:
            raise UnreadableError(f"the power {power}")
        return operation(POWERS[power], [base])

    def _raised(self) -> Arithmetic:
        self._expect(RAISED.text)
        tree = self.sum()
        self._expect(LOWERED.text)
        return tree

    def atom(self) -> Arithmetic:
        if name := self._take(*FUNCTIONS):
            self._expect("(")
            operands = [self.sum()]
            while self._take(","):
                operands.append(self.sum())
            self._expect(")")
            return operation(FUNCTIONS[name], operands)
        if self._take("("):
            tree = self.sum()
            self._expect(")")
            return tree
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None or isinstance(token, Sign):
            raise UnreadableError("an operand is missing")
        self.at += 1
        return token
