"""Build the site, or check a built one: `python build.py`, `python build.py check`."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "src"))

try:
    from sevensteps.engine.faults import InputError
    from sevensteps.web.check import check_site
    from sevensteps.web.output import refuse_sources, write_site
    from sevensteps.web.site import load_sources, render
except ModuleNotFoundError as error:
    sys.exit(f"build.py needs {error.name}, which is not installed here. README.md, 'Build it', says how.")


def build(source: Path, output: Path) -> int:
    """Build the site from the sources into the output folder; the old site stays if anything is wrong."""
    refuse_sources(output, source)
    site = render(load_sources(source))
    write_site(output, site.files)
    for claim in site.broken:
        print(f"{claim.file}:{claim.line}: no longer true: {claim.sentence} ({claim.condition})", file=sys.stderr)
    print(f"Open {output / 'index.html'}")
    return 0


def check(source: Path, output: Path) -> int:
    """Read the built site again and print one line a fault; 1 when there is one."""
    report = check_site(load_sources(source), output)
    print(report)
    return 1 if report.faults else 0


def main() -> int:
    """Exit code 0, 1 when the check finds faults, 2 when an input is wrong."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="?", choices=["build", "check"], default="build")
    parser.add_argument("--source", type=Path, default=ROOT, help="the folder with content, templates and static")
    parser.add_argument("--output", type=Path, help="the folder of the site (default: site in the source folder)")
    options = parser.parse_args()
    output = options.output or options.source / "site"
    try:
        return {"build": build, "check": check}[options.command](options.source, output)
    except InputError as error:
        for fault in error.faults:
            print(fault, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
