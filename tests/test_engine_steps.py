"""The list of steps, refs into a trace, and patches."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import load, shipped, shipped_data, shipped_traces

from sevensteps.engine.forward import GIVEN, PER_HEAD, forward_steps
from sevensteps.engine.ops import OPS
from sevensteps.engine.steps import Step, Trace, extended, run

NAMES = [
    "ids", "targets", "layer_norm_eps",
    "size.tokens", "size.vocabulary", "size.positions", "size.d_model", "size.heads", "size.d_head", "size.d_mlp",
    "head.0", "head.1",
    "W_E", "W_pos", "W_Q.0", "W_Q.1", "W_K.0", "W_K.1", "W_V.0", "W_V.1", "W_O", "W_in", "b_in", "W_out", "b_out",
    "W_U",
    "embed", "pos_embed", "resid_pre",
    "ln1.mean", "ln1.centred", "ln1.variance", "ln1.scale", "ln1.normalized",
    "attn.root_d_head",
    "attn.q.0", "attn.k.0", "attn.v.0", "attn.dots.0", "attn.scaled.0", "attn.scores.0", "attn.exp.0",
    "attn.exp_sum.0", "attn.pattern.0", "attn.z.0",
    "attn.q.1", "attn.k.1", "attn.v.1", "attn.dots.1", "attn.scaled.1", "attn.scores.1", "attn.exp.1",
    "attn.exp_sum.1", "attn.pattern.1", "attn.z.1",
    "attn.concat", "attn.result.0", "attn.result.1", "attn_out", "resid_mid",
    "ln2.mean", "ln2.centred", "ln2.variance", "ln2.scale", "ln2.normalized",
    "mlp.pre", "mlp.post", "mlp_out", "resid_post",
    "ln_final.mean", "ln_final.centred", "ln_final.variance", "ln_final.scale", "ln_final.normalized",
    "logits", "logits.exp", "logits.exp_sum", "probs", "probs.target", "loss", "loss.mean", "loss.uniform",
]  # fmt: skip


def everything(heads: int = 2) -> list[Step]:
    """The steps of one block with every optional part."""
    names = [f"{name}.{h}" for name in PER_HEAD for h in range(heads)]
    return forward_steps([*names, *(name for name in GIVEN if name not in PER_HEAD)], heads)


def gated(heads: int = 4, key_heads: int = 2) -> list[Step]:
    """The steps of a small Llama: rotary positions, shared keys and values, RMSNorm, a gate."""
    per_head = [f"W_Q.{h}" for h in range(heads)] + [f"W_{part}.{h}" for part in "KV" for h in range(key_heads)]
    names = ["W_E", "ln1.w", *per_head, "W_O", "ln2.w", "W_gate", "W_in", "W_out", "ln_final.w"]
    return forward_steps(names, heads, activation="silu", norm="rms_norm")


def test_the_ordered_names_of_the_toy() -> None:
    assert [step.name for step in shipped().steps()] == NAMES


def test_the_trace_holds_the_values_in_the_order_of_the_steps() -> None:
    assert list(shipped_traces()["main"].values) == NAMES


def test_optional_parts_add_their_own_names() -> None:
    names = [step.name for step in everything()]
    added = [name for name in names if name not in NAMES]
    assert added == [
        "b_Q.0", "b_Q.1", "b_K.0", "b_K.1", "b_V.0", "b_V.1",
        "ln1.w", "ln1.b", "b_O", "ln2.w", "ln2.b", "ln_final.w", "ln_final.b",
        "ln1.unit", "ln1.gained", "ln2.unit", "ln2.gained", "ln_final.unit", "ln_final.gained",
    ]  # fmt: skip
    assert set(NAMES) <= set(names)


def test_a_tied_toy_computes_its_unembedding() -> None:
    (unembedding,) = (step for step in forward_steps(["W_E", "W_pos"], heads=1) if step.name == "W_U")
    assert (unembedding.op, unembedding.inputs) == ("transpose", ("W_E",))


def test_many_blocks_have_prefixed_names_and_one_stream() -> None:
    steps = {step.name: step for step in forward_steps(["W_pos"], heads=1, layers=3)}
    assert steps["blocks.0.ln1.mean"].inputs == ("blocks.0.resid_pre",)
    assert steps["blocks.1.ln1.mean"].inputs == ("blocks.0.resid_post",)
    assert steps["blocks.2.resid_mid"].inputs == ("blocks.1.resid_post", "blocks.2.attn_out")
    assert steps["ln_final.mean"].inputs == ("blocks.2.resid_post",)


@pytest.mark.parametrize("steps", [everything(), everything(heads=11), forward_steps(["W_pos"], 1), gated()])
def test_names_and_symbols_mean_one_thing_each(steps: list[Step]) -> None:
    assert len({step.name for step in steps}) == len(steps)
    assert len({step.symbol for step in steps}) == len(steps)


def test_query_heads_share_the_keys_and_values_of_their_group() -> None:
    steps = {step.name: step for step in gated()}
    keys = [steps[f"attn.dots.{h}"].inputs[1] for h in range(4)]
    values = [steps[f"attn.z.{h}"].inputs[1] for h in range(4)]
    assert keys == ["attn.rot_k.0", "attn.rot_k.0", "attn.rot_k.1", "attn.rot_k.1"]
    assert values == ["attn.v.0", "attn.v.0", "attn.v.1", "attn.v.1"]


def test_every_step_has_a_known_op_a_title_a_symbol_and_one_of_the_seven_pages() -> None:
    for step in everything():
        assert step.op == "given" or step.op in OPS
        assert step.title
        assert step.symbol
        assert 1 <= step.page <= 7


@pytest.mark.parametrize("steps", [everything(), gated()])
def test_every_step_reads_only_what_was_made_before_it(steps: list[Step]) -> None:
    made: set[str] = set()
    for step in steps:
        assert {*step.inputs, *step.via} <= made, step.name
        made.add(step.name)


@pytest.mark.parametrize("trace", shipped_traces().values(), ids=shipped_traces().keys())
def test_each_axis_of_a_step_names_one_index_of_its_value(trace: Trace) -> None:
    for name, value in trace.values.items():
        assert len(trace.steps[name].axes) == value.ndim, name


def test_refs_name_every_number_once_and_split_back() -> None:
    trace = shipped_traces()["main"]
    refs = list(trace.refs())
    assert len(refs) == len(set(refs)) == sum(value.size for value in trace.values.values())
    for ref in refs:
        name, index = trace.split(ref)
        assert ".".join([name, *map(str, index)]) == ref
        assert trace[ref].shape == ()
        assert trace[ref] == trace.values[name][index]


def test_a_ref_may_name_a_value_a_row_or_a_number() -> None:
    trace = shipped_traces()["main"]
    assert trace.split("attn.q.1") == ("attn.q.1", ())
    assert trace.split("attn.q.1.4") == ("attn.q.1", (4,))
    assert trace.split("logits.exp.4.6") == ("logits.exp", (4, 6))
    assert trace["logits.4"].tolist() == trace.values["logits"][4].tolist()


@pytest.mark.parametrize(
    "ref", ["", ".", "lodgits", "attn.q", "attn.q.2", "logits.5", "logits.0.12", "logits.0.0.0", "logits.-1", "logits.",
            "logits.x", "logits.²", "loss.mean.0", ".logits", "logits 0", "main/logits"]
)  # fmt: skip
def test_a_ref_to_nothing_is_a_key_error(ref: str) -> None:
    with pytest.raises(KeyError):
        shipped_traces()["main"].split(ref)


def test_a_trace_can_be_extended_with_steps_on_its_values() -> None:
    trace = shipped_traces()["main"]
    steps = [Step("limit", "given"), Step("kept", "keep_top_k", ("probs.4", "limit"))]
    more = extended(trace, steps, {"limit": np.array(2.0)})
    assert np.flatnonzero(more["kept"]).tolist() == [6, 7]
    assert "kept" not in trace.values
    assert more["logits"] is not None
    assert more.run == "main"


def patched(patch: dict[str, float | str]) -> Trace:
    toy = shipped()
    spec = toy.runs["main"]
    return run(toy.steps(), toy.given(spec.ids, spec.targets), patch)


def test_attention_off_leaves_the_stream_as_it_came() -> None:
    trace = shipped_traces()["attention_off"]
    assert not trace["attn_out"].any()
    assert trace["resid_mid"].tolist() == trace["resid_pre"].tolist()


def test_mlp_off_leaves_the_stream_as_attention_made_it() -> None:
    trace = shipped_traces()["mlp_off"]
    assert trace["resid_post"].tolist() == trace["resid_mid"].tolist()


def test_mask_off_lets_every_row_see_every_row() -> None:
    masked, open_ = shipped_traces()["main"], shipped_traces()["mask_off"]
    for h in range(2):
        assert (open_[f"attn.pattern.{h}"] > 0).all()
        assert open_[f"attn.pattern.{h}"].sum(axis=1) == pytest.approx(1)
        # The last row sees everything anyhow.
        assert open_[f"attn.pattern.{h}.4"].tolist() == masked[f"attn.pattern.{h}.4"].tolist()


def test_the_tied_run_reads_out_through_the_embeddings() -> None:
    trace = shipped_traces()["tied"]
    assert trace["W_U"].tolist() == trace["W_E"].T.tolist()


def test_the_parts_of_the_heads_and_the_bias_add_up_to_the_output_of_attention(tmp_path) -> None:
    trace = with_output_bias(tmp_path)["main"]
    parts = trace["attn.result.0"] + trace["attn.result.1"] + trace["b_O"]
    np.testing.assert_allclose(parts, trace["attn_out"], rtol=0, atol=1e-15)


def with_output_bias(folder) -> dict[str, Trace]:
    data = shipped_data()
    data["weights"]["b_O"] = [0.5, -1, 0.25, 2]
    return load(data, folder).traces()


@pytest.mark.parametrize("h", [0, 1])
def test_a_head_off_takes_exactly_its_part_and_leaves_the_bias(h: int, tmp_path) -> None:
    traces = with_output_bias(tmp_path)
    main, off = traces["main"], traces[f"head_{h + 1}_off"]
    own_rows = main["W_O"][2 * h : 2 * h + 2]
    np.testing.assert_allclose(off["attn_out"], main["attn_out"] - main[f"attn.z.{h}"] @ own_rows, rtol=0, atol=1e-15)
    # Both heads off: the bias is all that attention still writes.
    both = oracle.toy_run(shipped_data() | {"runs": {"none": {"patch": {"attn.z.0": 0, "attn.z.1": 0}}}}, "none")
    assert all(entry == 0 for row in both["attn_out"] for entry in row)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([name for name in NAMES if name.split(".")[0] not in ("ids", "targets", "size", "head")]))
def test_a_patch_changes_nothing_that_was_made_before_it(name: str) -> None:
    main, changed = shipped_traces()["main"], patched({name: 0.375})
    assert (changed[name] == 0.375).all()
    for before in NAMES[: NAMES.index(name)]:
        assert changed[before].tolist() == main[before].tolist()


def test_a_patch_of_an_unknown_or_later_value_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="attention_out"):
        patched({"attention_out": 0})
    with pytest.raises(KeyError, match="logits"):
        patched({"resid_pre": "logits"})


def test_a_patch_of_another_shape_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"W_E of the shape \(12, 4\) in place of \(4, 12\)"):
        patched({"W_U": "W_E"})


def test_a_patched_value_is_a_copy() -> None:
    trace = patched({"attn.k.0": "attn.q.0"})
    assert not np.shares_memory(trace["attn.k.0"], trace["attn.q.0"])
