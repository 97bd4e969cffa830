"""An independent reference: GPT-2's forward pass in mpmath at 50 digits and plain loops.

It imports nothing of the project. Weights are plain lists under the names of a toy file (`W_Q` is a list with one
matrix a head; several blocks put `blocks.N.` in front), and every value of the step list comes back by name.
"""

import re

from mpmath import mp, mpf

mp.dps = 50
Nested = mpf | list


def forward(
    weights: dict[str, list],
    ids: list[int],
    targets: list[int],
    heads: int,
    eps: float,
    activation: str,
    patch: dict[str, float | str] | None = None,
    layers: int = 1,
) -> dict[str, Nested]:
    """Every value of one run. ZeroDivisionError when a row has no spread and epsilon is 0."""
    values = Values(patch or {})
    for name, weight in weights.items():
        one_a_head = re.search(r"[Wb]_[QKV]$", name)
        values |= {f"{name}.{h}": exact(weight[h]) for h in range(heads)} if one_a_head else {name: exact(weight)}
    for name in list(values):  # a weight may stand in for another, whatever their order
        values.put(name, values[name])
    first = "blocks.0." if layers > 1 else ""
    sizes = {
        "tokens": len(ids), "vocabulary": len(weights["W_E"]), "positions": len(weights["W_pos"]),
        "d_model": len(weights["W_E"][0]), "heads": heads, "d_head": len(weights[first + "W_Q"][0][0]),
        "d_mlp": len(weights[first + "W_in"][0]),
    }  # fmt: skip
    for name, size in sizes.items():
        values.put(f"size.{name}", mpf(size))
    for h in range(heads):
        values.put(f"head.{h}", mpf(h))
    values.put("layer_norm_eps", mpf(eps))
    values.put("ids", exact(ids))
    values.put("targets", exact(targets))
    embedded = values.put("embed", [list(values["W_E"][n]) for n in ids])
    placed = values.put("pos_embed", [list(values["W_pos"][t]) for t in range(len(ids))])
    stream = values.put(first + "resid_pre", plus(embedded, placed))
    for layer in range(layers):
        prefix = f"blocks.{layer}." if layers > 1 else ""
        stream = block(values, prefix, stream, heads, activation)
    read_out(values, stream, targets)
    return dict(values)


class Values(dict):
    """The values by name; `put` stores one, or what the patch has in its place, and returns what it stored."""

    def __init__(self, patch):
        super().__init__()
        self.patch = patch

    def put(self, name: str, value: Nested) -> Nested:
        new = self.patch.get(name)
        if isinstance(new, str):
            value = transposed(self[new[:-2]]) if new.endswith(".T") else self[new]
        elif new is not None:
            value = filled(value, mpf(new))
        self[name] = value
        return value


def block(values, prefix, stream, heads, activation):
    """x -> h = x + attention(norm(x)) -> y = h + mlp(norm(h))."""
    normed = layer_norm(values, prefix + "ln1", stream)
    root = values.put(prefix + "attn.root_d_head", mp.sqrt(values["size.d_head"]))
    outputs = [head(values, prefix, h, normed, root) for h in range(heads)]
    joined = [[entry for z in outputs for entry in z[t]] for t in range(len(stream))]
    joined = values.put(prefix + "attn.concat", joined)
    width = len(outputs[0][0])
    for h, z in enumerate(outputs):
        own_rows = [values[prefix + "W_O"][h * width + i] for i in range(width)]
        values.put(f"{prefix}attn.result.{h}", times(z, own_rows))
    attention = values.put(
        prefix + "attn_out", with_bias(times(joined, values[prefix + "W_O"]), values.get(prefix + "b_O"))
    )
    middle = values.put(prefix + "resid_mid", plus(stream, attention))
    normed = layer_norm(values, prefix + "ln2", middle)
    hidden = with_bias(times(normed, values[prefix + "W_in"]), values.get(prefix + "b_in"))
    hidden = values.put(prefix + "mlp.pre", hidden)
    active = values.put(prefix + "mlp.post", [[ACTIVATIONS[activation](x) for x in row] for row in hidden])
    mlp = with_bias(times(active, values[prefix + "W_out"]), values.get(prefix + "b_out"))
    return values.put(prefix + "resid_post", plus(middle, values.put(prefix + "mlp_out", mlp)))


