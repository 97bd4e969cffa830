"""What authors may call inside a content page.

Functions that return text are written `<%= n('p[last,␣roof]') %>`; those with a body are call blocks,
`<% call matrix('x') %>caption<% endcall %>`, and their body is Markdown. Anything that names what is not there is
a fault with the file and line, and the rest of the page is still read.
"""

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from sevensteps.web.calls.figures import FigureCalls
from sevensteps.web.calls.names import NameCalls
from sevensteps.web.calls.tables import TableCalls
from sevensteps.web.calls.text import TextCalls
from sevensteps.web.desk import MACROS, Body, Desk


def all_calls(desk: Desk) -> dict[str, Callable[..., Any]]:
    """Every function of the content pages and templates, by name."""
    return {
        name: call
        for group in (TextCalls, TableCalls, FigureCalls, NameCalls)
        for name, call in group(desk).functions().items()
    }


def all_boxes(desk: Desk, taken: dict[str, Any]) -> dict[str, Callable[..., str]]:
    """Every macro of the templates as a call block, but those that a function of the same name calls."""
    names = [name for file in MACROS for name in vars(desk.env.get_template(file).module) if not name.startswith("_")]
    return {name: _box(desk, name) for name in names if name not in taken}


def _box(desk: Desk, name: str) -> Callable[..., str]:
    def call(*args: Any, caller: Body | None = None, **kwargs: Any) -> str:
        body = Markup(desk.page.stash.html(caller())) if caller else Markup("")
        return desk.block(desk.macro(name)(body, *args, **kwargs))

    return call
