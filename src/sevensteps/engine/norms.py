"""Normalizations as steps: LayerNorm as in GPT-2, RMSNorm as in Llama."""

from collections.abc import Collection

from sevensteps.engine.steps import Step

_ROW = ("position", "dimension")
_EACH = ("position",)


def norm_steps(kind: str, name: str, x: str, weights: Collection[str], mark: str, out: str, page: int) -> list[Step]:
    """Steps of one norm of x, (T, d) -> (T, d); `kind` is layer_norm or rms_norm.

    `mark` tells the symbols of a model's norms apart, `out` is the symbol of the result. Gain and bias
    (`NAME.w`, `NAME.b`) are there where the weights have them.
    """
    if kind == "layer_norm":
        steps = _centring(name, x, mark, page)
        x, spread, root = f"{name}.centred", "variance", "standard deviation"
        unit = "row with mean 0 and deviation 1"
    else:
        steps, spread, root = [], "mean of the squares", "root of the mean square"
        unit = "row with mean square 1"
    steps += [
        Step(f"{name}.variance", "row_mean_square", (x,), "var" + mark, spread, page, _EACH),
        Step(f"{name}.scale", "root_with_epsilon", (f"{name}.variance", "layer_norm_eps"), "σ" + mark, root, page,
             _EACH),
    ]  # fmt: skip
    chain = [("unit", "divide", (x, f"{name}.scale"), "unit" + mark, unit)]
    if f"{name}.w" in weights:
        chain.append(("gained", "multiply", (f"{name}.unit", f"{name}.w"), "gained" + mark, "row times the gain"))
    if f"{name}.b" in weights:
        chain.append(("shifted", "add", (f"{name}.{chain[-1][0]}", f"{name}.b"), "shifted" + mark, "row plus the bias"))
    # The last of the chain is what the next step reads, whatever parts the norm has.
    *inner, (_, op, inputs, _, _) = chain
    steps += [
        Step(f"{name}.{part}", op, inputs, symbol, title, page, _ROW) for part, op, inputs, symbol, title in inner
    ]
    return [*steps, Step(f"{name}.normalized", op, inputs, out, "normalized row", page, _ROW)]


def _centring(name: str, x: str, mark: str, page: int) -> list[Step]:
    return [
        Step(f"{name}.mean", "row_mean", (x,), "μ" + mark, "mean of the row", page, _EACH),
        Step(f"{name}.centred", "subtract", (x, f"{name}.mean"), "c" + mark, "row minus its mean", page, _ROW),
    ]
