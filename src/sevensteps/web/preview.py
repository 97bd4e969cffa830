"""The picture that other sites show beside a link to this one: the toy at work, drawn from its numbers."""

from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sevensteps.engine.ops import Array
from sevensteps.engine.steps import Trace
from sevensteps.explain import explain
from sevensteps.printing import shown, with_places
from sevensteps.web.fonts import SOURCE
from sevensteps.web.worked import closing_places, formula

FILE = "static/preview.png"
#: Pixels, as the sites that show it ask for.
WIDTH, HEIGHT = 1200, 630

# The light colours of static/css/tokens.css, as RGB.
_PAPER, _INK, _SOFT, _LINE = (253, 252, 248), (31, 35, 41), (86, 92, 102), (164, 157, 138)
_ABOVE, _BELOW, _ACCENT = (74, 143, 214), (224, 121, 58), (29, 79, 145)
_STREAM, _LOOK = (220, 236, 251), (112, 70, 143)
_FUNNEL, _PANEL, _TRACK, _BAR = (240, 249, 243), (226, 246, 236), (197, 232, 215), (0, 117, 78)
_MARK, _GOLD = (36, 69, 107), (255, 210, 122)

# Where things are: columns of tokens and rows of their numbers at the left, probabilities at the right.
_LEFT, _COLUMN, _MOST_COLUMNS = 64, 112, 5
_TOKENS, _FIRST, _LAST, _BOTTOM = 190, 272, 476, 568
_STRIP, _STRIP_HEIGHT = 64, 92
_PANEL_LEFT, _RIGHT, _MOST_BARS = 680, 1136, 5

Colour = tuple[int, int, int]
Point = tuple[float, float]


def preview(toy: Trace, title: str, line: str) -> bytes:
    """The picture as PNG, of one run of the toy, with the site's title and a line below it."""
    canvas = _Canvas()
    _heading(canvas, title, line)
    columns = _columns(toy)
    _reading(canvas, toy, columns)
    for position, x in columns.items():
        _token(canvas, x, toy.tokens[position])
        _strip(canvas, x, _FIRST, toy.values["resid_pre"], position)
        _strip(canvas, x, _LAST, toy.values["resid_post"], position)
    _probabilities(canvas, toy, columns[len(toy.tokens) - 1])
    return canvas.png()


class _Canvas:
    """A drawing in pixels of the finished picture, made twice as fine, then reduced: smooth edges."""

    FINE = 2

    def __init__(self) -> None:
        self.image = Image.new("RGB", (WIDTH * self.FINE, HEIGHT * self.FINE), _PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def box(self, at: Point, size: Point, fill: Colour | None, radius: float = 0, line: Colour | None = None) -> None:
        (x, y), (width, height) = at, size
        corners = [edge * self.FINE for edge in (x, y, x + width, y + height)]
        self.draw.rounded_rectangle(corners, radius * self.FINE, fill, line, width=2 * self.FINE)

    def shape(self, points: list[Point], fill: Colour) -> None:
        self.draw.polygon([(x * self.FINE, y * self.FINE) for x, y in points], fill)

    def stroke(self, points: list[Point], width: float, fill: Colour) -> None:
        """A line with round ends."""
        fine = [(x * self.FINE, y * self.FINE) for x, y in points]
        self.draw.line(fine, fill, max(1, round(width * self.FINE)), joint="curve")
        for x, y in (fine[0], fine[-1]):
            radius = width * self.FINE / 2
            self.draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill)

    def text(self, at: Point, text: str, size: float, fill: Colour = _INK, anchor: str = "ls", room: int = 0) -> None:
        """A text with its base line at a point; smaller where it has too little room."""
        font = self._font(size)
        if room and font.getlength(text) > room * self.FINE:
            font = self._font(size * room * self.FINE / font.getlength(text))
        self.draw.text((at[0] * self.FINE, at[1] * self.FINE), text, fill, font, anchor)

    def _font(self, size: float) -> ImageFont.FreeTypeFont:
        return ImageFont.truetype(str(SOURCE), size * self.FINE, layout_engine=ImageFont.Layout.BASIC)

    def png(self) -> bytes:
        file = BytesIO()
        self.image.reduce(self.FINE).save(file, "PNG")
        return file.getvalue()


def _heading(canvas: _Canvas, title: str, line: str) -> None:
    """The icon of static/favicon.svg, the site's title and a line."""
    scale = 88 / 32
    canvas.box((_LEFT, 48), (88, 88), _MARK, radius=20)
    steps = [(5.0, 26.0)]
    for _ in range(6):
        x, y = steps[-1]
        steps += [(x + 3.2, y), (x + 3.2, y - 3)]
    steps.append((27, steps[-1][1]))
    canvas.stroke([(_LEFT + x * scale, 48 + y * scale) for x, y in steps], 2 * scale, _GOLD)
    canvas.text((176, 94), title, 62)
    canvas.text((177, 134), line, 31, _SOFT, room=_RIGHT - 177)


def _columns(toy: Trace) -> dict[int, float]:
    """The last positions and the middles of their columns."""
    positions = range(len(toy.tokens))[-_MOST_COLUMNS:]
    return {position: _LEFT + (place + 0.5) * _COLUMN for place, position in enumerate(positions)}


def _token(canvas: _Canvas, x: float, token: str) -> None:
    width = _COLUMN - 12
    canvas.box((x - width / 2, _TOKENS), (width, 50), (255, 255, 255), radius=10, line=_LINE)
    canvas.text((x, _TOKENS + 33), _typewritten(token), 27, anchor="ms", room=width - 14)


