"""The runs of a toy file: the main text and every [runs.NAME], another text or a patched forward pass."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sevensteps.engine.forward import SIZES
from sevensteps.engine.steps import Patch, Step
from sevensteps.engine.toyfile import ToyReader

RUN_NAME = re.compile(r"[a-z][a-z0-9_]*")
RESERVED = ("main", "generated")


@dataclass(frozen=True)
class RunSpec:
    """What a run starts from: ids (T,), the ids that follow them (T,), and the patch."""

    ids: tuple[int, ...]
    targets: tuple[int, ...]
    patch: Patch


def read_runs(
    reader: ToyReader, data: Mapping[str, Any], vocabulary: tuple[str, ...], positions: int | None
) -> dict[str, RunSpec]:
    """`main` and every named run. A run takes from main what it does not say itself. A faulty text has no ids.

    The patch at the top of the file holds in every run; where a run patches the same value, its own counts.
    """
    main_ids = reader.ids("text", data["text"], vocabulary, positions) if "text" in data else ()
    main_last = reader.next_id("next", data["next"], vocabulary) if "next" in data else 0
    everywhere = _patch(reader, "patch", data.get("patch", {}))
    specs = {"main": RunSpec(main_ids, (*main_ids[1:], main_last), everywhere)}
    for name, table in _tables(reader, data.get("runs", {})).items():
        key = f"runs.{name}"
        ids = reader.ids(f"{key}.text", table["text"], vocabulary, positions) if "text" in table else main_ids
        last = reader.next_id(f"{key}.next", table["next"], vocabulary) if "next" in table else main_last
        patch = {**everywhere, **_patch(reader, f"{key}.patch", table.get("patch", {}))}
        specs[name] = RunSpec(ids, (*ids[1:], last), patch)
    return specs


def _tables(reader: ToyReader, found: object) -> dict[str, dict[str, Any]]:
    """The tables [runs.NAME] that have a good name."""
    if not isinstance(found, dict):
        reader.fault("runs", found, "tables [runs.NAME]")
        return {}
    tables = {}
    for name, table in found.items():
        if name in RESERVED or not RUN_NAME.fullmatch(name):
            expected = "a name of small letters, digits and _ which starts with a letter, other than main and generated"
            reader.fault(f"runs.{name}", name, expected)
        elif not isinstance(table, dict):
            reader.fault(f"runs.{name}", table, "a table")
        else:
            reader.keys(table, f"runs.{name}.", (), ("text", "next", "patch"))
            tables[name] = table
    return tables


def _patch(reader: ToyReader, key: str, found: object) -> dict[str, float | str]:
    if not isinstance(found, dict):
        reader.fault(key, found, "a table of NAME = a number or another value's name")
        return {}
    for name, new in found.items():
        if isinstance(new, dict):
            reader.fault(f"{key}.{name}", new, 'a number or a name (a name with dots is quoted: "attn.z.0" = 0)')
        elif not isinstance(new, str):
            reader.number(f"{key}.{name}", new)
    return {name: new for name, new in found.items() if isinstance(new, int | float | str)}


def check_patch_names(reader: ToyReader, specs: Mapping[str, RunSpec], steps: Sequence[Step]) -> None:
    """A patch replaces a weight or a computed value, by a number or by a value that is made before it."""
    places = {step.name: place for place, step in enumerate(steps)}
    for run in specs:
        for name, new in own_patch(specs, run).items():
            key = f"{patch_key(run)}.{name}"
            if name not in places or name in SIZES or name.startswith("head."):
                reader.fault(key, name, "the name of a weight or of a computed value")
            elif isinstance(new, str) and places.get(_source(new, places), len(steps)) >= places[name]:
                reader.fault(key, new, f"a number, or the name of a value that is made before {name}")


def own_patch(specs: Mapping[str, RunSpec], run: str) -> Patch:
    """What a run patches beyond the patch of every run; for main, that patch."""
    everywhere = {} if run == "main" else specs["main"].patch
    return {name: new for name, new in specs[run].patch.items() if everywhere.get(name) != new}


def patch_key(run: str) -> str:
    """Where a run's patch stands in the file."""
    return "patch" if run == "main" else f"runs.{run}.patch"


def _source(new: str, places: Mapping[str, int]) -> str:
    """The value's name in `NAME`, `NAME.T`, `NAME.i` or `NAME.i.j`."""
    name = new.removesuffix(".T")
    while name and name not in places:
        name = name.rpartition(".")[0]
    return name
