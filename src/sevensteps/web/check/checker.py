"""One page at a time: every rule, each fault with its source line, and at last whether the sources build this page."""

from collections import Counter
from collections.abc import Mapping
from functools import cache

from sevensteps.web.check import links, rules, tables, worked
from sevensteps.web.check.alignment import Alignment, without_lines
from sevensteps.web.check.bare import bare_numbers
from sevensteps.web.check.files import file_faults
from sevensteps.web.check.reader import Page
from sevensteps.web.check.report import Fault, Report
from sevensteps.web.check.rules import Finding
from sevensteps.web.check.values import Values
from sevensteps.web.site import LANGUAGE, Sources, render

RULES = (rules.numbers, rules.facts, rules.tokens, rules.claims, worked.worked_lines, tables.notes)
NUMBERS = ("data-ref", "data-fact", "data-calculated", "data-printed-sum")


class Checker:
    """The sources, what they build, and the files of a finished site."""

    def __init__(self, sources: Sources, files: Mapping[str, bytes]) -> None:
        self.values, self.files = Values(sources), files
        self.names, self.url = sources.site.get("names", []), sources.site.get("url", "")
        #: What the sources build now, with the source line in every mark.
        self.fresh = render(sources, lines=True).files
        names = [name for name in files if name in self.fresh and name.endswith(".html")]
        self.fresh_page = cache(self._fresh_page)
        self.pages = {name: Page(name, files[name].decode("utf-8", "replace")) for name in names}
        self.ids = {name: links.ids(self.pages[name]) if name in self.pages else set() for name in files}

    def _fresh_page(self, name: str) -> Page:
        return Page(name, self.fresh[name].decode())

    def site(self) -> Report:
        """Every file and every page."""
        report = Report(list(file_faults(self.files, self.fresh, self.url)))
        for page in self.pages.values():
            of_page = self.page(page)
            report.faults += of_page.faults
            report.counts += of_page.counts
        return report

    def page(self, page: Page) -> Report:
        """One page that the sources build, as it is now."""
        findings = [Finding("markup", node, "", found, expected) for found, expected, node in page.faults]
        if "\ufffd" in page.html:
            findings.append(Finding("markup", None, "", "bytes that are not UTF-8", "UTF-8"))
        for rule in RULES:
            findings += rule(page, self.values)
        findings += bare_numbers(page, self.names)
        findings += links.link_faults(page, self.ids)
        return Report(self._faults(page, findings), _counts(page))

    def _faults(self, page: Page, findings: list[Finding]) -> list[Fault]:
        if not findings and page.html == without_lines(self.fresh[page.name].decode()):
            return []
        slug = page.name.removesuffix(".html")
        alignment = Alignment(page, self.fresh_page(page.name), f"content/{LANGUAGE}/{slug}.md")
        faults = list(alignment.moved())
        faults += [Fault(f.kind, page.name, f.ref, f.shown, f.expected, alignment.source(f.node)) for f in findings]
        if all(fault.kind == "claim" for fault in faults) and (difference := alignment.difference()):
            faults.append(difference)
        return faults


def _counts(page: Page) -> Counter[str]:
    return Counter(
        {
            "pages": 1,
            "numbers": sum(any(mark in node.attributes for mark in NUMBERS) for node in page.nodes),
            "worked lines": len(page.with_attribute("data-worked")),
            "claims": len(page.with_attribute("data-claim")),
            "links": len(links.links(page)),
        }
    )
