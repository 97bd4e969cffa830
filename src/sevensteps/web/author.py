"""What authors may call inside a content page: numbers, tokens, claims, tables, exercises.

Functions that return text are written `<%= n('p[last,␣roof]') %>`; those with a body are call blocks,
`<% call matrix('x') %>caption<% endcall %>`, and their body is Markdown. Anything that names what is not there is
a fault with the file and line, and the rest of the page is still read.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, Template
from markupsafe import Markup

from sevensteps.claims import BadClaim, compile_claim, holds
from sevensteps.engine.faults import Fault
from sevensteps.engine.steps import Trace
from sevensteps.engine.tokenizer import cuts
from sevensteps.engine.toy import text_of
from sevensteps.refs import Runs, UnknownRef
from sevensteps.web import tables
from sevensteps.web.facts import Fact
from sevensteps.web.formulas import Formulas
from sevensteps.web.marks import Marks, header, structure, symbol, token
from sevensteps.web.markup import Stash

Body = Callable[[], str]
_PART = re.compile(r"^:(hint|answer|trap): *", re.MULTILINE)


class Inline(str):
    """A sentinel in running text that also knows its number's <mn>, for use inside a formula."""

    mn: str


@dataclass(frozen=True)
class Broken:
    """A claim that these weights no longer bear out."""

    file: str
    line: int
    sentence: str
    condition: str


@dataclass
class Page:
    """One content page while it is rendered."""

    slug: str
    file: str
    stash: Stash = field(default_factory=Stash)
    formulas: Formulas | None = None
    facts_used: dict[str, Fact] = field(default_factory=dict)
    checks: int = 0
    tables: int = 0


