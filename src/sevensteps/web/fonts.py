"""The font of the formulas: the part of STIX Two Math that the built pages need, under a name of its own.

It stands in the stylesheet itself, and theme.js asks for it before any text is there: if it came later, it would move
the text.
STIX is a trademark, and a part is not the whole: hence the name. The font's licence is static/fonts/OFL.txt.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from importlib.metadata import distribution
from io import BytesIO
from unicodedata import decomposition

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FAMILY = "Seven Steps Math"
SOURCE = distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")
#: What a number of a formula may be made of once a reader has changed a weight (web/printing.py).
PRINTED = "0123456789.−<>∞undefined"

_FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_VARIABLE = re.compile(r"<mi>([^<&])</mi>")
#: A letter -> the same letter in mathematical italic, which is what a browser draws for a variable.
_ITALIC = {
    int(decomposition(letter).removeprefix("<font> "), 16): letter
    for letter in map(chr, (0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C)))
    if decomposition(letter)
}
_NAMES = {1: FAMILY, 4: FAMILY, 6: FAMILY.replace(" ", "")}
#: Names of a font that are kept: copyright and licence beside its own.
_KEPT = [0, 2, 13, 14, *_NAMES]


def characters(pages: Iterable[str]) -> frozenset[str]:
    """Every character that a browser may draw in the formulas of these pages."""
    formulas = "".join(formula for page in pages for formula in _FORMULA.findall(page))
    italic = _VARIABLE.sub(lambda variable: variable[1].translate(_ITALIC), formulas)
    roots = "√" if "<msqrt" in formulas else ""
    return frozenset(unescape(_TAG.sub("", italic)) + roots + PRINTED)


def font_face(wanted: frozenset[str]) -> str:
    """The rule of the stylesheet that holds the font with these characters."""
    data = b64encode(math_font(wanted)).decode()
    return f'@font-face {{ font-family: "{FAMILY}"; src: url("data:font/woff2;base64,{data}") format("woff2"); }}\n'


@lru_cache(maxsize=1)
def math_font(wanted: frozenset[str]) -> bytes:
    """A WOFF2 file with these characters and, by its MATH table, the larger forms of those that stretch."""
    font = TTFont(SOURCE, recalcTimestamp=False)
    subsetter = Subsetter(Options(layout_features=[], hinting=False, name_IDs=_KEPT))
    subsetter.populate(unicodes=map(ord, wanted))
    subsetter.subset(font)
    for identity, name in _NAMES.items():
        font["name"].setName(name, identity, 3, 1, 0x409)
    font.flavor = "woff2"
    file = BytesIO()
    font.save(file)
    return file.getvalue()
