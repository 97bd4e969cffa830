"""Byte-level BPE, the tokenizer of GPT-2 and SmolLM2, made of a vocabulary and merges."""

from collections.abc import Iterable, Mapping

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from sevensteps.engine.faults import Fault, InputError

#: What a GPT-2 and SmolLM2 put between texts. It stands in front of every prompt.
START = "<|endoftext|>"


def byte_level_bpe(
    file: str, vocabulary: Mapping[str, int], merges: Iterable[str], special: Iterable[str], digits: bool = False
) -> Tokenizer:
    """The tokenizer of a file; `digits` splits a number into its digits before anything else.

    Each merge is two tokens with a blank between them, which make a third. Raises InputError that names the file
    where one is not, or where the ids have a gap or START has none.
    """
    if START not in vocabulary or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        found = f"{len(vocabulary)} tokens" + ("" if START in vocabulary else f" without {START}")
        raise InputError([Fault(file, "vocabulary", found, f"ids from 0 on without a gap, {START} among them")])
    pairs = []
    for merge in merges:
        left, _, right = merge.partition(" ")
        if not (left and right and {left, right, left + right} <= vocabulary.keys()):
            raise InputError([Fault(file, "merges", repr(merge)[:60], "two tokens that make a token")])
        pairs.append((left, right))
    tokenizer = Tokenizer(models.BPE(dict(vocabulary), pairs))
    before = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([START, *(token for token in special if token != START)])
    return tokenizer
