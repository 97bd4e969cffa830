"""The forward pass as a list of steps: embeddings, any number of pre-norm blocks, the read-out.

Names are TransformerLens's where they exist. With more than one block each block's names start with
`blocks.N.`; a single block has no prefix. Which optional parts a model has (gain and bias of a norm,
projection biases, position rows or rotary positions, a gate in the MLP, an own W_U) follows from its weights.
"""

import re
from collections.abc import Collection

from sevensteps.engine.block import Design, attention_steps, block_prefixes, head_page, mlp_steps
from sevensteps.engine.norms import norm_steps
from sevensteps.engine.steps import Step

#: What the toy file gives: name -> (symbol, title, page, axes). `{h}` is the head's number from 1.
GIVEN = {
    "W_E": ("E", "token embeddings", 2, ("token", "dimension")),
    "W_pos": ("P", "position embeddings", 2, ("place", "dimension")),
    "ln1.w": ("gain1", "gain of the first LayerNorm", 3, ("dimension",)),
    "ln1.b": ("shift1", "bias of the first LayerNorm", 3, ("dimension",)),
    "W_Q": ("WQ{h}", "query weights of head {h}", 3, ("dimension", "entry")),
    "W_K": ("WK{h}", "key weights of head {h}", 3, ("dimension", "entry")),
    "W_V": ("WV{h}", "value weights of head {h}", 3, ("dimension", "entry")),
    "b_Q": ("bQ{h}", "query bias of head {h}", 3, ("entry",)),
    "b_K": ("bK{h}", "key bias of head {h}", 3, ("entry",)),
    "b_V": ("bV{h}", "value bias of head {h}", 3, ("entry",)),
    "W_O": ("WO", "output weights of attention", 4, ("joined", "dimension")),
    "b_O": ("bO", "output bias of attention", 4, ("dimension",)),
    "ln2.w": ("gain2", "gain of the second LayerNorm", 5, ("dimension",)),
    "ln2.b": ("shift2", "bias of the second LayerNorm", 5, ("dimension",)),
    "W_in": ("W1", "weights into the hidden units", 5, ("dimension", "unit")),
    "b_in": ("b1", "bias of the hidden units", 5, ("unit",)),
    "W_out": ("W2", "weights out of the hidden units", 5, ("unit", "dimension")),
    "b_out": ("b2", "bias of the MLP's output", 5, ("dimension",)),
    "ln_final.w": ("gain", "gain of the final LayerNorm", 6, ("dimension",)),
    "ln_final.b": ("shift", "bias of the final LayerNorm", 6, ("dimension",)),
    "W_U": ("WU", "unembedding", 6, ("dimension", "token")),
}  # fmt: skip
#: What no toy has, only real models.
REAL_GIVEN = {"W_gate": ("Wgate", "weights into the gate", 5, ("dimension", "unit"))}
PER_HEAD = ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V")
OF_BLOCK = ("ln1.w", "ln1.b", *PER_HEAD, "W_O", "b_O", "ln2.w", "ln2.b", "W_in", "b_in", "W_out", "b_out")
#: Numbers of the run itself and of the toy's shape.
SIZES = {
    "ids": ("id", "token ids", 1, ("position",)),
    "targets": ("target", "ids of the tokens that follow", 6, ("position",)),
    "layer_norm_eps": ("ε", "epsilon of LayerNorm", 3, ()),
    "size.tokens": ("T", "positions in the text", 1, ()),
    "size.vocabulary": ("V", "tokens in the vocabulary", 1, ()),
    "size.positions": ("positions", "positions there are rows for", 2, ()),
    "size.d_model": ("d", "width of the stream", 2, ()),
    "size.heads": ("heads", "heads", 3, ()),
    "size.d_head": ("d_head", "width of a head", 3, ()),
    "size.d_mlp": ("d_mlp", "hidden units", 5, ()),
}


