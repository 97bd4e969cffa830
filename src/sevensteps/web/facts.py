"""Figures that no engine computes: `facts.toml`, each with its source, some as products of others."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sevensteps.engine.faults import Fault as InputFault
from sevensteps.engine.faults import InputError
from sevensteps.engine.toyfile import read_toml
from sevensteps.web.schema import is_number

KEYS = {"value", "source", "product", "sum", "quoted"}


@dataclass(frozen=True)
class Fact:
    """A figure and where it is from; a computed one names the facts that it is made of."""

    value: float
    text: str
    source: str


def load_facts(path: Path, shown: str = "content/facts.toml") -> dict[str, Fact]:
    """All facts by key. Raises InputError with every fault."""
    facts: dict[str, Fact] = {}
    faults: list[InputFault] = []
    for key, entry in read_toml(path, shown).items():
        problem = _problem(entry, facts)
        if problem:
            faults.append(InputFault(shown, key, *problem))
            continue
        value = _value(entry, facts)
        facts[key] = Fact(float(value), entry.get("quoted") or written(value), entry["source"])
    if faults:
        raise InputError(faults)
    return facts


def written(value: float) -> str:
    """A fact as the pages print it: thousands separated, a decimal as its source gives it."""
    return f"{value:,}".replace("-", "−")


def _problem(entry: Any, facts: Mapping[str, Fact]) -> tuple[str, str] | None:
    if not isinstance(entry, dict) or not set(entry) <= KEYS:
        return str(entry), f"a table with the keys {', '.join(sorted(KEYS))}"
    if not isinstance(entry.get("source"), str) or not entry["source"]:
        return "no source", "a source"
    if [key in entry for key in ("value", "product", "sum")].count(True) != 1:
        return ", ".join(entry), "one of value, product, sum"
    operands = entry.get("product", entry.get("sum", []))
    if not isinstance(operands, list):
        return repr(operands), "a list of numbers and facts"
    if unknown := [part for part in operands if not (part in facts if isinstance(part, str) else is_number(part))]:
        return repr(unknown[0]), "a number or a fact defined above"
    if "value" in entry and not is_number(entry["value"]):
        return repr(entry["value"]), "a finite number"
    if "quoted" in entry and not _says(entry["quoted"], entry.get("value")):
        return f"quoted = {entry['quoted']!r}", "the digits of the value, in quotes"
    return None


def _says(quoted: object, value: object) -> bool:
    """Whether a quoted text is the value, written in another way."""
    try:
        return isinstance(quoted, str) and float(quoted) == value
    except ValueError:
        return False


def _value(entry: Mapping[str, Any], facts: Mapping[str, Fact]) -> float:
    if "value" in entry:
        return entry["value"]  # type: ignore[no-any-return]
    operands = entry["product"] if "product" in entry else entry["sum"]
    parts = [facts[part].value if isinstance(part, str) else part for part in operands]
    result = math.prod(parts) if "product" in entry else math.fsum(parts)
    return int(result) if result == int(result) else result
