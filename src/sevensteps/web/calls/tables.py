"""Calls for tables of values, and for the *check yourself* box. Each table's body is its caption."""

import json
import re
from dataclasses import dataclass
from itertools import chain
from typing import Any
from zlib import crc32

from markupsafe import Markup

from sevensteps.engine.steps import Trace
from sevensteps.explain import explain
from sevensteps.expression import Apply
from sevensteps.refs import POSITION_AXES
from sevensteps.web import tables
from sevensteps.web.desk import Body, Calls, Desk
from sevensteps.web.hues import common_hue, shares
from sevensteps.web.marks import header, ids_named, structure
from sevensteps.web.slips import Form, slips

#: How readers call what an axis counts.
AXIS = {
    "position": "row", "seen": "looks at", "token": "token", "dimension": "dimension", "entry": "entry",
    "joined": "entry", "unit": "hidden unit", "place": "position",
    "layer": "layer", "block": "block", "head": "head", "prompt": "prompt",
}  # fmt: skip
_PART = re.compile(r"^:(hint|answer|trap|choice|reply|right): *", re.MULTILINE)


@dataclass
class Choice:
    """One of the answers to choose from, as HTML, with its letter; `reply` is what a wrong one is told."""

    text: Markup
    reply: Markup | None = None
    letter: str = ""


