"""Worked lines and derived tables of the finished site, recomputed from the HTML alone.

Nothing of the project is imported: html.parser reads the text, mpmath calculates with fifty digits.
"""

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from html.parser import HTMLParser
from pathlib import Path

import mpmath
import pytest

VOID = ("meta", "link", "br", "hr", "img", "input", "wbr")
TOKEN = re.compile(r"(?P<number>[−]?(?:\d[\d.]*|∞))|(?P<name>tanh|erf|max|ln|π|√|e)|(?P<sign>\*\*|[+×/(),])| − |−|\s+")
NAMES = {"e": "e", "π": "pi", "√": "sqrt", "ln": "log", "tanh": "tanh", "erf": "erf", "max": "max", "×": "*"}
WIDE = Context(prec=400)


class Reader(HTMLParser):
    """A page's worked lines as text (each power as **(…), the label left out) and its tables as {ref: text}."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.lines: list[dict[str, str]] = []
        self.tables: list[dict[str, str]] = []
        self.by_hand: list[dict[str, str]] = []
        #: (tag, attributes) of every open element
        self.open: list[tuple[str, dict[str, str]]] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag not in VOID:
            self.open.append((tag, attributes))
        if attributes.get("class") == "worked":
            self.lines.append({"kind": attributes["data-kind"], "text": ""})
        if tag == "table":
            self.tables.append({})
            self.by_hand.append({})
        if tag == "data" and self._in_line():
            self.lines[-1]["places"] = attributes.get("data-places", "3")
        if tag == "sup":
            self._write("**(")

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()
        if tag == "sup":
            self._write(")")

    def handle_data(self, data: str) -> None:
        self._write(data)
        _, attributes = self.open[-1] if self.open else ("", {})
        if "data-ref" in attributes and any(tag == "td" for tag, _ in self.open):
            self.tables[-1][attributes["data-ref"]] = self.tables[-1].get(attributes["data-ref"], "") + data
        for mark in ("data-calculated", "data-printed-sum"):
            if mark in attributes and self.tables:
                self.by_hand[-1][attributes[mark]] = data

    def _in_line(self) -> bool:
        return any(attributes.get("class") == "worked" for _, attributes in self.open)

    def _write(self, text: str) -> None:
        if self._in_line() and not any(attributes.get("class") == "label" for _, attributes in self.open):
            self.lines[-1]["text"] += text


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    return {path.name: Reader(path) for path in sorted(site.glob("*.html"))}


def number(text: str) -> Decimal:
    return Decimal(0) if text in ("<0.001", ">−0.001") else Decimal(text.replace("−", "-").replace("∞", "Infinity"))


def calculated(text: str) -> mpmath.mpf:
    """The arithmetic of a line, written as Python and carried out with fifty digits."""
    python, at = "", 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"{text[at:]!r} in {text!r}"
        if match["number"]:
            python += f'(mpf("{number(match["number"])}"))'.replace("Infinity", "inf")
        else:
            python += NAMES.get(match[0], match[0].replace("−", "-"))
        at = match.end()
    with mpmath.workdps(50):
        return +eval(python, {"__builtins__": {"max": max}}, vars(mpmath))


def rounded(value: mpmath.mpf, places: int) -> Decimal:
    """Half away from zero."""
    with mpmath.workdps(50):
        exact = Decimal(mpmath.nstr(value, 45))
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, WIDE)


def closes(line: dict[str, str]) -> bool:
    # A space that breaks no line is a space to a reader.
    _, arithmetic, printed = (part.strip() for part in line["text"].replace("\N{NO-BREAK SPACE}", " ").split(" = "))
    value = calculated(arithmetic)
    if printed in ("<0.001", ">−0.001"):
        return abs(value) < mpmath.mpf("0.001") and (value >= 0 if printed == "<0.001" else value <= 0)
    return rounded(value, int(line["places"])) == number(printed)


def test_every_worked_line_closes_from_its_printed_digits(pages: dict[str, Reader]) -> None:
    lines = [(page, line) for page, reader in pages.items() for line in reader.lines if line["kind"] == "line"]
    assert len(lines) > 40
    assert [(page, line["text"]) for page, line in lines if not closes(line)] == []


def test_a_worked_line_without_arithmetic_is_one_number_or_has_no_finite_value(pages: dict[str, Reader]) -> None:
    rest = [line for reader in pages.values() for line in reader.lines if line["kind"] != "line"]
    copies = [line["text"] for line in rest if line["kind"] == "copy"]
    others = [line["text"] for line in rest if line["kind"] != "copy"]
    assert [text for text in copies if not re.fullmatch(" = [<>]?−?[0-9.∞]+", text)] == []
    assert [text for text in others if not re.search("∞|undefined", text)] == []


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (" = 3 × 0.5 − 0.25 = 1.25", True),
        (" = e**(2.491) / 30.521 = 0.396", True),
        (" = e**(2.491) / 30.521 = 0.395", False),
        (" = √(1.078 + 0.00001) = 1.038", True),
        (" = −ln(0.395) = 0.929", True),
        (" = −ln(0.395) = 0.928", False),
        (" = (−1.5)**(2) / 2 = 1.125", True),
        (" = e**(−∞) = 0", True),
        (" = 0.01 × 0.05 = <0.001", True),
        (" = 0.01 × (−0.05) = <0.001", False),
        (" = 0.5 × 1 × (1 + tanh(√(2 / π) × (1 + 0.044715 × 1**(3)))) = 0.841", True),
        (" = 0.5 × 1 × (1 + erf(1 / √(2))) = 0.841", True),
        (" = max(0, −2.5) = 0", True),
    ],
)
def test_this_recomputation_tells_right_from_wrong(text: str, good: bool) -> None:
    assert closes({"text": text, "places": "3"}) is good


def derived(ref: str) -> str:
    """A cell's arithmetic from other cells of a softmax or loss table, {ref} for each; empty for any other cell."""
    if match := re.fullmatch(r"(.*)logits\.exp(\.\d+\.\d+)", ref):
        return f"e**({{{match[1]}logits{match[2]}}})"
    if match := re.fullmatch(r"(.*)probs(\.\d+)(\.\d+)", ref):
        return f"{{{match[1]}logits.exp{match[2]}{match[3]}}} / {{{match[1]}logits.exp_sum{match[2]}}}"
    if match := re.fullmatch(r"(.*)attn\.exp(\.\d+\.\d+\.\d+)", ref):
        # The score before the mask: a row that may be looked at keeps it.
        return f"e**({{{match[1]}attn.scaled{match[2]}}})"
    if match := re.fullmatch(r"(.*)attn\.pattern(\.\d+\.\d+)(\.\d+)", ref):
        return f"{{{match[1]}attn.exp{match[2]}{match[3]}}} / {{{match[1]}attn.exp_sum{match[2]}}}"
    if match := re.fullmatch(r"(.*)loss(\.\d+)", ref):
        return f"−ln({{{match[1]}probs.target{match[2]}}})"
    return ""


