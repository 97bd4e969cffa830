"""The hand check: a worked line is the arithmetic that `explain` gives, and a calculator confirms it digit by digit."""

from collections.abc import Iterator

from sevensteps.web.check.arithmetic import Figure, figures, written
from sevensteps.web.check.calculator import calculate
from sevensteps.web.check.notation import UnreadableError, parse, sides
from sevensteps.web.check.printed import NOT_FINITE, agrees
from sevensteps.web.check.reader import Node, Page
from sevensteps.web.check.rules import Finding
from sevensteps.web.check.values import Values


def worked_lines(page: Page, values: Values) -> Iterator[Finding]:
    """Every worked line of a page."""
    for node in page.nodes:
        if "worked" in node.classes:
            ref = node.attributes.get("data-worked", "")
            try:
                problem = _problem(node, ref, values)
            except (UnreadableError, RecursionError) as error:
                problem = str(error), "arithmetic"
            if problem:
                yield Finding("worked line", node, ref, *problem)


def _problem(node: Node, ref: str, values: Values) -> tuple[str, str] | None:
    """What is shown and what is expected, where the two differ."""
    if values.number(ref) is None:
        return node.text, "a ref of a single number of the toy"
    *left, right = [parse(side) for side in sides(node)] or [""]
    if not isinstance(right, Figure) or right.ref != ref:
        return node.text, f"{ref} as its result"
    kind = node.attributes.get("data-kind", "")
    arithmetic = values.arithmetic(ref)
    if arithmetic is None:
        return None if kind == "copy" and not left else (f"{kind}: {node.text}", "a copy, without arithmetic")
    if kind not in ("line", "open") or len(left) != 1:
        return f"{kind}: {node.text}", "one line of arithmetic"
    if left[0] != arithmetic:
        return written(left[0]), written(arithmetic)
    if kind == "open":
        open_ended = any(figure.text in NOT_FINITE for figure in (*figures(left[0]), right))
        return None if open_ended else (f"open: {node.text}", "arithmetic that closes, for its numbers are finite")
    calculated = calculate(left[0])
    return (
        None
        if agrees(calculated, right.text, right.places)
        else (node.text, f"{calculated:.9g} from the printed digits")
    )
