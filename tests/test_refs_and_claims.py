"""How authors name numbers, and the conditions that they put on them."""

import pytest
from toys import shipped_traces

from sevensteps.claims import BadClaimError, compile_claim, holds
from sevensteps.refs import Runs, UnknownRefError

RUNS = Runs(shipped_traces())


@pytest.mark.parametrize(
    ("written", "ref"),
    [
        ("p[last,␣roof]", "probs.4.6"),
        ("p[5,#6]", "probs.4.6"),
        ("p[last,top]", "probs.4.6"),
        ("p[last-1]", "probs.3"),
        ("A1[␣the,␣climb]", "attn.pattern.0.4.2"),
        ("attention_off/p[last,␣cat]", "attention_off/probs.4.2"),
        ("main/y[1,1]", "resid_post.0.0"),
        ("attn.pattern.1[5,4]", "attn.pattern.1.4.3"),
        ("ln1.scale[2]", "ln1.scale.1"),
        ("d", "size.d_model"),
        ("E[<|endoftext|>,4]", "W_E.11.3"),
        ("W1[4,8]", "W_in.3.7"),
    ],
)
def test_what_an_author_writes_becomes_a_ref(written: str, ref: str) -> None:
    assert RUNS.ref(written) == ref


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("nope[1]", "no symbol or name 'nope'"),
        ("p[6,␣roof]", "position 6 is not in 1 to 5"),
        ("p[0,␣roof]", "position 0 is not in 1 to 5"),
        ("p[last,␣house]", "no token '␣house'"),
        ("p[last,3]", "no token '3'"),
        ("y[last,5]", "dimension 5 is not in 1 to 4"),
        ("y[last,1,1]", "more items"),
        ("y[␣sofa,1]", "not a number from 1 or a token of the text"),
        ("no_run/y[1,1]", "no run 'no_run'"),
        ("last-1[", "not of the form"),
        ("p[last-9,␣roof]", "is not in 1 to 5"),
    ],
)
def test_a_ref_to_nothing_says_what_is_wrong(written: str, said: str) -> None:
    with pytest.raises(UnknownRefError, match=said.replace("[", r"\[")):
        RUNS.ref(written)


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        ("top(p[last]) = '␣roof'", True),
        ("top(p[last]) = '␣wall'", False),
        ("p[last,␣roof] > p[last,␣wall] and p[last,␣wall] > 0.1", True),
        ("p[last,␣roof] > 0.9", False),
        ("p[last,␣roof] ≈ 0.3954", True),
        ("rank(p[last,␣wall]) = 2", True),
        ("max(p[last]) = p[last,top]", True),
        ("min(y[last]) < −0.4", True),
        ("abs(y[last,1]) > 0.4", True),
        ("sum(p[last]) ≈ 1", True),
        ("attention_off/p[last,␣cat] ≥ p[last,␣roof]", True),
        ("attn.scores.0[1,2] ≤ -100", True),
        ("u[last,5] ≠ 0", False),
        ("T = 5", True),
    ],
)
def test_a_claim_is_compiled_to_refs_and_judged(claim: str, truth: bool) -> None:
    compiled = compile_claim(claim, RUNS)
    assert "␣" not in compiled
    assert holds(compiled, RUNS) is truth


@pytest.mark.parametrize("claim", ["", "p[last,␣roof]", "p[last,␣roof] == 1", "top(p[last])", "1 ~ 2", "a and b"])
def test_a_claim_that_cannot_be_read_is_refused(claim: str) -> None:
    with pytest.raises(BadClaimError):
        compile_claim(claim, RUNS)


@pytest.mark.parametrize("claim", ["p[last] > 1", "top(p[last,␣roof]) = 1", "nope > 1", "top(p) = 1"])
def test_a_claim_about_nothing_is_refused(claim: str) -> None:
    with pytest.raises(UnknownRefError):
        holds(compile_claim(claim, RUNS), RUNS)