def test_a_derived_cell_is_within_one_unit_of_its_printed_operands_or_the_table_says_so(
    pages: dict[str, Reader],
) -> None:
    looked_at = 0
    wrong = []
    for page, reader in pages.items():
        for cells, by_hand in zip(reader.tables, reader.by_hand, strict=True):
            for ref, text in cells.items():
                arithmetic = derived(ref)
                operands = re.findall(r"\{(.*?)\}", arithmetic)
                if not operands or not all(operand in cells for operand in operands):
                    continue
                for operand in operands:
                    arithmetic = arithmetic.replace(f"{{{operand}}}", f"({number(cells[operand])})".replace("-", "−"))
                value = rounded(calculated(arithmetic), 3)
                looked_at += 1
                if abs(value - number(text)) > Decimal("0.001") and by_hand.get(ref, "") != f"{value}":
                    wrong.append((page, ref, text, value))
    assert looked_at > 20
    assert wrong == []


def test_a_whole_row_of_probabilities_adds_to_one_in_print_or_the_table_says_to_what(pages: dict[str, Reader]) -> None:
    looked_at = 0
    wrong = []
    for page, reader in pages.items():
        for cells, by_hand in zip(reader.tables, reader.by_hand, strict=True):
            rows: dict[str, list[str]] = {}
            for ref, text in cells.items():
                if re.fullmatch(r"(probs|attn\.pattern\.\d)\.\d+\.\d+", ref):
                    rows.setdefault(ref.rpartition(".")[0], []).append(text)
            for row, entries in rows.items():
                # The toy has twelve tokens, and its text five.
                if len(entries) == (12 if row.startswith("probs") else 5):
                    looked_at += 1
                    total = sum(map(number, entries), Decimal(0))
                    if number(by_hand.get(row, "1")) != total:
                        wrong.append((page, row, total))
    assert looked_at > 10
    assert wrong == []
