"""Read `toy.toml` strictly: every fault in it is found in one go and named by its key."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sevensteps.engine.faults import Fault, InputError
from sevensteps.engine.tokenizer import NoTokenFits, tokenize, visible

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def read_toml(path: Path, shown: str) -> dict[str, Any]:
    """A TOML file as a dictionary. Raises InputError when it cannot be read, is not UTF-8 or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some Windows editors put a mark in front
    except FileNotFoundError:
        found, expected = "nothing", "a TOML file"
    except OSError as error:
        found, expected = error.strerror or type(error).__name__, "a file that can be read"
    except UnicodeDecodeError as error:
        found, expected = f"a byte that is not UTF-8 at {error.start}", "UTF-8 text"
    except RecursionError:
        found, expected = "lists or tables nested too deep", "TOML of a few levels"
    except tomllib.TOMLDecodeError as error:
        found, expected = str(error), "TOML"
    except ValueError:  # Python's own limit on the digits of an integer
        found, expected = "an integer of thousands of digits", "TOML with finite numbers"
    raise InputError([Fault(shown, "(file)", found, expected)])


class ToyReader:
    """Checks values of one toy file and collects their faults in `faults`. A faulty value comes back as None."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []

    def fault(self, key: str, found: object, expected: str) -> None:
        self.told(key, _shown(found), expected)

    def told(self, key: str, found: str, expected: str) -> None:
        """A fault whose `found` is a description, not the value itself."""
        self.faults.append(Fault(self.file, key if key.isprintable() else repr(key), found, expected))

    def keys(self, table: Mapping[str, Any], prefix: str, needed: tuple[str, ...], allowed: tuple[str, ...]) -> None:
        """Every needed key is there and no other than the allowed ones."""
        for key in table:
            if key not in needed and key not in allowed:
                self.told(prefix + key, "an unknown key", f"one of {', '.join((*needed, *allowed))}")
        for key in needed:
            if key not in table:
                self.told(prefix + key, "nothing", "this key")

    def number(self, key: str, found: object) -> float | None:
        """A finite number; `true` is not one, nor is an integer beyond float64."""
        if isinstance(found, int | float) and not isinstance(found, bool):
            try:
                if math.isfinite(found):
                    return float(found)
            except OverflowError:
                pass
        self.fault(key, found, "a finite number")
        return None

    def numbers(self, key: str, found: object) -> list[float] | None:
        """A list of finite numbers, not empty."""
        if not isinstance(found, list) or not found:
            self.fault(key, found, "a list of numbers")
            return None
        numbers = [self.number(f"{key}[{n}]", entry) for n, entry in enumerate(found)]
        good = [number for number in numbers if number is not None]
        return good if len(good) == len(found) else None

    def matrix(self, key: str, found: object) -> list[list[float]] | None:
        """A list of rows of finite numbers, as many in each row."""
        if not isinstance(found, list) or not any(isinstance(row, list) for row in found):
            self.fault(key, found, "a list of rows of numbers")
            return None
        rows = [self.numbers(f"{key}[{n}]", row) for n, row in enumerate(found)]
        lengths = Counter(len(row) for row in found if isinstance(row, list) and row)
        # The row that is out of line is told, be it the first; of equally many, the length of the first row counts.
        usual = lengths.most_common(1)[0][0] if lengths else 0
        for n, row in enumerate(found):
            if isinstance(row, list) and row and len(row) != usual:
                self.told(f"{key}[{n}]", f"length {len(row)}", f"length {usual}, as in the other rows")
        good = [row for row in rows if row is not None]
        return good if len(good) == len(found) and len({*map(len, good)}) == 1 else None

    def vocabulary(self, found: object) -> tuple[str, ...]:
        """The tokens, in id order. A token that is not text is kept as an empty one, so that the ids stay right."""
        if not isinstance(found, list) or not found:
            self.fault("vocabulary", found, "a list of tokens")
            return ()
        words = tuple(word if isinstance(word, str) else "" for word in found)
        for n, word in enumerate(words):
            key = f"vocabulary[{n}]"
            if not word:
                self.fault(key, found[n], "a token, not empty")
            elif " " in word:
                self.fault(key, word, "the space written as ␣")
            elif CONTROL.search(word):
                self.fault(key, word, "no control characters")
            elif words.index(word) < n:
                self.fault(key, word, f"a token that is not yet there (it is vocabulary[{words.index(word)}])")
        return words

    def ids(self, key: str, text: object, vocabulary: tuple[str, ...], positions: int | None) -> tuple[int, ...]:
        """The ids of a text, at least one and at most `positions`; none where the text is faulty."""
        if not isinstance(text, str) or not text:
            self.fault(key, text, "text, not empty")
            return ()
        if not vocabulary:
            return ()
        try:
            ids = tuple(tokenize(text, vocabulary))
        except NoTokenFits as error:
            place = f"character {error.place + 1}, {error.text[error.place : error.place + 12]!r}"
            self.fault(key, error.text, f"a vocabulary entry that fits at {place}")
            return ()
        if positions is not None and len(ids) > positions:
            self.told(key, f"{len(ids)} tokens", f"at most {positions}, the rows of W_pos")
        return ids

    def next_id(self, key: str, token: object, vocabulary: tuple[str, ...]) -> int:
        """The id of the token that follows a text; 0 where it is faulty."""
        if not isinstance(token, str) or not token:
            self.fault(key, token, "a token, not empty")
        elif visible(token) in vocabulary:
            return vocabulary.index(visible(token))
        elif vocabulary:
            self.fault(key, token, "a token of the vocabulary")
        return 0


def _shown(found: object) -> str:
    """A value of the file as it is shown in a message, cut to 80 characters."""
    if isinstance(found, bool):
        return str(found).lower()  # as TOML writes it
    try:
        text = repr(found) if isinstance(found, str) else str(found)
    except (ValueError, RecursionError):  # an integer or a nesting beyond what Python prints
        return f"a value too long to show ({type(found).__name__})"
    return text if len(text) <= 80 else text[:77] + "..."
