"""Read the finished site again, with a parser and a formatter of its own, and compare it with the engine."""

from pathlib import Path

from sevensteps.web.check.checker import Checker
from sevensteps.web.check.files import read_files
from sevensteps.web.check.report import Report
from sevensteps.web.site import Sources


def check_site(sources: Sources, output: Path) -> Report:
    """Every fault of a built site. Raises InputError when there is none, or when the sources build none."""
    return Checker(sources, read_files(output)).site()
