"""Calls for pictures and other templates: values and names from which they draw."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sevensteps.engine.steps import Step
from sevensteps.engine.tokenizer import Cut, cuts
from sevensteps.engine.toy import text_of
from sevensteps.web import tables
from sevensteps.web.desk import FEW, MOST, Calls, places_shown
from sevensteps.web.marks import header, token
from sevensteps.web.scales import scaled

#: A label on a map is this wide and a line of it this high, as parts of the axes' spans (pictures.css: 275 and 240).
WIDE, LINE = 0.27, 16 / 240


class FigureCalls(Calls):
    """Values and names for pictures and hand-made tables."""

    def value(self, written: str) -> Any:
        """A value as a float, or (nested) lists of floats."""
        return self.desk.runs[self.desk.runs.ref(written)].tolist()

    def refs(self, written: str) -> list[str]:
        """The refs of a row's entries, as `numbers_of` takes them."""
        ref = self.desk.runs.ref(written)
        return [f"{ref}.{k}" for k in range(self.desk.runs[ref].shape[0])]

    def step_of(self, name: str) -> Step | None:
        """The step that makes a value of the main run; None where this toy has no such value."""
        return self.desk.runs.traces["main"].steps.get(name)

    def shades_of(self, *written: str, in_part: bool = False) -> dict[str, str]:
        """For each number of these values its shade, from −1 to 1, in one scale for all."""
        return dict(tables.shades_of(self.desk.runs, self.desk.entries(written, in_part)))

    def places_shown(self, count: float) -> int:
        """How many of so many places the workbench shows."""
        return places_shown(int(count))

    def part_of(self, entries: Sequence[Any]) -> Sequence[Any]:
        """Of an axis, what the workbench shows."""
        return entries[: places_shown(len(entries))]

    def most_of(self) -> str:
        """Beyond how many places the workbench cuts an axis, and to how many: for static/js/page.js."""
        return f"{MOST} {FEW}"

    def numbers_of(self, ref: str, tag: str = "data") -> Markup:
        """The marked number at a ref (not an author's symbol); tag 'tspan' inside SVG."""
        return Markup(self.desk.marks.number(ref, tag))

    def order_of(self, written: str) -> list[int]:
        """Indices of a row, largest entry first."""
        return tables.order(self.desk.runs, self.desk.runs.ref(written))

    def header_of(self, axis: str, index: int, run: str = "main") -> Markup:
        """The heading of a row or column, as the tables have it."""
        return Markup(header(self.desk.runs.traces[run], axis, index))

    def tokens_of(self, run: str = "main") -> tuple[str, ...]:
        """The tokens of a run's text, one a position."""
        return self.desk.runs.traces[run].tokens

    def token_of(self, text: str, more: str = "") -> Markup:
        """A token as it looks everywhere, with more attributes."""
        return Markup(token(text, more))

    def vocabulary_of(self, run: str = "main") -> tuple[str, ...]:
        """The tokens by id."""
        return self.desk.runs.traces[run].vocabulary

    def labels_apart(self, written: str, across: int, up: int) -> list[int]:
        """For a point at two entries of each row: how many lines lower its label stands, to cover none before it.

        static/js/page.js does the same in the same units: one is the whole span of an axis.
        """
        points = self.desk.runs[self.desk.runs.ref(written)][:, [across, up]]
        low, high = points.min(axis=0).clip(max=0), points.max(axis=0).clip(min=0)
        placed: list[tuple[float, float]] = []
        lines = []
        for x, y in ((points - low) / np.where(high > low, high - low, 1)).round(3):
            lower = 0
            while any(abs(x - a) < WIDE and abs(y - lower * LINE - b) < 0.9 * LINE for a, b in placed):
                lower += 1
            placed.append((x, y - lower * LINE))
            lines.append(lower)
        return lines

    def cuts_of(self, run: str = "main") -> list[Cut]:
        """The cuts of a run's text, as the tokenizer makes them."""
        trace = self.desk.runs.traces[run]
        return list(cuts(text_of(trace), trace.vocabulary))

    def scaled(self, html: str) -> Markup:
        """A picture's HTML with the variables from which CSS draws it."""
        return Markup(scaled(str(html), self.desk.runs))

    def slug_here(self) -> str:
        """The page that is being written, as `steps` lists it."""
        return self.desk.page.slug

    def new_id(self) -> str:
        """An id for a picture that no other element of the page has."""
        self.desk.page.pictures += 1
        return f"picture-{self.desk.page.pictures}"
