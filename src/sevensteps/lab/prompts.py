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
#: Texts whose mean rows stand in for a part with --mean. They have nothing to do with the prompts of the pages.
MEAN_TEXTS = (
    "The river was high after three days of rain, and the bridge to the village had been closed since morning.",
    "To make bread you need flour, water, salt and yeast. Mix them well, and let the dough rest for an hour.",
    "She opened the letter slowly. It was written in a hand that she did not know, and it had no date.",
    "In the second half both teams played with more care, but neither of them managed to score again.",
    "A triangle with two equal sides has two equal angles. This was known long before it was written down.",
    "def area(width, height):\n    return width * height\n",
)
