"""Longest match first, the place where nothing fits, and back to text."""

import oracle
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from toys import TOKEN, shipped, shipped_traces

from sevensteps.engine.tokenizer import Cut, NoTokenFits, cuts, detokenize, tokenize
from sevensteps.engine.toy import text_of

VOCABULARY = shipped().vocabulary
VOCABULARIES = st.lists(TOKEN, min_size=1, max_size=8, unique=True)


def tokens(text: str) -> list[str]:
    return [VOCABULARY[n] for n in tokenize(text, VOCABULARY)]


def test_the_text_of_the_toy() -> None:
    assert tokens("the cat climbed the") == ["the", "␣cat", "␣climb", "ed", "␣the"]


def test_the_longest_entry_that_fits_is_taken() -> None:
    assert list(cuts("aab", ["a", "aa", "ab", "b"])) == [Cut(0, ("aa", "a")), Cut(2, ("b",))]


def test_longest_match_does_not_look_ahead() -> None:
    with pytest.raises(NoTokenFits) as caught:
        tokenize("abc", ["a", "ab", "bc"])
    assert (caught.value.place, caught.value.text) == (2, "abc")


def test_a_leading_space_belongs_to_its_token() -> None:
    assert tokens("the the") == ["the", "␣the"]
    assert tokens(" the") == ["␣the"]


def test_a_written_space_mark_is_a_space() -> None:
    assert tokens("the␣cat") == tokens("the cat")


def test_no_text_is_no_tokens() -> None:
    assert tokens("") == []


def test_the_message_says_where_nothing_fits() -> None:
    with pytest.raises(NoTokenFits, match="no token fits at character 4 of 'the␣␣cat': '␣␣cat'") as caught:
        tokenize("the  cat", VOCABULARY)
    assert caught.value.place == 3


def test_an_empty_token_never_fits() -> None:
    assert tokenize("ab", ["", "b", "a"]) == [2, 1]
    with pytest.raises(NoTokenFits):
        tokenize("ax", ["", "a"])


@pytest.mark.parametrize("token", ["<script>", "&amp;", '"', "|", "{{x}}", "$", "_", "🙂", "]", ".*", "\\"])
def test_signs_with_a_meaning_elsewhere_are_plain_characters(token: str) -> None:
    vocabulary = ["a", token, "b"]
    assert tokenize(f"a{token}b{token}", vocabulary) == [0, 1, 2, 1]


@settings(max_examples=200, deadline=None)
@given(VOCABULARIES, st.text('ab␣ é🙂<&"|{$_].', max_size=12))
def test_any_text_is_cut_as_the_reference_cuts_it(vocabulary: list[str], text: str) -> None:
    try:
        ids = tokenize(text, vocabulary)
    except NoTokenFits:
        ids = None
    assert ids == oracle.cut(text, vocabulary)


@settings(max_examples=100, deadline=None)
@given(VOCABULARIES, st.text("ab␣ é🙂", max_size=8))
def test_the_place_of_failure_is_the_first_where_nothing_fits(vocabulary: list[str], text: str) -> None:
    assume(oracle.cut(text, vocabulary) is None)
    with pytest.raises(NoTokenFits) as caught:
        tokenize(text, vocabulary)
    whole, place = caught.value.text, caught.value.place
    assert whole == text.replace(" ", "␣")
    assert not any(whole.startswith(token, place) for token in vocabulary)
    assert oracle.cut(whole[:place], vocabulary) is not None


@settings(max_examples=100, deadline=None)
@given(VOCABULARIES, st.data())
def test_what_could_be_cut_comes_back_whole(vocabulary: list[str], data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(vocabulary), max_size=6))).replace("␣", " ")
    try:
        ids = tokenize(text, vocabulary)
    except NoTokenFits:
        return
    assert detokenize(ids, vocabulary) == text


def test_the_text_of_a_run() -> None:
    assert text_of(shipped_traces()["dog"]) == "the dog climbed the"
    assert text_of(shipped_traces()["generated"]) == "the cat climbed the roof."
