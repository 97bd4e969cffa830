"""The forward pass of GPT-2 as a list of steps: embeddings, any number of pre-norm blocks, the read-out.

Names are TransformerLens's where they exist. With more than one block each block's names start with
`blocks.N.`; a single block has no prefix. Which optional parts a model has (LayerNorm gain and bias,
projection biases, an own W_U) follows from the weights that are there.
"""

import re
from collections.abc import Collection

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


def forward_steps(weights: Collection[str], heads: int, layers: int = 1, activation: str = "relu") -> list[Step]:
    """All steps from ids to the mean loss. `weights` names each matrix that the model has (`W_Q.0`, `blocks.1.b_in`).

    `activation` is an op: relu, gelu_tanh or gelu_erf. Without W_U the read-out is tied: W_U is W_E transposed.
    """
    steps = [Step(name, "given", (), *about) for name, about in SIZES.items()]
    steps += [Step(f"head.{h}", "given", (), f"head{h + 1}", "number of the head, from 0", 4) for h in range(heads)]
    steps += [given_step(name) for name in weights]
    prefixes = [f"blocks.{n}." for n in range(layers)] if layers > 1 else [""]
    stream = prefixes[0] + "resid_pre"
    steps += _embedding(stream)
    for prefix in prefixes:
        steps += _attention(prefix, stream, weights, heads)
        steps += _mlp(prefix, weights, activation)
        stream = prefix + "resid_post"
    return steps + _readout(stream, weights)


def given_step(name: str) -> Step:
    """The step of one weight, its symbol and title taken from GIVEN. KeyError for a name that is not in GIVEN."""
    parts = _WEIGHT_NAME.fullmatch(name)
    assert parts is not None  # the pattern takes every text
    symbol, title, page, axes = GIVEN[parts["base"]]
    head = int(parts["head"] or 0) + 1
    return Step(name, "given", (), symbol.format(h=head), title.format(h=head), page, axes)


_WEIGHT_NAME = re.compile(r"(?:blocks\.\d+\.)?(?P<base>.+?)(?:\.(?P<head>\d+))?")
_ROW = ("position", "dimension")
_HEAD = ("position", "entry")
_PAIR = ("position", "seen")
_TOKEN = ("position", "token")
_UNIT = ("position", "unit")
_EACH = ("position",)


def _embedding(stream: str) -> list[Step]:
    return [
        Step("embed", "rows", ("W_E", "ids"), "E_id", "token row", 2, _ROW),
        Step("pos_embed", "first_rows", ("W_pos", "ids"), "P_position", "position row", 2, _ROW),
        Step(stream, "add", ("embed", "pos_embed"), "x", "the stream before the block", 2, _ROW),
    ]


def _layer_norm(name: str, x: str, weights: Collection[str], mark: str, out: str, page: int) -> list[Step]:
    """Steps of one LayerNorm; `mark` tells the symbols of the three apart, `out` is the symbol of its result."""
    gain, bias = ((f"{name}.{part}" in weights) for part in "wb")
    steps = [
        Step(f"{name}.mean", "row_mean", (x,), "μ" + mark, "mean of the row", page, _EACH),
        Step(f"{name}.centred", "subtract", (x, f"{name}.mean"), "c" + mark, "row minus its mean", page, _ROW),
        Step(f"{name}.variance", "row_mean_square", (f"{name}.centred",), "var" + mark, "variance", page, _EACH),
        Step(f"{name}.scale", "root_with_epsilon", (f"{name}.variance", "layer_norm_eps"), "σ" + mark,
             "standard deviation", page, _EACH),
    ]  # fmt: skip
    chain = [("unit", "divide", (f"{name}.centred", f"{name}.scale"), "unit" + mark, "row with mean 0 and deviation 1")]
    if gain:
        chain.append(("gained", "multiply", (f"{name}.unit", f"{name}.w"), "gained" + mark, "row times the gain"))
    if bias:
        chain.append(("shifted", "add", (f"{name}.{chain[-1][0]}", f"{name}.b"), "shifted" + mark, "row plus the bias"))
    # The last of the chain is what the next step reads, whatever parts the LayerNorm has.
    *inner, (_, op, inputs, _, _) = chain
    steps += [
        Step(f"{name}.{part}", op, inputs, symbol, title, page, _ROW) for part, op, inputs, symbol, title in inner
    ]
    return [*steps, Step(f"{name}.normalized", op, inputs, out, "normalized row", page, _ROW)]


