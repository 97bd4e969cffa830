"""Calls for the glossary's table of names: what other libraries call our values (`content/names.toml`)."""

from collections.abc import Mapping

from sevensteps.engine.faults import InputError
from sevensteps.engine.forward import GIVEN
from sevensteps.engine.steps import Step
from sevensteps.engine.toyfile import read_toml
from sevensteps.web.desk import Calls
from sevensteps.web.schema import faults_of

LIBRARIES = ("transformer_lens", "gpt2")


class NameCalls(Calls):
    """The names of our values in other libraries."""

    def library_names(self) -> list[tuple[list[Step], dict[str, str]]]:
        """For each entry of names.toml its steps (one for each head where heads have their own) and its other names."""
        file = "content/names.toml"
        table = read_toml(self.desk.root / file, file)
        faults = faults_of(file, table, dict.fromkeys(table, "a table"))
        faults = faults or [
            fault
            for name, elsewhere in table.items()
            for fault in faults_of(file, elsewhere, dict.fromkeys(LIBRARIES, "a text"), prefix=f"{name}.")
        ]
        if faults:
            raise InputError(faults)
        rows = []
        for name, elsewhere in table.items():
            steps = _steps_named(self.desk.runs.traces["main"].steps, name)
            if steps:
                rows.append((steps, {library: elsewhere.get(library, "") for library in LIBRARIES}))
            elif name not in GIVEN:  # a weight that this toy does without is no fault
                self.desk.fault(f"{file}: {name}", "the name of a step, without the head's number")
        return rows


def _steps_named(steps: Mapping[str, Step], name: str) -> list[Step]:
    if name in steps:
        return [steps[name]]
    return [
        step for other, step in steps.items() if other.rpartition(".")[0] == name and other[len(name) + 1 :].isdigit()
    ]
