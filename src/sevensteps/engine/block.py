"""One pre-norm block as steps: attention and MLP, as in GPT-2 or, where the weights say so, as in Llama.

Rotary positions replace a table of position rows, several query heads may share a key/value head,
and an MLP with a gate (`W_gate`) multiplies what the gate lets through.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sevensteps.engine.norms import norm_steps
from sevensteps.engine.steps import Step

_ROW = ("position", "dimension")
_HEAD = ("position", "entry")
_PAIR = ("position", "seen")
_UNIT = ("position", "unit")
_EACH = ("position",)


@dataclass(frozen=True)
class Design:
    """What a model is made of: its weights' names, and what these do not tell.

    `activation` is an op (relu, gelu_tanh, gelu_erf, silu), `norm` is layer_norm or rms_norm.
    """

    weights: Collection[str]
    heads: int
    activation: str = "relu"
    norm: str = "layer_norm"

    def optional(self, name: str) -> tuple[str, ...]:
        """The weight's name where the model has it."""
        return (name,) if name in self.weights else ()

    @property
    def rotary(self) -> bool:
        """Whether queries and keys are turned by their position, instead of rows being added to the embeddings."""
        return "W_pos" not in self.weights

    def key_heads(self, prefix: str) -> int:
        """How many key/value heads a block has; each serves an equal share of the query heads."""
        return sum(name.startswith(prefix + "W_K.") for name in self.weights)


def block_prefixes(layers: int) -> list[str]:
    """What the names of each block begin with: `blocks.N.`, and nothing for a single block."""
    return [f"blocks.{n}." for n in range(layers)] if layers > 1 else [""]


def attention_steps(design: Design, prefix: str, stream: str) -> list[Step]:
    """From the stream (T, d) to the stream after attention, (T, d)."""
    a = prefix + "attn."
    heads = range(design.heads)
    steps = norm_steps(design.norm, prefix + "ln1", stream, design.weights, "1", "n1", 3)
    steps.append(Step(a + "root_d_head", "square_root", ("size.d_head",), "√d_head", "root of the head's width", 3))
    for h in heads:
        steps += _head(design, prefix, h)
    joined = ("position", "joined")
    steps.append(Step(a + "concat", "concat", tuple(f"{a}z.{h}" for h in heads), "o", "heads joined", 4, joined))
    steps += [
        Step(f"{a}result.{h}", "linear_part", (f"{a}z.{h}", prefix + "W_O", f"head.{h}"), f"r{h + 1}",
             f"what head {h + 1} writes", 4, _ROW)
        for h in heads
    ]  # fmt: skip
    out, mid = prefix + "attn_out", prefix + "resid_mid"
    inputs = (a + "concat", prefix + "W_O", *design.optional(prefix + "b_O"))
    return [
        *steps,
        Step(out, "linear", inputs, "attn", "attention's output", 4, _ROW),
        Step(mid, "add", (stream, out), "h", "the stream after attention", 4, _ROW),
    ]


def head_page(head: int) -> int:
    """The page that works a head (from 0): the third has the first one, the fourth the others."""
    return 3 if head == 0 else 4


def _head(design: Design, prefix: str, h: int) -> list[Step]:
    def name(part: str, head: int = h) -> str:
        return f"{prefix}attn.{part}.{head}"

    n, page = h + 1, head_page(h)
    key_heads = design.key_heads(prefix)
    group = h * key_heads // design.heads
    is_first = h * key_heads % design.heads < key_heads
    steps = []
    for part, title in (("q", "query"), ("k", "key"), ("v", "value")) if is_first else (("q", "query"),):
        head = h if part == "q" else group
        weight, bias = (f"{prefix}{kind}_{part.upper()}.{head}" for kind in "Wb")
        inputs = (prefix + "ln1.normalized", weight, *design.optional(bias))
        symbol, title = f"{part}{head + 1}", f"{title} of head {head + 1}"
        steps.append(Step(name(part, head), "linear", inputs, symbol, title, head_page(head), _HEAD))
        if design.rotary and part != "v":
            turn = (name(part, head), "rope.cos", "rope.sin")
            steps.append(
                Step(
                    name(f"rot_{part}", head), "rotate", turn, "r" + symbol, title + ", turned", head_page(head), _HEAD
                )
            )
    turned = "rot_" if design.rotary else ""
    softmax_parts = (name("exp"), name("exp_sum"))
    pair = (name(turned + "q"), name(turned + "k", group))
    return [
        *steps,
        Step(name("dots"), "scores", pair, f"qk{n}", f"query times key, head {n}", page, _PAIR),
        Step(name("scaled"), "divide", (name("dots"), prefix + "attn.root_d_head"), f"s{n}", f"score of head {n}", page,
             _PAIR),
        Step(name("scores"), "causal_mask", (name("scaled"),), f"m{n}", f"masked score of head {n}", 4, _PAIR),
        Step(softmax_parts[0], "exp", (name("scores"),), f"e^s{n}", f"e to the score, head {n}", page, _PAIR),
        Step(softmax_parts[1], "row_sum", softmax_parts[:1], f"S{n}", f"sum of e to the score, head {n}", page, _EACH),
        Step(name("pattern"), "softmax", (name("scores"),), f"A{n}", f"attention weight of head {n}", page, _PAIR,
             softmax_parts),
        Step(name("z"), "linear", (name("pattern"), name("v", group)), f"o{n}", f"output of head {n}", page, _HEAD),
    ]  # fmt: skip


def mlp_steps(design: Design, prefix: str) -> list[Step]:
    """From the stream after attention (T, d) to the block's output, (T, d)."""
    stream, out = prefix + "resid_mid", prefix + "mlp_out"
    read = prefix + "ln2.normalized"
    into = (read, prefix + "W_in", *design.optional(prefix + "b_in"))
    post = prefix + "mlp.post"
    back = (post, prefix + "W_out", *design.optional(prefix + "b_out"))
    unit = ("u", "hidden unit", 5, _UNIT)
    if gate := design.optional(prefix + "W_gate"):
        fired = [
            Step(prefix + "mlp.gate_pre", "linear", (read, *gate), "a", "gate before the activation", 5, _UNIT),
            Step(prefix + "mlp.gate", design.activation, (prefix + "mlp.gate_pre",), "gate", "gate", 5, _UNIT),
            Step(post, "multiply", (prefix + "mlp.pre", prefix + "mlp.gate"), *unit),
        ]
    else:
        fired = [Step(post, design.activation, (prefix + "mlp.pre",), *unit)]
    return [
        *norm_steps(design.norm, prefix + "ln2", stream, design.weights, "2", "n2", 5),
        Step(prefix + "mlp.pre", "linear", into, "g", "hidden unit before the activation", 5, _UNIT),
        *fired,
        Step(out, "linear", back, "mlp", "the MLP's output", 5, _ROW),
        Step(prefix + "resid_post", "add", (stream, out), "y", "the stream after the block", 5, _ROW),
    ]
