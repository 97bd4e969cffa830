"""Faults that readers of explainers have reported elsewhere, each with a test that would fail if it were here."""

import math

import numpy as np
import pytest
from toys import load, shipped, shipped_data, shipped_traces

from sevensteps.engine import ops
from sevensteps.engine.faults import InputError
from sevensteps.engine.sampling import draw, next_probs
from sevensteps.engine.tokenizer import NoTokenFits, tokenize

MAIN = shipped_traces()["main"]


def column(values: list[float]) -> np.ndarray:
    return np.array([values])


def test_variance_over_d_minus_1_instead_of_d() -> None:
    assert ops.row_mean_square(column([-1.5, -0.5, 0.5, 1.5])).tolist() == [1.25]


def test_epsilon_outside_the_root() -> None:
    assert ops.root_with_epsilon(np.array([0.0]), np.array(0.25)).tolist() == [0.5]


def test_layer_norm_losing_digits_on_a_row_with_a_large_mean() -> None:
    # E[x²] − E[x]² has no digit left here; the variance of the centred row is exact.
    x = column([2000 + 2.0**-20, 2000 - 2.0**-20])
    centred = ops.subtract(x, ops.row_mean(x))
    assert ops.row_mean_square(centred).tolist() == [2.0**-40]


def test_post_norm_computed_where_pre_norm_is_described() -> None:
    steps = MAIN.steps
    assert steps["attn.q.0"].inputs[0] == "ln1.normalized"
    assert steps["mlp.pre"].inputs[0] == "ln2.normalized"
    # The stream itself is never normalised: each branch is added to it as it is.
    assert MAIN["resid_mid"].tolist() == (MAIN["resid_pre"] + MAIN["attn_out"]).tolist()
    assert MAIN["resid_post"].tolist() == (MAIN["resid_mid"] + MAIN["mlp_out"]).tolist()
    assert MAIN["resid_pre"].tolist() == (MAIN["embed"] + MAIN["pos_embed"]).tolist()


def test_the_two_forms_of_gelu_confused() -> None:
    assert f"{float(ops.gelu_tanh(np.array(1.0))):.4f}" == "0.8412"
    assert f"{float(ops.gelu_erf(np.array(1.0))):.4f}" == "0.8413"


def test_the_activation_of_the_file_is_the_one_computed(tmp_path) -> None:
    data = shipped_data()
    data["weights"]["W_in"] = [[0] * 8] * 4
    data["weights"]["b_in"] = [1] * 8
    for activation, printed in {"relu": "1.0000", "gelu_tanh": "0.8412", "gelu_erf": "0.8413"}.items():
        trace = load(data | {"activation": activation}, tmp_path).traces()["main"]
        assert {f"{unit:.4f}" for unit in trace["mlp.post"].ravel()} == {printed}


def test_a_term_of_gelu_dropped() -> None:
    # Without the cube the value at 2 would be 2 · 0.9603…, and without the ½ twice as much.
    assert float(ops.gelu_tanh(np.array(2.0))) == pytest.approx(1.954597694087775, abs=1e-14)
    assert float(ops.gelu_erf(np.array(2.0))) == pytest.approx(1.9544997361036416, abs=1e-14)


def test_scores_divided_by_the_root_of_d_model_instead_of_d_head() -> None:
    assert (MAIN["size.d_model"], MAIN["size.d_head"]) == (4, 2)
    for h in range(2):
        q, k = MAIN[f"attn.q.{h}"], MAIN[f"attn.k.{h}"]
        assert float(MAIN[f"attn.scores.{h}.4.2"]) == pytest.approx(float(q[4] @ k[2]) / math.sqrt(2))


def test_heads_split_by_a_wrong_reshape(tmp_path) -> None:
    assert MAIN["attn.concat"][:, :2].tolist() == MAIN["attn.z.0"].tolist()
    assert MAIN["attn.concat"][:, 2:].tolist() == MAIN["attn.z.1"].tolist()
    data = shipped_data()
    data["weights"]["W_V"][1] = [[3, -1], [0, 2], [1, 1], [-2, 0]]
    changed = load(data, tmp_path).traces()["main"]
    assert changed["attn.result.0"].tolist() == MAIN["attn.result.0"].tolist()
    assert changed["attn.pattern.1"].tolist() == MAIN["attn.pattern.1"].tolist()
    assert changed["attn.result.1"].tolist() != MAIN["attn.result.1"].tolist()