def forward_steps(
    weights: Collection[str], heads: int, layers: int = 1, activation: str = "relu", norm: str = "layer_norm"
) -> list[Step]:
    """All steps from ids to the mean loss. `weights` names each matrix that the model has (`W_Q.0`, `blocks.1.b_in`).

    `activation` is an op: relu, gelu_tanh, gelu_erf, silu; `norm` is layer_norm or rms_norm. Without W_U the read-out
    is tied: W_U is W_E transposed.
    """
    design = Design(weights, heads, activation, norm)
    steps = [Step(name, "given", (), *about) for name, about in SIZES.items()]
    steps += [Step(f"head.{h}", "given", (), f"head{h + 1}", "number of the head, from 0", 4) for h in range(heads)]
    steps += [given_step(name) for name in weights]
    prefixes = block_prefixes(layers)
    stream = prefixes[0] + "resid_pre"
    steps += _rotary_embedding(stream) if design.rotary else _embedding(stream)
    for prefix in prefixes:
        steps += attention_steps(design, prefix, stream)
        steps += mlp_steps(design, prefix)
        stream = prefix + "resid_post"
    return steps + readout_steps(stream, weights, norm)


def given_step(name: str) -> Step:
    """The step of one weight, its symbol and title taken from GIVEN and REAL_GIVEN. KeyError for another name."""
    parts = _WEIGHT_NAME.fullmatch(name)
    assert parts is not None  # the pattern takes every text
    symbol, title, page, axes = (GIVEN | REAL_GIVEN)[parts["base"]]
    head = int(parts["head"] or 0)
    if parts["base"] in PER_HEAD:
        page = head_page(head)
    return Step(name, "given", (), symbol.format(h=head + 1), title.format(h=head + 1), page, axes)


_WEIGHT_NAME = re.compile(r"(?:blocks\.\d+\.)?(?P<base>.+?)(?:\.(?P<head>\d+))?")
_ROW = ("position", "dimension")
_TOKEN = ("position", "token")
_EACH = ("position",)


def _embedding(stream: str) -> list[Step]:
    return [
        Step("embed", "rows", ("W_E", "ids"), "E_id", "token row", 2, _ROW),
        Step("pos_embed", "first_rows", ("W_pos", "ids"), "P_position", "position row", 2, _ROW),
        Step(stream, "add", ("embed", "pos_embed"), "x", "the stream before the block", 2, _ROW),
    ]


def _rotary_embedding(stream: str) -> list[Step]:
    """No position rows are added: `rotate` turns queries and keys by angles that grow with the position."""
    return [
        Step("rope.cos", "given", (), "cos", "cosines of the angles", 3, ("position", "entry")),
        Step("rope.sin", "given", (), "sin", "sines of the angles", 3, ("position", "entry")),
        Step(stream, "rows", ("W_E", "ids"), "x", "the stream before the block", 2, _ROW),
    ]


def readout_steps(stream: str, weights: Collection[str], norm: str = "layer_norm") -> list[Step]:
    """Final norm, logits, softmax and loss of a stream (T, d). The toy and real models are read by these same steps."""
    unembedding = [] if "W_U" in weights else [
        Step("W_U", "transpose", ("W_E",), "WU", "unembedding, tied to E", 6, ("dimension", "token"))
    ]  # fmt: skip
    return [
        *unembedding,
        *norm_steps(norm, "ln_final", stream, weights, "", "f", 6),
        Step("logits", "linear", ("ln_final.normalized", "W_U"), "z", "logit", 6, _TOKEN),
        Step("logits.exp", "exp", ("logits",), "e^z", "e to the logit", 6, _TOKEN),
        Step("logits.exp_sum", "row_sum", ("logits.exp",), "Z", "sum of e to the logit", 6, _EACH),
        Step("probs", "softmax", ("logits",), "p", "probability", 6, _TOKEN, ("logits.exp", "logits.exp_sum")),
        Step("probs.target", "pick", ("probs", "targets"), "pt", "probability of the token that follows", 6, _EACH),
        Step("loss", "neg_log", ("probs.target",), "loss", "cross-entropy", 6, _EACH),
        Step("loss.mean", "row_mean", ("loss",), "L", "mean cross-entropy", 6),
        Step("loss.uniform", "log", ("size.vocabulary",), "ln V", "loss of a uniform guess", 6),
    ]
