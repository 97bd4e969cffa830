"""Write a whole site or nothing: a fresh folder beside the old one, then a rename."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sevensteps.engine.faults import Fault, InputError

#: A file that tells a built site from a folder of somebody's work.
MARKER = ".seven-steps"
SOURCES = ("content", "templates", "static", "src", "tests", "pyproject.toml", "build.py", ".git")


def refuse_sources(output: Path, root: Path) -> None:
    """Raise InputError when the output folder is, holds or lies in sources, or is not a site that we built."""
    output, root = output.resolve(), root.resolve()
    expected = "a new folder, an empty one, or a site built earlier"
    if output.exists() and not output.is_dir():
        raise _refused(output, "a file", expected)
    inside = [name for name in SOURCES if output == root / name or (root / name) in output.parents]
    if output == root or output in root.parents or inside:
        raise _refused(output, f"a folder of sources ({inside[0] if inside else 'the project itself'})", expected)
    if output.is_dir() and any(output.iterdir()) and not (output / MARKER).is_file():
        raise _refused(output, f"files that no build made ({sorted(p.name for p in output.iterdir())[0]})", expected)


def write_site(output: Path, files: Mapping[str, bytes]) -> None:
    """Write all files into a new folder, then swap it with the old one. Raises InputError when that is not possible."""
    output = output.resolve()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as scratch:
            fresh, old = Path(scratch, "fresh"), Path(scratch, "old")
            for name, content in {
                **files,
                MARKER: b"Built by Seven Steps. A new build replaces this folder.\n",
            }.items():
                target = fresh / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            fresh.chmod(0o755)
            _swap(output, fresh, old)
    except OSError as error:
        raise _refused(output, error.strerror or str(error), "a folder that can be written") from None


def refuse_other_files(output: Path, ending: str) -> None:
    """Raise InputError when the output's name has another ending: it may be somebody's work."""
    if output.suffix != ending or output.is_dir():
        raise InputError(
            [Fault(str(output), "output file", f"no name of a {ending} file", f"a name with {ending} at its end")]
        )


def write_file(output: Path, content: bytes) -> None:
    """Write a whole file or nothing. Raises InputError when that is not possible."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as scratch:
            fresh = Path(scratch, "fresh")
            fresh.write_bytes(content)
            os.replace(fresh, output)
    except OSError as error:
        raise InputError(
            [Fault(str(output), "file", error.strerror or str(error), "a file that can be written")]
        ) from None


def _swap(output: Path, fresh: Path, old: Path) -> None:
    had_old = output.exists()
    if had_old:
        os.rename(output, old)
    try:
        os.rename(fresh, output)
    except BaseException:  # an interrupt, too, must not leave the old site in the scratch folder
        if had_old:
            os.rename(old, output)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refused(output: Path, found: str, expected: str) -> InputError:
    return InputError([Fault(str(output), "output folder", found, expected)])