def test_heads_merged_in_the_wrong_order(tmp_path) -> None:
    # Exchanging the heads and their rows of W_O is the same model.
    data = shipped_data()
    for name in ("W_Q", "W_K", "W_V"):
        data["weights"][name].reverse()
    rows = data["weights"]["W_O"]
    data["weights"]["W_O"] = rows[2:] + rows[:2]
    exchanged = load(data, tmp_path).traces()["main"]
    np.testing.assert_allclose(exchanged["attn_out"], MAIN["attn_out"], rtol=0, atol=1e-15)


def test_mask_applied_after_the_softmax() -> None:
    for h in range(2):
        pattern = MAIN[f"attn.pattern.{h}"]
        assert (pattern[np.triu_indices(5, k=1)] == 0.0).all()
        assert pattern.sum(axis=1) == pytest.approx(1, abs=1e-15)


def test_a_finite_minus_infinity_that_leaks_on_large_scores() -> None:
    scores = np.array([[-1e30, 1e30], [-1e30, -1e30]])
    assert ops.causal_mask(scores)[0, 1] == -np.inf
    assert ops.softmax(ops.causal_mask(scores)).tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_a_later_token_changes_an_earlier_row(tmp_path) -> None:
    data = shipped_data()
    data["runs"] = {"other_end": {"text": "the cat climbed wall"}}
    other = load(data, tmp_path).traces()["other_end"]
    assert other["probs"][:4].tolist() == MAIN["probs"][:4].tolist()
    assert other["probs.4"].tolist() != MAIN["probs.4"].tolist()


def test_targets_shifted_twice_or_not_at_all() -> None:
    for trace in shipped_traces().values():
        ids, targets = trace["ids"].tolist(), trace["targets"].tolist()
        assert targets[:-1] == ids[1:]
    assert MAIN.vocabulary[int(MAIN["targets.4"])] == "␣roof"
    for position, target in enumerate(MAIN["targets"].astype(int)):
        assert MAIN[f"probs.target.{position}"] == MAIN[f"probs.{position}.{target}"]


def test_a_mean_loss_over_the_wrong_count() -> None:
    assert float(MAIN["loss.mean"]) == pytest.approx(-math.log(math.prod(MAIN["probs.target"])) / 5)


def test_counting_from_0_and_from_1_mixed() -> None:
    # Refs and ids count from 0; what is shown (symbols, titles) counts heads from 1.
    assert MAIN.split("logits.4") == ("logits", (4,))
    with pytest.raises(KeyError):
        MAIN["logits.5"]
    assert MAIN.vocabulary[int(MAIN["ids.0"])] == "the"
    assert MAIN["ids.0"] == 0
    for h in range(2):
        query = MAIN.steps[f"attn.q.{h}"]
        assert (query.symbol, query.title) == (f"q{h + 1}", f"query of head {h + 1}")
        assert MAIN.steps[f"W_Q.{h}"].symbol == f"WQ{h + 1}"


def test_w_u_transposed() -> None:
    assert MAIN["W_U"].shape == (4, 12)
    roof = MAIN.vocabulary.index("␣roof")
    f = MAIN["ln_final.normalized.4"]
    assert float(MAIN[f"logits.4.{roof}"]) == pytest.approx(-0.5 * f[0] + 1 * f[1] + 0 * f[2] + 1 * f[3], abs=1e-15)


def test_a_tied_head_that_also_reads_the_position_table(tmp_path) -> None:
    data = shipped_data() | {"tied": True, "runs": {}}
    del data["weights"]["W_U"]
    trace = load(data, tmp_path).traces()["main"]
    assert trace["logits"].shape == (5, 12)
    f, e = trace["ln_final.normalized"], np.array(data["weights"]["W_E"])
    np.testing.assert_allclose(trace["logits"], f @ e.T, rtol=0, atol=1e-15)
    # A tied file and the run that patches W_U are one model.
    assert trace["probs"].tolist() == shipped_traces()["tied"]["probs"].tolist()


