"""The files of a finished site: all that the sources build, nothing else, and a sitemap of its pages."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sevensteps.engine.faults import Fault as InputFault
from sevensteps.engine.faults import InputError
from sevensteps.web.check.report import Fault
from sevensteps.web.output import MARKER

SITEMAP = "sitemap.xml"
#: Pages that no search should find.
UNLISTED = frozenset({"404.html"})


def read_files(output: Path) -> dict[str, bytes]:
    """Every file of the site by its name. Raises InputError when there is no site at all."""
    paths = sorted(path for path in output.rglob("*") if path.is_file()) if output.is_dir() else []
    files = {path.relative_to(output).as_posix(): path.read_bytes() for path in paths}
    if not any(name.endswith(".html") for name in files):
        raise InputError([InputFault(str(output), "output folder", "no built site", "one (run python build.py)")])
    return files


def file_faults(files: Mapping[str, bytes], fresh: Mapping[str, bytes], url: str) -> Iterator[Fault]:
    """Files that are missing, extra, or (other than pages, which have rules of their own) not as built."""
    for name in sorted(fresh.keys() - files.keys()):
        yield Fault("file", name, "", "no file", "a file of the site", "build.py")
    for name in sorted(files.keys() - fresh.keys() - {MARKER}):
        yield Fault("file", name, "", "a file", "no such file: the sources build none", "build.py")
    for name in sorted(files.keys() & fresh.keys()):
        if not name.endswith(".html") and files[name] != fresh[name]:
            yield Fault("file", name, "", "other bytes", "what the sources build", _source(name))
    if SITEMAP in files:
        yield from _sitemap_faults(files[SITEMAP].decode("utf-8", "replace"), fresh, url)


def _source(name: str) -> str:
    return name if name.startswith("static/") else f"templates/{name}"


def _sitemap_faults(sitemap: str, fresh: Mapping[str, bytes], url: str) -> Iterator[Fault]:
    """The sitemap lists every page once, and nothing else. The home page is the folder itself."""
    listed = re.findall(r"<loc>\s*(.*?)\s*</loc>", sitemap)
    pages = {name for name in fresh if name.endswith(".html")} - UNLISTED
    folder = url.rstrip("/") + "/"
    due = {folder if name == "index.html" else folder + name for name in pages}
    for address in sorted(due ^ set(listed)):
        shown, expected = ("nothing", address) if address in due else (address, "no such page")
        yield Fault("link", SITEMAP, "", shown, expected, f"templates/{SITEMAP}")
    for address in sorted({address for address in listed if listed.count(address) > 1}):
        yield Fault("link", SITEMAP, "", f"{address} twice", "once", f"templates/{SITEMAP}")