def forgiving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn what an author's call names wrongly into a fault of the page."""

    @wraps(function)
    def call(self: "Author", *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except (UnknownRef, BadClaim) as error:
            self.fault(str(error), "a ref, symbol or claim of this toy")
            return ""

    return call


class Author:
    """The functions of the content pages; `page` is the one being rendered."""

    def __init__(self, env: Environment, root: Path, runs: Runs, facts: dict[str, Fact], lines: bool) -> None:
        self.env, self.root, self.runs, self.facts, self.lines = env, root, runs, facts, lines
        self.marks = Marks(runs, self._origin)
        self.page = Page("", "")
        self.faults: list[Fault] = []
        self.broken: list[Broken] = []

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Everything that content and templates can call, by name."""
        names = ("n", "fact", "t", "at", "top", "k", "sym", "claim", "worked", "in_words", "formula", "matrix", "listing",
                 "stack", "check", "refs", "value", "tokens_of", "cuts_of", "order_of", "header_of", "numbers_of",
                 "steps_of", "term", "code")  # fmt: skip
        return {name: getattr(self, name) for name in names}

    # Where we are in the author's file.

    def where(self) -> tuple[str, int]:
        """File and line of the content page that is being rendered: its frame is the outermost template's."""
        line, frame = 0, sys._getframe()
        while frame := frame.f_back:  # type: ignore[assignment]
            template = frame.f_globals.get("__jinja_template__")
            if isinstance(template, Template) and template.name == self.page.file:
                line = template.get_corresponding_lineno(frame.f_lineno)
        return self.page.file, line

    def _origin(self) -> str:
        return ' data-line="{}:{}"'.format(*self.where()) if self.lines else ""

    def fault(self, found: str, expected: str) -> None:
        file, line = self.where()
        self.faults.append(Fault(f"{file}:{line}", "content", found, expected))

    # Text.

    @forgiving
    def n(self, written: str, tag: str = "data") -> Inline:
        """A number: `n('y[last,1]')`."""
        ref = self.single(written)
        inline = Inline(self.page.stash.keep(self.marks.number(ref, tag)))
        inline.mn = self.marks.number(ref, "mn")
        return inline

    def fact(self, key: str) -> Inline:
        """A figure of facts.toml; its source is listed at the end of the page."""
        if key not in self.facts:
            self.fault(f"fact {key!r}", "a key of content/facts.toml")
            return Inline("")
        fact = self.page.facts_used.setdefault(key, self.facts[key])
        inline = Inline(self.page.stash.keep(self.marks.fact(key, fact)))
        inline.mn = self.marks.fact(key, fact, "mn")
        return inline

    def t(self, text: str) -> str:
        """A token of the vocabulary."""
        if text not in self.runs.traces["main"].vocabulary:
            self.fault(f"token {text!r}", "a token of the vocabulary")
        return self.page.stash.keep(token(text))

    @forgiving
    def at(self, position: int | str, run: str = "main") -> str:
        """The token at a position (from 1, or 'last') of a run's text."""
        ref = self.runs.ref(f"{run}/ids[{position}]")
        trace = self.runs.find(ref)[0]
        return self._marked_token(trace.vocabulary[int(self.runs[ref])], f"id {ref}")

    @forgiving
    def top(self, row: str) -> str:
        """The token with the largest entry of a row: `top('p[last]')`."""
        ref = self.runs.ref(row)
        trace = self.runs.find(ref)[0]
        return self._marked_token(trace.vocabulary[int(self.runs[ref].argmax())], f"top {ref}")

    def _marked_token(self, text: str, ref: str) -> str:
        return self.page.stash.keep(
            f'<code class="token" data-token="{escape(ref)}"{self._origin()}>{escape(text)}</code>'
        )

    def k(self, text: object) -> str:
        """Digits that count or name something: k(1) in 'head 1'. Not for results."""
        inline = Inline(self.page.stash.keep(structure(str(text))))
        inline.mn = f"<mn data-structure>{escape(str(text))}</mn>"
        return inline

    def sym(self, text: str) -> str:
        """A symbol: sym('W1')."""
        return self.page.stash.keep(symbol(text))

    def term(self, text: str, entry: str = "") -> str:
        """A new term where it is explained, linked to its glossary entry (`entry` where that has another name)."""
        anchor = "term-" + (entry or text).lower().replace(" ", "-")
        return self.page.stash.keep(f'<dfn><a href="glossary.html#{anchor}">{escape(text)}</a></dfn>')

    def code(self, name: str) -> str:
        """A program of content/code, as text."""
        path = self.root / "content" / "code" / name
        if not path.is_file():
            self.fault(f"code({name!r})", "a file in content/code")
            return ""
        return path.read_text(encoding="utf-8").strip()

    @forgiving
    def claim(self, condition: str, caller: Body) -> str:
        """A sentence that depends on the weights; its body is inline Markdown."""
        compiled = compile_claim(condition, self.runs)
        sentence = self.page.stash.restore(self.page.stash.inline(caller()))
        css = "claim"
        if not holds(compiled, self.runs):
            css = "claim broken"
            text = " ".join(re.sub(r"<[^>]+>", "", sentence).split())
            self.broken.append(Broken(*self.where(), text, condition))
        html = f'<span class="{css}" data-claim="{escape(compiled)}"{self._origin()}>{sentence}</span>'
        return self.page.stash.keep(html)

    @forgiving
    def worked(self, written: str) -> str:
        """The arithmetic behind a number, on a line of its own."""
        return self._block(f'<p class="working">{self.marks.worked(self.single(written))}</p>')

    @forgiving
    def in_words(self, written: str) -> str:
        """One sentence that says what is done to get a number."""
        return self.page.stash.keep(self.marks.sentence(self.single(written)))

    def formula(self, number: int, values: list[Any]) -> str:
        """A formula of the page with its numbers (written by `Formulas`, not by authors)."""
        assert self.page.formulas is not None  # set before the page is rendered
        try:
            html = self.page.formulas.filled(number, [getattr(value, "mn", "") for value in values])
        except (ValueError, IndexError) as error:
            self.fault(str(error), "numbers written as n(…), fact(…) or k(…) inside a formula")
            return ""
        if 'display="block"' not in html:
            return self.page.stash.keep(html)
        return self._block(f'<div class="formula" role="math" tabindex="0">{html}</div>')

    # Tables. Each takes its caption as its body.

    @forgiving
    def matrix(self, written: str, caller: Body, rows: list[Any] | None = None, mark: tuple[Any, ...] = ()) -> str:
        """A value with named rows and columns. `rows` picks some, `mark` sets some off, both as authors count."""
        ref = self.runs.ref(written)
        trace, name, index = self.runs.find(ref)
        axes, shape = trace.steps[name].axes[len(index) :], self.runs[ref].shape
        if len(shape) == 1:
            return self.stack([("", written)], caller)
        chosen = [self._item(written, item) for item in rows] if rows else list(range(shape[0]))
        marked = {self._item(written, item) for item in mark}
        table = tables.Table(
            columns=tuple(header(trace, axes[1], j) for j in range(shape[1])),
            rows=tuple(
                tables.Row(header(trace, axes[0], i), tuple(f"{ref}.{i}.{j}" for j in range(shape[1])), i in marked)
                for i in chosen
            ),
            corner=f"{AXIS[axes[0]]} ↓ {AXIS[axes[1]]} →",
        )
        return self._table(table, caller)

    def _item(self, written: str, item: Any) -> int:
        return int(self.runs.ref(f"{written}[{item}]").rpartition(".")[2])

    @forgiving
    def stack(self, rows: list[tuple[str, str]], caller: Body, mark: tuple[int, ...] = ()) -> str:
        """Rows of different values under one heading: [('token row', 'embed[last]'), …], each name inline Markdown."""
        refs = [self.runs.ref(written) for _, written in rows]
        trace, name, _ = self.runs.find(refs[0])
        axis, width = trace.steps[name].axes[-1], self.runs[refs[0]].shape[-1]
        table = tables.Table(
            columns=tuple(header(trace, axis, j) for j in range(width)),
            rows=tuple(
                tables.Row(self._inline(label), tuple(f"{ref}.{j}" for j in range(width)), i + 1 in mark)
                for i, ((label, _), ref) in enumerate(zip(rows, refs, strict=True))
            ),
            corner=f"{AXIS[axis]} →",
        )
        return self._table(table, caller)

    @forgiving
    def listing(
        self, columns: list[tuple[str, str]], caller: Body, order: str | None = None, total: list[str | None] | None = None,
        first: int | None = None, mark: tuple[Any, ...] = (),
    ) -> str:  # fmt: skip
        """Rows of different values side by side as columns: [('z', 'z[last]'), …], largest of `order` first.

        `total` gives a ref (or None) for each column of a sum row; `first` cuts the list.
        """
        refs = [self.runs.ref(written) for _, written in columns]
        trace, name, _ = self.runs.find(refs[0])
        axis = trace.steps[name].axes[-1]
        count = self.runs[refs[0]].shape[-1]
        sequence = tables.order(self.runs, self.runs.ref(order)) if order else list(range(count))
        marked = {self._item(columns[0][1], item) for item in mark}
        foot = [tables.Row("sum", tuple(self.single(w) if w else None for w in total))] if total else []
        table = tables.Table(
            columns=tuple(self._inline(label) for label, _ in columns),
            rows=tuple(
                tables.Row(header(trace, axis, i), tuple(f"{ref}.{i}" for ref in refs), i in marked)
                for i in sequence[:first]
            ),
            foot=tuple(foot),
            corner=AXIS[axis],
        )
        return self._table(table, caller, by_column=True)

    def _table(self, table: tables.Table, caller: Body, by_column: bool = False) -> str:
        refs = table.refs()
        groups = list(zip(*(row.refs for row in table.rows), strict=True)) if by_column else [refs]
        shades: dict[str, str] = {}
        for group in groups:
            shades |= tables.shades(self.runs, [ref for ref in group if ref])
        self.page.tables += 1
        html = self.macro("table")(
            table=table, shades=shades, caption=Markup(self._inline(caller())), id=f"table-{self.page.tables}",
            notes=[self._note(note, "data-calculated") for note in tables.closing_notes(self.runs, refs)],
            sums=[self._note(note, "data-printed-sum") for note in tables.sum_notes(self.runs, refs)],
            number=lambda ref: Markup(self.marks.number(ref)),
        )  # fmt: skip
        return self._block(html)

    def _note(self, note: tables.Note, attribute: str) -> tuple[Markup, Markup]:
        figure = f'<span class="num" {attribute}="{escape(note.ref)}"{self._origin()}>{note.calculated}</span>'
        return Markup(self.marks.label(note.ref)), Markup(figure)

    # Boxes.

    @forgiving
    def check(self, caller: Body, answer: str = "", token: str = "") -> str:
        """A *check yourself* box. The body is the question, then `:hint:`, `:answer:` and `:trap:` paragraphs.

        `answer` is the ref of the number asked for, whose worked line opens the answer; `token` a row whose top is it.
        """
        question, *rest = _PART.split(caller())
        parts: dict[str, list[Markup]] = {"hint": [], "answer": [], "trap": []}
        for kind, text in zip(rest[::2], rest[1::2], strict=True):
            parts[kind].append(Markup(self.page.stash.html(text)))
        self.page.checks += 1
        html = self.macro("check")(
            number=self.page.checks, question=Markup(self.page.stash.html(question)), **parts,
            answer_ref=self.single(answer) if answer else "", token_ref=self.runs.ref(token) if token else "",
            line=Markup(self.marks.worked(self.single(answer))) if answer else "",
        )  # fmt: skip
        return self._block(html)

    def box(self, name: str) -> Callable[..., str]:
        """A macro of the templates as a call block: its first argument is the body as HTML."""

        @wraps(self.macro(name))
        def call(*args: Any, caller: Body | None = None, **kwargs: Any) -> str:
            body = Markup(self.page.stash.html(caller())) if caller else Markup("")
            return self._block(self.macro(name)(body, *args, **kwargs))

        return forgiving(lambda _, *args, **kwargs: call(*args, **kwargs)).__get__(self)  # type: ignore[no-any-return]

    def macro(self, name: str) -> Any:
        for file in ("boxes.html", "pictures.html"):
            module = self.env.get_template(file).module
            if hasattr(module, name):
                return getattr(module, name)
        raise KeyError(name)

    def _block(self, html: str) -> str:
        # Blank lines around it, so that Markdown never draws two blocks into one paragraph.
        return f"\n\n{self.page.stash.keep(str(html), block=True)}\n\n"

    def _inline(self, text: str) -> str:
        return self.page.stash.inline(text)

    def single(self, written: str) -> str:
        """The ref of one number. Raises UnknownRef for a whole row."""
        ref = self.runs.ref(written)
        if self.runs[ref].ndim:
            raise UnknownRef(f"{written!r} is not a single number")
        return ref

    # For pictures: values and names without marks.

    def refs(self, written: str) -> list[str]:
        """The refs of a row's entries, as `n` and `value` take them."""
        ref = self.runs.ref(written)
        return [f"{ref}.{k}" for k in range(self.runs[ref].shape[0])]

    def value(self, written: str) -> Any:
        """A value as a float, or nested lists of floats."""
        return self.runs[self.runs.ref(written)].tolist()

    def tokens_of(self, run: str = "main") -> tuple[str, ...]:
        return self.runs.traces[run].tokens

    def cuts_of(self, run: str = "main") -> Iterator[Any]:
        """The cuts of a run's text, as the tokenizer makes them."""
        trace: Trace = self.runs.traces[run]
        return cuts(text_of(trace), trace.vocabulary)

    def order_of(self, written: str) -> list[int]:
        """Indices of a row, largest entry first."""
        return tables.order(self.runs, self.runs.ref(written))

    def header_of(self, axis: str, index: int, run: str = "main") -> Markup:
        return Markup(header(self.runs.traces[run], axis, index))

    def numbers_of(self, ref: str, tag: str = "data") -> Markup:
        """The number at a ref (not an author's symbol), for templates that build refs themselves."""
        return Markup(self.marks.number(ref, tag))

    def steps_of(self, run: str = "main") -> list[Any]:
        return list(self.runs.traces[run].steps.values())


#: How readers call what an axis counts.
AXIS = {
    "position": "row", "seen": "looks at", "token": "token", "dimension": "dimension", "entry": "entry",
    "joined": "entry", "unit": "hidden unit", "place": "position",
}  # fmt: skip
