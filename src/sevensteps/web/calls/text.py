"""Calls for running text: numbers, facts, tokens, symbols, claims, worked lines."""

import re
from html import escape, unescape
from typing import Any

from sevensteps.claims import compile_claim, untrue
from sevensteps.engine.tokenizer import NoTokenFits, tokenize
from sevensteps.web.desk import Body, Broken, Calls, marked_token
from sevensteps.web.marks import PLACES, ids_named, structure, symbol, token
from sevensteps.web.tables import decimal_text, from_printed

#: Of a claim's conditions that are not true so many are told.
TOLD = 3


class Inline(str):
    """A sentinel in running text that also knows its number's <mn>, for use inside a formula."""

    mn: str

    def __new__(cls, sentinel: str, mn: str) -> "Inline":
        inline = super().__new__(cls, sentinel)
        inline.mn = mn
        return inline


class TextCalls(Calls):
    """Numbers, facts, tokens, symbols, claims, worked lines."""

    def n(self, written: str) -> Inline:
        """A number: `n('y[last,1]')`."""
        (ref, entry), marks = self.desk.pointed(written), self.desk.marks
        return Inline(self.desk.keep(marks.number(ref, entry=entry)), marks.number(ref, "mn", entry=entry))

    def fact(self, key: str) -> str:
        """A figure of facts.toml; its source is listed at the end of the page."""
        if key not in self.desk.facts:
            self.desk.fault(f"fact {key!r}", "a key of content/facts.toml")
            return ""
        fact, marks = self.desk.page.facts_used.setdefault(key, self.desk.facts[key]), self.desk.marks
        return Inline(self.desk.keep(marks.fact(key, fact)), marks.fact(key, fact, "mn"))

    def k(self, text: object) -> Inline:
        """Digits that count or name something: k(1) in 'head 1'. Not for results."""
        return Inline(self.desk.keep(structure(str(text))), f"<mn data-structure>{escape(str(text))}</mn>")

    def t(self, text: str) -> str:
        """A token of the vocabulary."""
        vocabulary = self.desk.runs.traces["main"].vocabulary
        text = self.desk.runs.token(text, vocabulary)
        if text not in vocabulary:
            self.desk.fault(f"token {text!r}", "a token of the vocabulary")
        return self.desk.keep(token(text))

    def at(self, position: int | str, run: str = "main", of: str = "ids") -> str:
        """The token at a position (from 1, or 'last') of a run's text; of='targets' for the token that follows."""
        ref = self.desk.runs.ref(f"{run}/{of}[{position}]")
        return self._token(ref, int(self.desk.runs[ref]), f"id {ref}")

    def named(self, written: str) -> str:
        """The token whose id a number is: `named('drawn')`."""
        ref = self.desk.single(written)
        return self._token(ref, int(self.desk.runs[ref]), f"id {ref}")

    def top(self, row: str, place: int = 1) -> str:
        """The token with the largest (or second largest) entry of a row: `top('p[last]')`, `top('p[last]', 2)`."""
        ref = self.desk.runs.ref(row)
        mark = f"{PLACES[place - 1]} {ref}"
        return self._token(ref, ids_named(mark, self.desk.runs)[0], mark)

    def _token(self, ref: str, number: int, what: str) -> str:
        trace = self.desk.runs.find(ref)[0]
        return self.desk.keep(marked_token(self.desk, trace.vocabulary[number], what))

    def plain_words(self, run: str) -> str:
        """The text of a recorded run, without the token in front of it."""
        return escape("".join(self.desk.runs.traces[run].tokens[1:]).replace("␣", " ").strip())

    def refusal(self, text: str) -> str:
        """What the tokenizer says of a text that it cannot cut. A text that it can cut is a broken claim."""
        vocabulary = self.desk.runs.traces["main"].vocabulary
        try:
            said = " ".join(vocabulary[number] for number in tokenize(text, vocabulary))
            self.desk.broken.append(Broken(*self.desk.where(), said, f"no token fits somewhere in {text!r}"))
        except NoTokenFits as error:
            said = str(error)
        return self.desk.keep(f'<code class="message">{escape(said)}</code>')

    def sym(self, text: str) -> str:
        """A symbol: sym('W1')."""
        return self.desk.keep(symbol(text))

    def term(self, text: str, entry: str = "") -> str:
        """A new term where it is explained, linked to its glossary entry (`entry` where that has another name)."""
        anchor = "term-" + (entry or text).lower().replace(" ", "-")
        return self.desk.keep(f'<dfn><a href="{self.desk.page.up}glossary.html#{anchor}">{escape(text)}</a></dfn>')

    def code(self, name: str) -> str:
        """A program of content/code, as text."""
        path = self.desk.root / "content" / "code" / name
        if not path.is_file():
            self.desk.fault(f"code({name!r})", "a file in content/code")
            return ""
        return path.read_text(encoding="utf-8").strip()

    def claim(self, condition: str, caller: Body, every: bool = False) -> str:
        """A sentence that depends on the weights; its body is inline Markdown.

        `every`: the condition says the same of each position of the text, one after the other.
        """
        stash = self.desk.page.stash
        compiled = compile_claim(condition, self.desk.runs)
        sentence = stash.restore(stash.inline(caller()))
        css = "claim"
        if false := untrue(condition, compiled, self.desk.runs):
            css = "claim broken"
            text = " ".join(unescape(re.sub(r"<[^>]+>", "", sentence)).split())
            rest = [f"{len(false) - TOLD} more"] * (len(false) > TOLD)
            self.desk.broken.append(Broken(*self.desk.where(), text, " and ".join(false[:TOLD] + rest)))
        more = " data-every" * every + self.desk.origin()
        return self.desk.keep(f'<span class="{css}" data-claim="{escape(compiled)}"{more}>{sentence}</span>')

    def worked(self, written: str) -> str:
        """The arithmetic behind a number, on a line of its own."""
        return self.desk.block(self.desk.marks.working(*self.desk.pointed(written)))

    def by_hand(self, written: str) -> str:
        """What a calculator gives for a number from its printed operands, which stand in the same table."""
        ref = self.desk.single(written)
        calculated = from_printed(self.desk.runs, ref)
        if calculated is None:
            self.desk.fault(f"by_hand({written!r})", "a number with operands to calculate from")
            return ""
        figure = f'data-calculated="{escape(ref)}"{self.desk.origin()}>{decimal_text(calculated)}'
        return self.desk.keep(f'<span class="num" {figure}</span>')

    def formula(self, number: int, values: list[Any]) -> str:
        """A formula of the page with its numbers. `Formulas` writes this call, not the author."""
        try:
            html = self.desk.page.formulas.filled(number, [value.mn for value in values])
        except (ValueError, IndexError, AttributeError):
            self.desk.fault("a formula with something else", "numbers as n(…), fact(…) or k(…) inside a formula")
            return ""
        if 'display="block"' not in html:
            return self.desk.keep(html)
        return self.desk.block(f'<div class="formula" role="group" aria-label="Formula" tabindex="0">{html}</div>')
