"""LaTeX in `$…$` to MathML, taken out of a content file before Jinja and Markdown see it.

A number inside a formula is a Jinja expression, `$z = <%= n('z[last,1]') %>$`. It travels through math-core as a
sentinel integer and comes out as one <mn>. Lines are kept, so that a fault names the right one.
"""

import re
from functools import lru_cache

from math_core import LatexError, LatexToMathML

from sevensteps.engine.faults import Fault

_PART = re.compile(
    r"""(?P<skip> ```.*?``` | `[^`\n]*` | <%.*?%> | \\\$ )
      | \$\$ (?P<block> (?: <%=.*?%> | [^$] )+? ) \$\$
      | \$ (?P<inline> (?: <%=.*?%> | [^$] )+? ) \$ (?P<after> [.,:;?!)]* )
      | (?P<stray> \$ )""",
    re.VERBOSE | re.DOTALL,
)
_EXPRESSION = re.compile(r"<%=(.*?)%>", re.DOTALL)
_SENTINEL = re.compile(r"<mn>777(\d{4})</mn>")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Formulas:
    """The formulas of one content file as MathML, in which <mn>777….</mn> stands for its numbers."""

    def __init__(self, source: str, file: str) -> None:
        self.mathml: list[str] = []
        self.faults: list[Fault] = []
        self.file = file
        self._text = source
        #: The source with `<%= formula(k, [numbers]) %>` for each formula.
        self.source = _PART.sub(self._replace, source)

    def _replace(self, match: re.Match[str]) -> str:
        if match["skip"]:
            return "$" if match["skip"] == r"\$" else match[0]
        line = self._text.count("\n", 0, match.start()) + 1
        if match["stray"]:
            self._fault(line, "a single $", r"a pair of $ around a formula, or \$")
            return ""
        latex = match["block"] or match["inline"]
        numbers = _EXPRESSION.findall(latex)
        count = iter(range(len(numbers)))
        latex = _EXPRESSION.sub(lambda _: f"{{777{next(count):04d}}}", latex)
        self.mathml.append(self._convert(latex, bool(match["block"]), line))
        newlines = "\n" * (match[0].count("\n") - sum(number.count("\n") for number in numbers))
        call = f"<%= formula({len(self.mathml) - 1}, [{', '.join(numbers)}]){newlines} %>"
        # Browsers would start a line with the full stop behind a formula.
        return f'<span class="pair">{call}{match["after"]}</span>' if match["after"] else call

    def _convert(self, latex: str, block: bool, line: int) -> str:
        if re.search(r"\\\\\s*\[", latex):
            self._fault(line, r"\\[ in a formula", r"\\ alone (the length would print itself)")
            return ""
        try:
            return _mathml(latex, block)
        except LatexError as error:
            self._fault(line, f"${latex.strip()}$: {_reason(str(error))}", "LaTeX that math-core knows")
            return ""

    def _fault(self, line: int, found: str, expected: str) -> None:
        self.faults.append(Fault(f"{self.file}:{line}", "formula", found, expected))

    def filled(self, number: int, values: list[str]) -> str:
        """The MathML of one formula with its numbers, each an <mn>, in place. ValueError if a sentinel is left."""
        mathml = self.mathml[number]
        # Inside \text a sentinel is no <mn>: it would stand on the page as it is. (Empty: LaTeX already refused.)
        if mathml and len(_SENTINEL.findall(mathml)) != len(values):
            raise ValueError("a sentinel is left in a formula")
        return _SENTINEL.sub(lambda m: values[int(m[1])], mathml)


@lru_cache(maxsize=2048)
def _mathml(latex: str, block: bool) -> str:
    return LatexToMathML().convert_with_local_state(latex, displaystyle=block)


def _reason(message: str) -> str:
    first = _ANSI.sub("", message).strip().partition("\n")[0]
    return first.removeprefix("Error: ").rstrip(".")
