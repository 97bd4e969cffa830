"""The small random models of tests/data, which data/make_lab_fixture.py made, and how to write them changed."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter
from safetensors.numpy import load_file, save_file

from sevensteps.lab.gguf import read_gguf

DATA = Path(__file__).parent / "data"
GPT2 = DATA / "gpt2-small-random"
LLAMA = DATA / "llama-small-random.gguf"
FIXTURE = json.loads((DATA / "lab_logits.json").read_text("utf-8"))

#: Takes a field or tensor away.
NOTHING = object()
Changes = Mapping[str, Any]


def changed_gpt2(folder: Path, config: Changes | None = None, tensors: Changes | None = None) -> Path:
    """A copy of the GPT-2 with other settings or tensors."""
    shutil.copytree(GPT2, folder)
    settings = json.loads((GPT2 / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(_changed(settings, config)), "utf-8")
    save_file(_changed(load_file(GPT2 / "model.safetensors"), tensors), folder / "model.safetensors")
    return folder


def changed_llama(path: Path, fields: Changes | None = None, tensors: Changes | None = None) -> Path:
    """A copy of the Llama with other fields or tensors, all tensors as float32."""
    file = read_gguf(LLAMA)
    writer = GGUFWriter(path, "llama")
    adders = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string,
              list: writer.add_array}  # fmt: skip
    kept = {key: value for key, value in file.fields.items() if key != "general.architecture"}
    for key, value in _changed(kept, fields).items():
        adders[type(value)](key, value)
    for name, tensor in _changed({name: tensor.read() for name, tensor in file.tensors.items()}, tensors).items():
        writer.add_tensor(name, np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _changed(table: Changes, changes: Changes | None) -> dict[str, Any]:
    return {key: value for key, value in {**table, **(changes or {})}.items() if value is not NOTHING}
