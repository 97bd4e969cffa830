"""Geometry of pictures: each `data-v` becomes the CSS variable `--v`, by the rule of static/js/page.js."""

import re
from collections import defaultdict
from decimal import Decimal
from math import isfinite

from sevensteps.printing import rounded
from sevensteps.refs import Runs

_MARK = re.compile(r'data-v="(?P<ref>[^"]*)"(?: data-scale="(?P<scale>[^"]*)")?(?: style="(?P<style>[^"]*)")?')


def scaled(html: str, runs: Runs) -> str:
    """The HTML of one picture with `--v` written beside every `data-v`. Raises UnknownRefError.

    Elements with the same `data-scale` share a scale. Its first word is `one` (the value itself), `size` (over the
    largest magnitude, from −1 to 1) or `span` (its place, from 0 to 1, between the smallest and the largest of them
    and zero, which itself is at `--zero`).
    """
    groups = defaultdict(list)
    for mark in _MARK.finditer(html):
        groups[_scale(mark)].append(float(runs[mark["ref"]]))
    ends = {scale: _ends(group) for scale, group in groups.items()}

    def styled(mark: re.Match[str]) -> str:
        scale = _scale(mark)
        own = mark["style"]
        style = ";".join(filter(None, (own, _variables(scale, float(runs[mark["ref"]]), *ends[scale]))))
        return f'{mark[0].removesuffix(f""" style="{own}" """.rstrip())} style="{style}"'

    return _MARK.sub(styled, html)


def _scale(mark: re.Match[str]) -> str:
    return mark["scale"] or "size"


def _ends(group: list[float]) -> tuple[float, float]:
    """The smallest and the largest of them and zero."""
    finite = [0.0, *filter(isfinite, group)]
    return min(finite), max(finite)


def _variables(scale: str, value: float, low: float, high: float) -> str:
    if scale.startswith("span"):
        wide = high - low or 1.0
        return f"--v:{_text((value - low) / wide)};--zero:{_text(-low / wide)}"
    if scale.startswith("size"):
        value /= max(-low, high) or 1.0
    return f"--v:{_text(value)}"


def _text(value: float) -> str:
    """Three places, ties as in JavaScript's toFixed, never −0; a value that is not finite is at zero."""
    return f"{rounded(Decimal(value if isfinite(value) else 0), 3) + 0:f}"
