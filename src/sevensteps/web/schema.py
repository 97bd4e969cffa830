"""The kinds of values in content files: every key known, every value of its kind, all faults at once."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sevensteps.engine.faults import Fault


def is_number(value: object) -> bool:
    """A finite number; `true` is not one, nor is an integer beyond float64."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def is_array(value: object) -> bool:
    """A finite number, or a list of such, nested as deep as one likes; not empty."""
    return is_number(value) or (isinstance(value, list) and value != [] and all(map(is_array, value)))


#: What a value may have to be -> its test.
KINDS: dict[str, Callable[[Any], bool]] = {
    "a text, not empty": lambda value: isinstance(value, str) and value != "",
    "a text": lambda value: isinstance(value, str),
    "a text without ~": lambda value: isinstance(value, str) and "~" not in value,
    "a web address": lambda value: isinstance(value, str) and re.match(r"https?://[^/\s]+", value) is not None,
    "a list of texts": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "a finite number": is_number,
    "a finite number, or lists of them": is_array,
    "a whole number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "a table": lambda value: isinstance(value, dict),
    "tables": lambda value: isinstance(value, dict) and all(isinstance(item, dict) for item in value.values()),
}


def faults_of(
    file: str, table: Mapping[str, Any], kinds: Mapping[str, str], needed: Collection[str] = (), prefix: str = ""
) -> list[Fault]:
    """What is wrong in one table. `kinds` maps each key that it may have to one of KINDS."""
    unknown = [key for key in table if key not in kinds]
    wrong = [key for key, kind in kinds.items() if key in table and not KINDS[kind](table[key])]
    missing = [key for key in needed if key not in table]
    return [
        *(Fault(file, prefix + key, "an unknown key", f"one of {', '.join(kinds)}") for key in unknown),
        *(Fault(file, prefix + key, repr(table[key]), kinds[key]) for key in wrong),
        *(Fault(file, prefix + key, "nothing", kinds[key]) for key in missing),
    ]
