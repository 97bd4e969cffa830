"""Markdown in which finished HTML is safe: it waits in a stash, a sentinel holds its place."""

import re

import markdown

#: Unicode noncharacters, which no text may contain.
OPEN, CLOSE = "\ufdd0", "\ufdd1"
SENTINEL = re.compile(f"{OPEN}(\\d+){CLOSE}")
#: What no line may end in: a name with its number (GPT-2), and the size of a table (5 × 4).
_NAME = re.compile(r"\b[A-Z]\w+[- ]\d(?![^<]*>)")
_SIZE = re.compile(f"(?<={CLOSE}) × (?={OPEN})")
_BLOCK_ALONE = re.compile(f"<p>\\s*{OPEN}(\\d+){CLOSE}\\s*</p>")


class Stash:
    """Finished pieces of HTML. One stash serves one page."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.blocks: set[int] = set()
        self.markdown = markdown.Markdown(extensions=["tables", "fenced_code", "sane_lists", "attr_list"])

    def keep(self, html: str, block: bool = False) -> str:
        """Put a piece away; the sentinel returned passes through Markdown unchanged."""
        if block:
            self.blocks.add(len(self.pieces))
        self.pieces.append(html)
        return f"{OPEN}{len(self.pieces) - 1}{CLOSE}"

    def html(self, text: str) -> str:
        """Markdown to HTML, sentinels left in place; a block alone in its paragraph loses the paragraph."""
        html = _SIZE.sub("\u00a0×\u00a0", self.markdown.reset().convert(text))
        html = _NAME.sub(r'<span class="pair">\g<0></span>', html)
        return _BLOCK_ALONE.sub(lambda m: f"{OPEN}{m[1]}{CLOSE}" if int(m[1]) in self.blocks else m[0], html)

    def inline(self, text: str) -> str:
        """Markdown of one paragraph, without the paragraph around it."""
        html = self.html(text.strip())
        return html.removeprefix("<p>").removesuffix("</p>") if html.count("<p>") == 1 else html

    def restore(self, html: str) -> str:
        """Put every piece back, pieces inside pieces too."""
        while SENTINEL.search(html):
            html = SENTINEL.sub(lambda m: self.pieces[int(m[1])], html)
        return html
