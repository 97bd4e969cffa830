"""Longest match first: at each place the longest vocabulary entry that fits is cut off.

A leading space belongs to its token and is written ␣ in the vocabulary and on the pages.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SPACE = "␣"


class NoTokenFits(ValueError):  # noqa: N818 - the name says what happened
    """No vocabulary entry starts at `place` (0-based, in characters) of `text`, which is written with ␣."""

    def __init__(self, text: str, place: int) -> None:
        self.text, self.place = text, place
        rest = text[place : place + 12]
        super().__init__(f"no token fits at character {place + 1} of '{text}': '{rest}'")


@dataclass(frozen=True)
class Cut:
    """One cut: where it starts, the vocabulary entries that fit there (longest first), the one taken is fits[0]."""

    start: int
    fits: tuple[str, ...]


def visible(text: str) -> str:
    """Spaces written as ␣."""
    return text.replace(" ", SPACE)


def cuts(text: str, vocabulary: Sequence[str]) -> Iterator[Cut]:
    """Cut a text, token by token. Raises NoTokenFits."""
    text = visible(text)
    # An empty token fits everywhere and would never get on.
    longest_first = sorted(filter(None, vocabulary), key=lambda token: (-len(token), token))
    place = 0
    while place < len(text):
        fits = tuple(token for token in longest_first if text.startswith(token, place))
        if not fits:
            raise NoTokenFits(text, place)
        yield Cut(place, fits)
        place += len(fits[0])


def tokenize(text: str, vocabulary: Sequence[str]) -> list[int]:
    """Ids (0-based, in vocabulary order) of a text. Raises NoTokenFits."""
    ids = {token: n for n, token in enumerate(vocabulary)}
    return [ids[cut.fits[0]] for cut in cuts(text, vocabulary)]


def detokenize(ids: Sequence[int], vocabulary: Sequence[str]) -> str:
    """The text of the tokens, with plain spaces."""
    return "".join(vocabulary[n] for n in ids).replace(SPACE, " ")