def _typewritten(token: str) -> str:
    """Letters and digits of the font's own typewriter face."""
    faces = {ord("a"): 0x1D68A, ord("A"): 0x1D670, ord("0"): 0x1D7F6}
    table = {first + n: face + n for first, face in faces.items() for n in range(10 if first == ord("0") else 26)}
    return token.translate(table)


def _strip(canvas: _Canvas, x: float, top: float, values: Array, position: int) -> None:
    """A row of numbers as coloured cells, one below the other: blue above zero, orange below."""
    row = _finite(values[position])
    largest = np.abs(_finite(values)).max() or 1.0
    height = _STRIP_HEIGHT / len(row)
    gap = min(2, height / 4)
    canvas.box((x - _STRIP / 2 - 2, top - 2), (_STRIP + 4, _STRIP_HEIGHT + 4), _PAPER, radius=6, line=_LINE)
    for place, value in enumerate(row):
        colour = _mixed(_ABOVE if value > 0 else _BELOW, abs(value) / largest)
        at = (x - _STRIP / 2 + 1, top + place * height + gap / 2)
        canvas.box(at, (_STRIP - 2, height - gap), colour, radius=gap)


def _reading(canvas: _Canvas, toy: Trace, columns: dict[int, float]) -> None:
    """The stream of each column, and what each head of the last row reads: a curve, the thicker the more."""
    for x in columns.values():
        canvas.box((x - 11, _TOKENS + 20), (22, _LAST - _TOKENS), _STREAM)
    last = len(toy.tokens) - 1
    top, bottom = _FIRST + _STRIP_HEIGHT + 10, _LAST - 14
    heads = [name for name in toy.values if name.startswith("attn.pattern.")]
    for head, name in enumerate(heads):
        for position, x in columns.items():
            weight = float(_finite(toy.values[name])[last, position])
            curve = _curve((x, top), (columns[last], bottom))
            pieces = [curve] if not head else [curve[at : at + 1] * 2 for at in range(0, len(curve), 7)]
            for piece in pieces:
                canvas.stroke(piece, 1.5 + 11 * weight, _LOOK)


def _curve(start: Point, end: Point) -> list[Point]:
    """From one point down and over to another, as many short lines (a Bézier curve with upright ends)."""
    (x0, y0), (x1, y1) = start, end
    middle = (y0 + y1) / 2
    return [
        (
            (1 - t) ** 3 * x0 + 3 * (1 - t) ** 2 * t * x0 + 3 * (1 - t) * t**2 * x1 + t**3 * x1,
            (1 - t) ** 3 * y0 + 3 * (1 - t) ** 2 * t * middle + 3 * (1 - t) * t**2 * middle + t**3 * y1,
        )
        for t in np.linspace(0, 1, 64)
    ]


def _probabilities(canvas: _Canvas, toy: Trace, x: float) -> None:
    """The likeliest next tokens with their probabilities, and the arithmetic of the first."""
    frame, corner = (x - _STRIP / 2 - 8, _LAST - 8), x + _STRIP / 2 + 8
    height = _BOTTOM + 8 - _TOKENS
    canvas.shape(
        [(corner, _LAST - 8), (_PANEL_LEFT, _TOKENS), (_PANEL_LEFT, _TOKENS + height), (corner, _BOTTOM + 8)], _FUNNEL
    )
    canvas.box(frame, (_STRIP + 16, _STRIP_HEIGHT + 16), None, radius=10, line=_ACCENT)
    canvas.box((_PANEL_LEFT, _TOKENS), (_RIGHT - _PANEL_LEFT, height), _PANEL)
    row = toy.values["probs"][-1]
    likeliest = np.argsort(-_finite(row), kind="stable")[:_MOST_BARS]
    for place, token in enumerate(likeliest):
        y = _TOKENS + 54 + 52 * place
        canvas.text((_PANEL_LEFT + 28, y), _typewritten(toy.vocabulary[token]), 29, room=130)
        canvas.text((_PANEL_LEFT + 172, y), shown(row[token]), 29, room=90)
        canvas.box((_PANEL_LEFT + 270, y - 21), (160, 24), _TRACK, radius=3)
        canvas.box((_PANEL_LEFT + 270, y - 21), (160 * float(_finite(row[token])), 24), _BAR, radius=3)
    canvas.text((_PANEL_LEFT + 28, _BOTTOM - 28), _worked(toy, int(likeliest[0])), 31, room=_RIGHT - _PANEL_LEFT - 56)


def _worked(toy: Trace, token: int) -> str:
    """p = e^z / Z with its numbers, as the pages print it."""
    worked = explain(toy, "probs", (len(toy.tokens) - 1, token))
    places = closing_places(worked)
    if worked.expression is None or places is None:
        return f"𝑝 = {shown(worked.result.value)}"
    arithmetic = formula(worked.expression, lambda number: with_places(number.value, places.operands), str)
    result = worked.result.value
    return f"𝑝 = {arithmetic} = {shown(result) if places.result is None else with_places(result, places.result)}"


def _finite(values: Array) -> Array:
    """What cannot be drawn is drawn as zero."""
    return np.where(np.isfinite(values), values, 0.0)


def _mixed(colour: Colour, share: float) -> Colour:
    """A colour on paper."""
    red, green, blue = (round(paper + (own - paper) * share) for own, paper in zip(colour, _PAPER, strict=True))
    return red, green, blue