class TableCalls(Calls):
    """Tables of values, their notes, and the *check yourself* box."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        #: The names of the values that the boxes of each page ask for.
        self._asked: dict[str, set[str]] = {}

    def matrix(
        self, written: str, caller: Body, rows: list[Any] | None = None, mark: tuple[Any, ...] = (),
        first: int | None = None,
    ) -> str:  # fmt: skip
        """A value with named rows and columns. `rows` picks some, `mark` sets some off, both as authors count.

        `first` cuts a table of all with all, which grows with the square: the caption says so where it does.
        """
        ref = self.desk.runs.ref(written)
        trace, name, index = self.desk.runs.find(ref)
        axes, shape = trace.steps[name].axes[len(index) :], self.desk.runs[ref].shape
        if first and len(set(axes)) != 1:
            self.desk.fault(f"first={first} of {written}", "a value with one axis twice")
        if len(shape) == 1:
            return self.stack([("", written)], caller)
        chosen = [self._item(written, item) for item in rows] if rows else list(range(shape[0]))[:first]
        across = range(shape[1])[:first]
        marked, order = self._set_off(written, mark)
        table = tables.Table(
            columns=tuple(header(trace, axes[1], j) for j in across),
            rows=tuple(
                tables.Row(header(trace, axes[0], i), tuple(f"{ref}.{i}.{j}" for j in across), i in marked)
                for i in chosen
            ),
            corner=f"{AXIS[axes[0]]} ↓ {AXIS[axes[1]]} →",
            data={
                **self._counted(trace, axes[1], "columns"),
                **(counted := self._counted(trace, axes[0], "rows")),
                **({"data-some": ""} if rows and counted else {}),
            },
            order=order,
        )
        whole = len(across) == shape[1]
        cut = "" if whole else f" Here: the first {structure(str(first))} of {structure(str(shape[1]))}."
        return self._table(table, lambda: caller() + cut)

    def stack(self, rows: list[tuple[str, str]], caller: Body, mark: tuple[int, ...] = ()) -> str:
        """Rows of different values under one heading: [('token row', 'E_id[last]'), …], each name inline Markdown."""
        refs = [self.desk.runs.ref(written) for _, written in rows]
        trace, name, _ = self.desk.runs.find(refs[0])
        axis, width = trace.steps[name].axes[-1], self.desk.runs[refs[0]].shape[-1]
        table = tables.Table(
            columns=tuple(header(trace, axis, j) for j in range(width)),
            rows=tuple(
                tables.Row(self._inline(label), tuple(f"{ref}.{j}" for j in range(width)), i + 1 in mark)
                for i, ((label, _), ref) in enumerate(zip(rows, refs, strict=True))
            ),
            corner=f"{AXIS[axis]} →",
            data=self._counted(trace, axis, "columns"),
        )
        return self._table(table, caller)

    def listing(
        self, columns: list[tuple[str, str]], caller: Body, order: str | None = None,
        total: list[str | None] | None = None, first: int | None = None, mark: tuple[Any, ...] = (),
    ) -> str:  # fmt: skip
        """Rows of different values side by side as columns: [('z', 'z[last]'), …], largest of `order` first.

        `total` gives a ref (or None) for each column of a sum row; `first` cuts the list.
        """
        runs = self.desk.runs
        refs = [runs.ref(written) for _, written in columns]
        trace, name, _ = runs.find(refs[0])
        axis = trace.steps[name].axes[-1]
        sequence = tables.order(runs, runs.ref(order)) if order else list(range(runs[refs[0]].shape[-1]))
        marked, attributes = self._set_off(columns[0][1], mark)
        if order:
            attributes["data-order"] = runs.ref(order)
        foot = [tables.Row("sum", tuple(self.desk.single(w) if w else None for w in total))] if total else []
        table = tables.Table(
            columns=tuple(self._inline(label) for label, _ in columns),
            rows=tuple(
                tables.Row(header(trace, axis, i), tuple(f"{ref}.{i}" for ref in refs), i in marked)
                for i in sequence[:first]
            ),
            foot=tuple(foot),
            corner=AXIS[axis],
            by_column=True,
            data={"data-by-column": "", **self._counted(trace, axis, "rows")},
            order=attributes,
        )
        return self._table(table, caller)

    def check(self, caller: Body, answer: str = "", token: str = "") -> str:
        """A *check yourself* box. The body is the question, then paragraphs that begin with `:hint:` and the like.

        `answer` is the ref of the number asked for, whose worked line opens the answer. Where a token is asked for,
        `token` is a row whose top it is, or a number that is its id. What has neither is a choice.
        """
        question, *rest = _PART.split(caller())
        html = self.desk.page.stash.html
        written = list(zip(rest[::2], rest[1::2], strict=True))
        parts = {kind: [Markup(html(text)) for k, text in written if k == kind] for kind in ("hint", "answer", "trap")}
        self.desk.page.checks += 1
        choices = self._choices(written)
        if [bool(asked) for asked in (answer, token, choices)].count(True) != 1:
            self.desk.fault("a box that asks for nothing, or for two things", "one of answer, token and choices")
        ref = self.desk.single(answer) if answer else ""
        if ref:
            self._asked.setdefault(self.desk.page.slug, set()).add(self.desk.runs.find(ref)[1])
        box = self.desk.macro("check")(
            number=self.desk.page.checks, question=Markup(html(question)), **parts, answer_ref=ref,
            token_mark=self._token_mark(token) if token else "", choices=choices,
            line=Markup(self.desk.marks.working(ref)) if ref else "",
            words=Markup(self._words(ref)) if ref else "",
        )  # fmt: skip
        return self.desk.block(box)

    def _choices(self, written: list[tuple[str, str]]) -> list[Choice]:
        """The answers to choose from, each wrong one with its reply, in an order that is mixed but always the same."""
        choices: list[Choice] = []
        for kind, text in written:
            if kind in ("choice", "right"):
                choices.append(Choice(Markup(self._inline(text))))
            elif kind == "reply" and choices:
                choices[-1].reply = Markup(self._inline(text))
        rights = [kind for kind, _ in written].count("right")
        if choices and (rights != 1 or [choice.reply for choice in choices].count(None) != 1):
            self.desk.fault("choices", "one :right:, and a :reply: behind each :choice:")
        page = self.desk.page
        mixed = sorted(enumerate(choices), key=lambda item: crc32(f"{page.slug} {page.checks} {item[0]}".encode()))
        for letter, (_, choice) in zip("abcdefgh", mixed, strict=False):
            choice.letter = letter
        return [choice for _, choice in mixed]

    def slips(self, page: int) -> Markup:
        """Slips in the steps of page number `page` and what its boxes ask for, as JSON: {value: {reply: form}}."""
        steps, asked = self.desk.runs.traces["main"].steps, self._asked.get(self.desk.page.slug, set())
        known = slips(steps, int(self.desk.runs["size.d_model"]))
        forms: dict[str, dict[str, Form]] = {}
        for name, reply, form in known:
            if (steps[name].page == page and steps[name].symbol) or name in asked:
                forms.setdefault(name, {})[reply] = form
        return Markup(json.dumps(forms, separators=(",", ":")))

    def _table(self, table: tables.Table, caller: Body) -> str:
        runs, refs = self.desk.runs, table.refs()
        rows = [row.refs for row in table.rows]
        whole, *columns = (common_hue(runs, refs) for refs in (chain(*rows), *zip(*rows, strict=True)))
        css = ["many"] if len(columns) > 10 else []
        css += [whole] if whole else shares(columns) if table.by_column else []
        self.desk.page.tables += 1
        html = self.desk.macro("table")(
            table=table, css=" ".join(css), shades=tables.shades(runs, table),
            caption=Markup(self._inline(caller())),
            id=f"table-{self.desk.page.tables}", number=lambda ref: Markup(self.desk.marks.number(ref)),
            notes=self._notes(refs), hue=whole, column_hues=columns, row_hues=[common_hue(runs, row) for row in rows],
        )  # fmt: skip
        return self.desk.block(html)

    def _counted(self, trace: Trace, axis: str, what: str) -> dict[str, str]:
        """The attribute of a table whose rows or columns come and go with the text of the main run."""
        follows = axis in POSITION_AXES and trace.tokens == self.desk.runs.traces["main"].tokens
        return {f"data-{what}": axis} if follows else {}

    def _set_off(self, written: str, mark: tuple[Any, ...]) -> tuple[set[int], dict[str, str]]:
        """Which rows are set off, and the attribute that says so where it follows from the run: 'top', 'id drawn'."""
        runs = self.desk.runs
        for item in mark:
            if str(item).startswith(("top", "id ")):
                name = f"top {runs.ref(written)}" if item == "top" else f"id {runs.ref(item[3:])}"
                return set(ids_named(name, runs)), {"data-marked": name}
        return {self._item(written, item) for item in mark}, {}

    def notes(self, *written: str, in_part: bool = False) -> Markup:
        """The notes under the table of a picture, which shows all of these values, or what the workbench shows."""
        return self._notes(self.desk.entries(written, in_part))

    def _notes(self, refs: list[str]) -> Markup:
        runs = self.desk.runs
        html = self.desk.macro("notes")(
            notes=[self._note(note, "data-calculated") for note in tables.closing_notes(runs, refs)],
            sums=[self._note(note, "data-printed-sum") for note in tables.sum_notes(runs, refs)],
        )
        return Markup(html)

    def _note(self, note: tables.Note, attribute: str) -> tuple[Markup, Markup]:
        figure = f'<span class="num" {attribute}="{note.ref}"{self.desk.origin()}>{note.calculated}</span>'
        return Markup(self.desk.marks.label(note.ref)), Markup(figure)

    def _words(self, ref: str) -> str:
        """What is calculated, in words; nothing for a number that is given or copied."""
        calculated = isinstance(explain(*self.desk.runs.find(ref)).expression, Apply)
        return self.desk.marks.sentence(ref) if calculated else ""

    def _token_mark(self, written: str) -> str:
        ref = self.desk.runs.ref(written)
        return f"top {ref}" if self.desk.runs[ref].ndim else f"id {ref}"

    def _item(self, written: str, item: Any) -> int:
        # p[last] with the item ␣roof is p[last,␣roof].
        items = f"{written[:-1]},{item}]" if written.endswith("]") else f"{written}[{item}]"
        return int(self.desk.runs.ref(items).rpartition(".")[2])

    def _inline(self, text: str) -> str:
        return self.desk.page.stash.inline(text)