@pytest.mark.parametrize("h", [0, 1])
def test_a_head_ablated_by_a_slice_of_the_output_or_with_the_biases(h: int, tmp_path) -> None:
    data = shipped_data()
    data["weights"]["b_O"] = [1, 2, 3, 4]
    data["weights"]["W_O"] = [[1, 2, 3, 4], [5, 6, 7, 8], [-1, 1, -2, 2], [0.5, 1, 1.5, 2]]  # every entry is written
    traces = load(data, tmp_path).traces()
    main, off = traces["main"], traces[f"head_{h + 1}_off"]
    part = main[f"attn.z.{h}"] @ main["W_O"][2 * h : 2 * h + 2]
    np.testing.assert_allclose(off["attn_out"], main["attn_out"] - part, rtol=0, atol=1e-14)
    other = main[f"attn.result.{1 - h}"]
    np.testing.assert_allclose(off["attn_out"], np.add(other, [1, 2, 3, 4]), rtol=0, atol=1e-14)


def test_a_logit_lens_without_the_final_norm_or_with_statistics_of_another_layer(tmp_path) -> None:
    data = shipped_data()
    data["runs"] = {"lens": {"patch": {"resid_post": "resid_pre"}}}
    lens = load(data, tmp_path).traces()["lens"]
    x = MAIN["resid_pre.4"]
    normed = (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)  # its own mean and deviation
    np.testing.assert_allclose(lens["logits.4"], normed @ MAIN["W_U"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", list(shipped_data()["weights"]))
def test_a_missing_weight_silently_zero(name: str, tmp_path) -> None:
    data = shipped_data()
    del data["weights"][name]
    with pytest.raises(InputError, match=rf"toy\.toml: weights\.{name}: found nothing, expected this key"):
        load(data, tmp_path)


@pytest.mark.parametrize("name", ["W_E", "W_pos", "W_in", "W_out", "W_U"])
def test_a_weight_that_is_stored_transposed(name: str, tmp_path) -> None:
    data = shipped_data()
    data["weights"][name] = [list(row) for row in zip(*data["weights"][name], strict=True)]
    with pytest.raises(InputError, match="weights"):
        load(data, tmp_path)


def test_temperature_0_divides_by_zero() -> None:
    with np.errstate(all="raise"):
        assert next_probs(MAIN["logits.4"], temperature=0).argmax() == MAIN.vocabulary.index("␣roof")


def test_top_p_drops_the_token_that_crosses_p() -> None:
    # ␣roof has 0.395, ␣wall takes the sum to 0.537: 0.5 is crossed by ␣wall, which stays.
    kept = np.flatnonzero(next_probs(MAIN["logits.4"], top_p=0.5))
    assert [MAIN.vocabulary[n] for n in kept] == ["␣roof", "␣wall"]


def test_filtered_probabilities_not_renormalised() -> None:
    for p in (next_probs(MAIN["logits.4"], top_k=3), next_probs(MAIN["logits.4"], top_p=0.9)):
        assert p.sum() == pytest.approx(1, abs=1e-15)
        assert np.count_nonzero(p) < p.size
        assert p[draw(p, math.nextafter(1, 0))] > 0


def test_a_trailing_space_silently_changes_the_prediction(tmp_path) -> None:
    with pytest.raises(NoTokenFits) as caught:
        tokenize("the cat climbed the ", shipped().vocabulary)
    assert caught.value.place == len("the cat climbed the")
    with pytest.raises(InputError, match="at character 20, '␣'"):
        load(shipped_data() | {"text": "the cat climbed the "}, tmp_path)


def test_a_missing_leading_space_silently_changes_the_prediction(tmp_path) -> None:
    with pytest.raises(InputError, match=r"toy\.toml: next: found 'roof', expected a token of the vocabulary"):
        load(shipped_data() | {"next": "roof"}, tmp_path)
    with pytest.raises(InputError, match="at character 1, 'cat␣climbed␣'"):
        load(shipped_data() | {"text": "cat climbed the"}, tmp_path)
    assert tokenize("the", shipped().vocabulary) != tokenize(" the", shipped().vocabulary)