def layer_norm(values, name, rows):
    """(x - mean) / sqrt(variance over d + epsilon), times the gain, plus the bias."""
    means = values.put(f"{name}.mean", [sum(row) / len(row) for row in rows])
    centred = [[x - mean for x in row] for row, mean in zip(rows, means, strict=True)]
    centred = values.put(f"{name}.centred", centred)
    variances = values.put(f"{name}.variance", [sum(c * c for c in row) / len(row) for row in centred])
    scales = values.put(f"{name}.scale", [mp.sqrt(v + values["layer_norm_eps"]) for v in variances])
    out = [[c / scale for c in row] for row, scale in zip(centred, scales, strict=True)]
    gain, bias = values.get(f"{name}.w"), values.get(f"{name}.b")
    if gain is not None or bias is not None:
        out = values.put(f"{name}.unit", out)
    if gain is not None:
        out = [[x * g for x, g in zip(row, gain, strict=True)] for row in out]
        if bias is not None:
            out = values.put(f"{name}.gained", out)
    return values.put(f"{name}.normalized", with_bias(out, bias))


def head(values, prefix, h, normed, root):
    def put(part, value):
        return values.put(f"{prefix}attn.{part}.{h}", value)

    q, k, v = (
        put(p, with_bias(times(normed, values[f"{prefix}W_{p.upper()}.{h}"]), values.get(f"{prefix}b_{p.upper()}.{h}")))
        for p in "qkv"
    )
    dots = put("dots", [[sum(a * b for a, b in zip(row, seen, strict=True)) for seen in k] for row in q])
    scaled = put("scaled", [[dot / root for dot in row] for row in dots])
    scores = [[s if j <= i else -mp.inf for j, s in enumerate(row)] for i, row in enumerate(scaled)]
    scores = put("scores", scores)
    powers = put("exp", [[mp.exp(s) for s in row] for row in scores])
    put("exp_sum", [sum(row) for row in powers])
    return put("z", times(put("pattern", [softmax(row) for row in scores]), v))


def read_out(values, stream, targets):
    """Final norm, W_U (or W_E transposed), softmax, cross-entropy."""
    if "W_U" not in values:
        values.put("W_U", transposed(values["W_E"]))
    logits = values.put("logits", times(layer_norm(values, "ln_final", stream), values["W_U"]))
    powers = values.put("logits.exp", [[mp.exp(z) for z in row] for row in logits])
    values.put("logits.exp_sum", [sum(row) for row in powers])
    probs = values.put("probs", [softmax(row) for row in logits])
    picked = values.put("probs.target", [row[n] for row, n in zip(probs, targets, strict=True)])
    losses = values.put("loss", [-mp.log(p) for p in picked])
    values.put("loss.mean", sum(losses) / len(losses))
    values.put("loss.uniform", mp.log(values["size.vocabulary"]))


def softmax(row):
    return [mp.exp(x) / sum(mp.exp(other) for other in row) for x in row]


def gelu_tanh(x):
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)))


def gelu_erf(x):
    return x * mp.ncdf(x)


ACTIVATIONS = {"relu": lambda x: max(x, mpf(0)), "gelu_tanh": gelu_tanh, "gelu_erf": gelu_erf}


def times(rows, matrix):
    return [[sum(row[i] * matrix[i][j] for i in range(len(row))) for j in range(len(matrix[0]))] for row in rows]


def with_bias(rows, bias):
    return rows if bias is None else [[x + b for x, b in zip(row, bias, strict=True)] for row in rows]


def plus(a, b):
    return [[x + y for x, y in zip(row, other, strict=True)] for row, other in zip(a, b, strict=True)]


def transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


def exact(value):
    return [exact(entry) for entry in value] if isinstance(value, list) else mpf(value)


def filled(value, number):
    return [filled(entry, number) for entry in value] if isinstance(value, list) else number


def cut(text: str, vocabulary: list[str]) -> list[int] | None:
    """Ids of the longest matches from left to right, by a regular expression; None where nothing fits."""
    longest_first = sorted(vocabulary, key=len, reverse=True)
    token = re.compile("|".join(map(re.escape, longest_first)))
    pieces, text = [], text.replace(" ", "␣")
    while text:
        match = token.match(text)
        if match is None:
            return None
        pieces.append(vocabulary.index(match[0]))
        text = text[match.end() :]
    return pieces


def toy_run(data: dict, run: str) -> dict[str, Nested]:
    """One run of a toy file, given as the dictionary that its TOML stands for."""
    own = {} if run == "main" else data["runs"][run]
    ids = cut(own.get("text", data["text"]), data["vocabulary"])
    following = data["vocabulary"].index(own.get("next", data["next"]).replace(" ", "␣"))
    return toy_forward(data, ids, [*ids[1:], following], own.get("patch"))


def toy_forward(data: dict, ids, targets, patch=None) -> dict[str, Nested]:
    """The forward pass of a toy file's weights over any ids."""
    weights = {}
    for name, entry in data["weights"].items():
        weights |= {f"{name}.{part}": e for part, e in entry.items()} if isinstance(entry, dict) else {name: entry}
    heads = len(weights["W_Q"])
    return forward(weights, ids, targets, heads, data["layer_norm_eps"], data["activation"], patch)
