"""The glossary's table of names."""

import re
from xml.etree.ElementTree import Element

from pages import STEPS, name_of, printed, table_of
from test_engine_steps import NAMES
from toys import shipped

#: Values on the way, which no library names or keeps: the glossary leaves them out and says so.
ON_THE_WAY = {
    *(f"{norm}.{part}" for norm in ("ln1", "ln2", "ln_final") for part in ("mean", "centred", "variance")),
    *(f"attn.{part}" for part in ("root_d_head", "dots", "scaled", "exp", "exp_sum", "concat")),
    *("logits.exp", "logits.exp_sum", "probs.target", "loss.uniform", "layer_norm_eps"),
}  # fmt: skip
#: The parameters of a GPT2LMHeadModel of one block that the toy has, as its state_dict() lists them, and its outputs.
HUGGING_FACE = {
    "transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.attn.c_attn.weight",
    "transformer.h.0.attn.c_proj.weight", "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.bias",
    "transformer.h.0.mlp.c_proj.weight", "transformer.h.0.mlp.c_proj.bias", "lm_head.weight",
    "input_ids", "labels", "logits", "loss", "hidden_states[0]", "attentions[0]",
}  # fmt: skip


def names_table(pages: dict[str, Element]) -> list[dict[str, str]]:
    header, *rows = table_of(pages["glossary"], "names-table")
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_the_glossary_names_every_value_that_a_step_uses(pages: dict[str, Element]) -> None:
    used = {name_of(ref) for step in STEPS for ref in printed(pages[step])} & set(map(name_of, NAMES))
    listed = {name_of(name) for row in names_table(pages) for name in row["our name"].split(", ")}
    sizes = {name for name in used if name.startswith("size.")}
    assert used - listed <= ON_THE_WAY | sizes
    section = {ref for ref in printed(pages["glossary"]) if ref.startswith("size.")}
    assert sizes <= section


def test_the_names_of_transformer_lens_are_ours_with_its_path(pages: dict[str, Element]) -> None:
    theirs = {row["our name"].partition(",")[0]: row["TransformerLens"] for row in names_table(pages)}
    named = {name_of(ours): name for ours, name in theirs.items() if name != "none"}
    other = {"ids": "tokens", "loss.mean": "loss", "attn.scores": "blocks.0.attn.hook_attn_scores"}
    for ours, name in named.items():
        short = re.sub(r"^(?:blocks\.0\.)?(?:\w+\.(?=[Wb]_))?|hook_", "", name)
        assert short == ours or other[ours] == name
    assert len(named) > 30


def test_the_names_of_gpt_2_are_its_parameters_outputs_and_modules(pages: dict[str, Element]) -> None:
    theirs = {row["Hugging Face GPT-2"] for row in names_table(pages)} - {"none"}
    assert theirs >= HUGGING_FACE
    modules = {name.rpartition(".")[0] for name in HUGGING_FACE} | {
        "transformer.h.0", "transformer.h.0.ln_1", "transformer.h.0.ln_2", "transformer.h.0.attn",
        "transformer.h.0.mlp", "transformer.h.0.mlp.act", "transformer.ln_f",
    }  # fmt: skip
    assert theirs <= HUGGING_FACE | modules


def test_the_glossary_says_in_which_step_a_value_is_made_for_each_head(pages: dict[str, Element]) -> None:
    steps = {step.name: step.page for step in shipped().steps()}
    for row in names_table(pages):
        made = sorted({steps[name] for name in row["our name"].split(", ")})
        assert row["made in step"] == ", ".join(map(str, made))
