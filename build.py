"""Build the site, check a built one, or print it as a PDF: `python build.py`, `… check`, `… pdf`."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "src"))

try:
    from sevensteps.engine.faults import InputError
    from sevensteps.web.check import check_site
    from sevensteps.web.output import refuse_other_files, refuse_sources, write_site
    from sevensteps.web.site import Site, Sources, load_sources, render
except ModuleNotFoundError as error:
    sys.exit(f"build.py needs {error.name}, which is not installed here. README.md, 'Build it', says how.")


def build(source: Path, output: Path) -> int:
    """Build the site from the sources into the output folder; the old site stays if anything is wrong."""
    refuse_sources(output, source)
    site = rendered(load_sources(source))
    write_site(output, site.files)
    print(f"Open {output / 'index.html'}")
    return 0


def check(source: Path, output: Path) -> int:
    """Read the built site again and print one line a fault; 1 when there is one."""
    report = check_site(load_sources(source), output)
    print(report)
    return 1 if report.faults else 0


def pdf(source: Path, output: Path) -> int:
    """Print the whole site, made from the sources anew, into one file; the built site is neither read nor changed."""
    refuse_other_files(output, ".pdf")
    try:
        from sevensteps.browser import NoBrowserError
        from sevensteps.web.pdf import PrintingError, write_pdf
    except ModuleNotFoundError as error:
        print(f"The PDF needs {error.name}: run `python -m pip install -e '.[pdf]'`.", file=sys.stderr)
        return 3
    sources = load_sources(source)
    try:
        write_pdf(sources, rendered(sources), output)
    except (NoBrowserError, PrintingError) as error:
        print(error, file=sys.stderr)
        return 3
    print(f"Open {output}")
    return 0


def rendered(sources: Sources) -> Site:
    """The site, with a line for each sentence that these weights make untrue."""
    site = render(sources)
    for claim in site.broken:
        told = f"no longer true: {claim.sentence} (expected: {claim.expected})"
        print(f"{claim.file}:{claim.line}: {told}", file=sys.stderr)
    return site


#: Command -> what it does and what it writes or reads in the source folder.
COMMANDS = {"build": (build, "site"), "check": (check, "site"), "pdf": (pdf, "seven-steps.pdf")}


def lab(arguments: list[str]) -> int:
    """Readings of a real language model; its packages are needed for nothing else."""
    try:
        from sevensteps.lab.command import main
    except ModuleNotFoundError as error:
        print(f"build.py lab needs {error.name}: python -m pip install -e '.[lab]'", file=sys.stderr)
        return 3
    return main(arguments)


def main() -> int:
    """Exit code 0, 1 when the check finds faults, 2 when an input is wrong, 3 when something is not installed."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    if sys.argv[1:2] == ["lab"]:
        return lab(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, epilog="python build.py lab --help: a real language model")
    parser.add_argument("command", nargs="?", choices=COMMANDS, default="build")
    parser.add_argument("--source", type=Path, default=ROOT, help="the folder with content, templates and static")
    parser.add_argument(
        "--output",
        type=Path,
        help="the folder of the site, or the file of the PDF (default: site or seven-steps.pdf in the source folder)",
    )
    options = parser.parse_args()
    command, usual = COMMANDS[options.command]
    try:
        return command(options.source, options.output or options.source / usual)
    except InputError as error:
        for fault in error.faults:
            print(fault, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
