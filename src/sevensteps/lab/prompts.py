"""The texts from which the lab's pages are made."""

from typing import NamedTuple


class Prompt(NamedTuple):
    """A text to go on with, and which readings of it the pages show beyond the next token."""

    text: str
    lens: bool = False
    sweep: bool = False


#: The run of each prompt -> its text.
PROMPTS = {
    "capital": Prompt("The capital of France is", lens=True, sweep=True),
    "opposite": Prompt("The opposite of hot is"),
    "months": Prompt("January, February, March,"),
    "fox": Prompt("The quick brown fox jumps over the", lens=True, sweep=True),
    "program": Prompt("def add(a, b):\n    return a +"),
    "climbed": Prompt("the cat climbed the", lens=True),
}
#: Of this pair only the last token is the same.
SAME_END = ("The capital of France is", "The colour of the sky is")
#: Country -> capital, for "The capital of … is". The last two are exceptions: there one head alone does not matter.
CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Germany": "Berlin", "Russia": "Moscow",
    "Canada": "Ottawa", "Spain": "Madrid", "Egypt": "Cairo",
}  # fmt: skip
#: The block and the head that carry most of the capitals.
BLOCK, HEAD = 23, 4
#: Words in an order that nothing foretells; the text says them twice.
WORDS = ("lamp", "river", "button", "cloud", "pepper", "wheel", "garden", "stone")
#: A plain text, on which attention off everywhere is measured.
PLAIN = (
    "The harbour is quiet in the morning. Two boats come back with fish, and a man waits for them with his cart. "
    "He knows the boats by their sound, and he knows what they will say before they say it."
)