def _attention(prefix: str, stream: str, weights: Collection[str], heads: int) -> list[Step]:
    a = prefix + "attn."
    steps = _layer_norm(prefix + "ln1", stream, weights, "1", "n1", 3)
    steps.append(Step(a + "root_d_head", "square_root", ("size.d_head",), "√d_head", "root of the head's width", 3))
    for h in range(heads):
        steps += _head(prefix, h, weights)
    joined = ("position", "joined")
    steps.append(Step(a + "concat", "concat", tuple(f"{a}z.{h}" for h in range(heads)), "o", "heads joined", 4, joined))
    steps += [
        Step(f"{a}result.{h}", "linear_part", (f"{a}z.{h}", prefix + "W_O", f"head.{h}"), f"r{h + 1}",
             f"what head {h + 1} writes", 4, _ROW)
        for h in range(heads)
    ]  # fmt: skip
    bias = _if_there(prefix + "b_O", weights)
    out, mid = prefix + "attn_out", prefix + "resid_mid"
    return [
        *steps,
        Step(out, "linear", (a + "concat", prefix + "W_O", *bias), "attn", "attention's output", 4, _ROW),
        Step(mid, "add", (stream, out), "h", "the stream after attention", 4, _ROW),
    ]


def _head(prefix: str, h: int, weights: Collection[str]) -> list[Step]:
    def name(part: str) -> str:
        return f"{prefix}attn.{part}.{h}"

    n = h + 1
    steps = []
    for part, title in (("q", "query"), ("k", "key"), ("v", "value")):
        weight, bias = (f"{prefix}{kind}_{part.upper()}.{h}" for kind in "Wb")
        inputs = (prefix + "ln1.normalized", weight, *_if_there(bias, weights))
        steps.append(Step(name(part), "linear", inputs, f"{part}{n}", f"{title} of head {n}", 3, _HEAD))
    softmax_parts = (name("exp"), name("exp_sum"))
    return [
        *steps,
        Step(name("dots"), "scores", (name("q"), name("k")), f"qk{n}", f"query times key, head {n}", 3, _PAIR),
        Step(name("scaled"), "divide", (name("dots"), prefix + "attn.root_d_head"), f"s{n}", f"score of head {n}", 3,
             _PAIR),
        Step(name("scores"), "causal_mask", (name("scaled"),), f"m{n}", f"masked score of head {n}", 4, _PAIR),
        Step(softmax_parts[0], "exp", (name("scores"),), f"e^s{n}", f"e to the score, head {n}", 3, _PAIR),
        Step(softmax_parts[1], "row_sum", softmax_parts[:1], f"S{n}", f"sum of e to the score, head {n}", 3, _EACH),
        Step(name("pattern"), "softmax", (name("scores"),), f"A{n}", f"attention weight of head {n}", 3, _PAIR,
             softmax_parts),
        Step(name("z"), "linear", (name("pattern"), name("v")), f"o{n}", f"output of head {n}", 3, _HEAD),
    ]  # fmt: skip


def _mlp(prefix: str, weights: Collection[str], activation: str) -> list[Step]:
    stream, out = prefix + "resid_mid", prefix + "mlp_out"
    into = (prefix + "ln2.normalized", prefix + "W_in", *_if_there(prefix + "b_in", weights))
    back = (prefix + "mlp.post", prefix + "W_out", *_if_there(prefix + "b_out", weights))
    return [
        *_layer_norm(prefix + "ln2", stream, weights, "2", "n2", 5),
        Step(prefix + "mlp.pre", "linear", into, "g", "hidden unit before the activation", 5, _UNIT),
        Step(prefix + "mlp.post", activation, (prefix + "mlp.pre",), "u", "hidden unit", 5, _UNIT),
        Step(out, "linear", back, "mlp", "the MLP's output", 5, _ROW),
        Step(prefix + "resid_post", "add", (stream, out), "y", "the stream after the block", 5, _ROW),
    ]


def _readout(stream: str, weights: Collection[str]) -> list[Step]:
    """Final LayerNorm, logits, softmax and loss. The toy and real models are read by these same steps."""
    unembedding = [] if "W_U" in weights else [
        Step("W_U", "transpose", ("W_E",), "WU", "unembedding, tied to E", 6, ("dimension", "token"))
    ]  # fmt: skip
    return [
        *unembedding,
        *_layer_norm("ln_final", stream, weights, "", "f", 6),
        Step("logits", "linear", ("ln_final.normalized", "W_U"), "z", "logit", 6, _TOKEN),
        Step("logits.exp", "exp", ("logits",), "e^z", "e to the logit", 6, _TOKEN),
        Step("logits.exp_sum", "row_sum", ("logits.exp",), "Z", "sum of e to the logit", 6, _EACH),
        Step("probs", "softmax", ("logits",), "p", "probability", 6, _TOKEN, ("logits.exp", "logits.exp_sum")),
        Step("probs.target", "pick", ("probs", "targets"), "pt", "probability of the token that follows", 6, _EACH),
        Step("loss", "neg_log", ("probs.target",), "loss", "cross-entropy", 6, _EACH),
        Step("loss.mean", "row_mean", ("loss",), "L", "mean cross-entropy", 6),
        Step("loss.uniform", "log", ("size.vocabulary",), "ln V", "loss of a uniform guess", 6),
    ]


def _if_there(name: str, weights: Collection[str]) -> tuple[str, ...]:
    return (name,) if name in weights else ()
