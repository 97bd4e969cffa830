"""A real model as steps and weights. Its loaders (llama.py, gpt2.py) make one of a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tokenizers import Tokenizer

from sevensteps.engine.block import block_prefixes
from sevensteps.engine.forward import forward_steps, readout_steps
from sevensteps.engine.ops import Array
from sevensteps.engine.steps import Patch, Step, Trace, run

#: Tokens of a prompt, at most. A trace keeps every value: at this length SmolLM2's takes 0.6 GB beside the weights.
LONGEST = 128


@dataclass(frozen=True)
class Model:
    """Weights by the names that the steps read (`blocks.3.W_Q.1`), all float32, input × output.

    `start` is the id that is put in front of every prompt. `rope_base` counts only for rotary positions.
    """

    name: str
    checksum: str
    weights: Mapping[str, Array]
    tokenizer: Tokenizer
    start: int
    layers: int
    heads: int
    d_head: int
    positions: int
    eps: float
    activation: str
    norm: str
    rope_base: float = 10_000.0

    @cached_property
    def steps(self) -> list[Step]:
        """The forward pass of this model."""
        return forward_steps(self.weights, self.heads, self.layers, self.activation, self.norm)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token as it is shown, by id."""
        texts = self.tokenizer.get_vocab()
        return tuple(shown for _, shown in sorted((id_, self._shown(text)) for text, id_ in texts.items()))

    def _shown(self, text: str) -> str:
        decoded = self.tokenizer.decoder.decode([text]) if self.tokenizer.decoder else text
        visible = decoded.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
        # A token that is part of a letter has no text of its own, and one that steers a terminal must not be printed.
        return text if "\ufffd" in visible or not visible.isprintable() else visible

    @property
    def parameters(self) -> int:
        """How many numbers the model has; a matrix that is used twice counts once."""
        return sum(weight.size for weight in self.weights.values())

    @property
    def longest(self) -> int:
        """How many tokens a prompt may have."""
        return min(self.positions, LONGEST)

    def encode(self, prompt: str) -> tuple[int, ...]:
        """The ids of a prompt, the start token in front. Raises ValueError where it is too long or not all in them."""
        ids = self.ids(prompt)
        if len(ids) > self.longest:
            raise ValueError(f"the prompt has {len(ids)} tokens with the start token; {self.longest} are the most")
        return ids

    def ids(self, text: str) -> tuple[int, ...]:
        """The ids of any text, the start token in front. Raises ValueError where they do not say all of it."""
        try:
            ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        except Exception as error:  # the library raises plain Exceptions
            raise ValueError(f"the text cannot be cut into tokens: {error}") from None
        # A byte that has no token is left out without a word.
        if (back := self.tokenizer.decode(ids, skip_special_tokens=False)) != text:
            raise ValueError(f"the model has no tokens for all of the text: they would say {back!r}")
        return (self.start, *ids)

    def given(self, ids: Sequence[int]) -> dict[str, Array]:
        """Everything that the given steps need: ids -> arrays. The last position has no target; it is given id 0."""
        d_model = self.weights["W_E"].shape[1]
        d_mlp = self.weights[block_prefixes(self.layers)[0] + "W_in"].shape[1]
        sizes = {
            "tokens": len(ids), "vocabulary": len(self.vocabulary), "positions": self.positions, "d_model": d_model,
            "heads": self.heads, "d_head": self.d_head, "d_mlp": d_mlp,
        }  # fmt: skip
        cos, sin = rope(len(ids), self.d_head, self.rope_base)
        return {
            "ids": np.array(ids, dtype=np.float32),
            "targets": np.array([*ids[1:], 0], dtype=np.float32),
            "layer_norm_eps": np.array(self.eps, dtype=np.float32),
            "rope.cos": cos,
            "rope.sin": sin,
            **{f"size.{name}": np.array(size, dtype=np.float32) for name, size in sizes.items()},
            **{f"head.{h}": np.array(h, dtype=np.float32) for h in range(self.heads)},
            **self.weights,
        }

    def trace(self, ids: Sequence[int], patch: Patch | None = None) -> Trace:
        """Run the forward pass, (T,) ids. Raises as `steps.run` does when the patch does not fit."""
        tokens = tuple(self.vocabulary[n] for n in ids)
        return run(self.steps, self.given(ids), patch, tokens=tokens, vocabulary=self.vocabulary)

    def read(self, rows: Array, targets: Array) -> Trace:
        """Any rows of a stream, (n, d), read as the last one is: final norm, logits, softmax, loss for (n,) targets."""
        read_with = ("W_E", "W_U", "ln_final.w", "ln_final.b")
        given = {
            "rows": rows,
            "targets": targets,
            "layer_norm_eps": np.array(self.eps, dtype=np.float32),
            "size.vocabulary": np.array(len(self.vocabulary), dtype=np.float32),
            **{name: self.weights[name] for name in read_with if name in self.weights},
        }
        steps = [Step(name, "given") for name in given]
        return run([*steps, *readout_steps("rows", self.weights, self.norm)], given, vocabulary=self.vocabulary)


def rope(count: int, d_head: int, base: float) -> tuple[Array, Array]:
    """Cosines and sines of the angles of rotary positions, (count, d_head / 2) each.

    Pair i turns by base^(-2i / d_head) a position (Su et al. 2021, arXiv 2104.09864, equation 15).
    """
    speeds = base ** (-np.arange(0, d_head, 2) / d_head)  # (d_head / 2,)
    angles = np.arange(count)[:, None] * speeds  # (count, d_head / 2)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
