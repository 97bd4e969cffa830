"""What every call of a content page shares: the traces, the page being written, and where faults go."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, Template

from sevensteps.claims import BadClaimError
from sevensteps.engine.faults import Fault
from sevensteps.refs import Runs, UnknownRefError
from sevensteps.web.facts import Fact
from sevensteps.web.formulas import Formulas
from sevensteps.web.marks import Marks, pointed, token
from sevensteps.web.markup import Stash

#: The body of a call block.
Body = Callable[[], str]
#: Template files whose macros content may call.
MACROS = ("boxes.html", "pictures.html", "controls.html", "bench.html", "lab.html")


@dataclass(frozen=True)
class Broken:
    """A claim that these weights no longer bear out, and what should be true."""

    file: str
    line: int
    sentence: str
    expected: str


@dataclass
class Page:
    """One content page while it is rendered."""

    slug: str
    file: str
    formulas: Formulas
    stash: Stash = field(default_factory=Stash)
    facts_used: dict[str, Fact] = field(default_factory=dict)
    checks: int = 0
    tables: int = 0
    pictures: int = 0

    @property
    def up(self) -> str:
        """The way from the page's folder to the site's."""
        return "../" * self.slug.count("/")


class Desk:
    """The author's desk: one for a build; `page` is the page that lies on it."""

    page: Page

    def __init__(self, env: Environment, root: Path, runs: Runs, facts: dict[str, Fact], lines: bool) -> None:
        self.env, self.root, self.runs, self.facts, self.lines = env, root, runs, facts, lines
        self.marks = Marks(runs, self.origin)
        self.faults: list[Fault] = []
        self.broken: list[Broken] = []

    def where(self) -> tuple[str, int]:
        """File and line of the content page that is being rendered: its frame is the outermost template's."""
        line, frame = 0, sys._getframe().f_back
        while frame is not None:
            template = frame.f_globals.get("__jinja_template__")
            if isinstance(template, Template) and template.name == self.page.file:
                line = template.get_corresponding_lineno(frame.f_lineno)
            frame = frame.f_back
        return self.page.file, line

    def origin(self) -> str:
        """An attribute with the source line, for the checker's own rendering only."""
        return ' data-line="{}:{}"'.format(*self.where()) if self.lines else ""

    def fault(self, found: str, expected: str) -> None:
        """Tell what is wrong at the place in the content that is being rendered."""
        file, line = self.where()
        self.faults.append(Fault(f"{file}:{line}", "content", found, expected))

    def single(self, written: str) -> str:
        """The ref of one number. Raises UnknownRefError for a whole row."""
        ref = self.runs.ref(written)
        if self.runs[ref].ndim:
            raise UnknownRefError(f"{written!r} is not a single number")
        return ref

    def entries(self, written: Iterable[str], in_part: bool = False) -> list[str]:
        """The refs of all numbers of these values, or of as many as the workbench shows."""
        shown = places_shown if in_part else int
        refs = {ref: [shown(n) for n in self.runs[ref].shape] for ref in map(self.runs.ref, written)}
        return [".".join((ref, *map(str, index))) for ref, shape in refs.items() for index in np.ndindex(*shape)]

    def pointed(self, written: str) -> tuple[str, str]:
        """The ref of one number; where the run says which entry of its row it is, also the mark that says so."""
        ref, entry = pointed(written, self.runs)
        return (ref, entry) if entry else (self.single(written), "")

    def keep(self, html: str) -> str:
        """HTML for running text, safe from Markdown."""
        return self.page.stash.keep(html)

    def block(self, html: str) -> str:
        """HTML that stands by itself: blank lines around it, so that Markdown never puts it into a paragraph."""
        return f"\n\n{self.page.stash.keep(str(html), block=True)}\n\n"

    def macro(self, name: str) -> Any:
        """A macro of the templates. KeyError when there is none."""
        for file in MACROS:
            module = self.env.get_template(file).module
            if hasattr(module, name):
                return getattr(module, name)
        raise KeyError(name)


#: The workbench shows an axis of more than MOST places in part, the first FEW: of a larger toy, too, it is one screen.
MOST, FEW = 16, 8


def places_shown(count: int) -> int:
    """How many places of an axis the workbench shows."""
    return count if count <= MOST else FEW


class Calls:
    """A group of functions for authors: every public method is one, and what it names wrongly becomes a fault."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def functions(self) -> dict[str, Callable[..., Any]]:
        names = [name for name in vars(type(self)) if not name.startswith("_")]
        return {name: self._forgiving(getattr(self, name)) for name in names}

    def _forgiving(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (UnknownRefError, BadClaimError) as error:
                self.desk.fault(str(error), "a ref, symbol or claim of this toy")
                return ""

        return call


def marked_token(desk: Desk, text: str, what: str) -> str:
    """A token that follows from the run, so that it can be checked: `what` is `top REF` or `id REF`."""
    return token(text, f' data-token="{escape(what)}"{desk.origin()}')
