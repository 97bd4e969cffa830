"""The reader of GGUF files: the same numbers as the `gguf` package, and a clear message for anything else."""

from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFReader, GGUFWriter, dequantize, quants
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sevensteps.engine.faults import InputError
from sevensteps.lab.gguf import read_gguf

KINDS = (Kind.F32, Kind.F16, Kind.Q4_1, Kind.Q8_0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a field of each sort and a tensor of each kind."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list(["a", "Ġb", "ü"])
    writer.add_token_types([1, 1, 3])
    writer.add_add_bos_token(False)
    numbers = np.random.default_rng(3).normal(size=(6, 64)).astype(np.float32)
    for kind in KINDS:
        data = numbers.astype(np.float16) if kind == Kind.F16 else numbers
        if kind not in (Kind.F32, Kind.F16):
            data = quants.quantize(numbers, kind)
        writer.add_tensor(kind.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_every_kind_of_tensor_unpacks_to_the_same_numbers_as_the_gguf_package(file: Path) -> None:
    ours = read_gguf(file).tensors
    theirs = {tensor.name: dequantize(tensor.data, tensor.tensor_type) for tensor in GGUFReader(file).tensors}
    assert ours.keys() == theirs.keys() == {kind.name for kind in KINDS}
    for name, numbers in theirs.items():
        np.testing.assert_array_equal(ours[name].read(), numbers.astype(np.float32))


def test_fields_are_read_as_what_they_are(file: Path) -> None:
    fields = read_gguf(file).fields
    assert fields["general.architecture"] == "llama"
    assert fields["llama.block_count"] == 2
    assert fields["llama.attention.layer_norm_rms_epsilon"] == pytest.approx(1e-5)
    assert fields["tokenizer.ggml.tokens"] == ["a", "Ġb", "ü"]
    assert fields["tokenizer.ggml.token_type"] == [1, 1, 3]
    assert fields["tokenizer.ggml.add_bos_token"] is False


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04 a zip", b"GGUF\x09\x00\x00\x00"])
def test_what_is_no_gguf_file_is_told_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wrong.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"wrong\.gguf.*expected"):
        read_gguf(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.gguf"):
        read_gguf(tmp_path / "none.gguf")


def test_a_truncated_file_is_told_wherever_it_ends(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    end = max(tensor.start + tensor.length for tensor in read_gguf(file).tensors.values())  # then comes padding
    path = tmp_path / "cut.gguf"
    for length in (*range(0, end, 13), end - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut\.gguf"):
            read_gguf(path)


def test_a_number_that_is_not_finite_is_told(file: Path, tmp_path: Path) -> None:
    tensor = read_gguf(file).tensors["F32"]
    broken = bytearray(file.read_bytes())
    broken[tensor.start : tensor.start + 4] = np.float32(np.nan).tobytes()
    path = tmp_path / "nan.gguf"
    path.write_bytes(broken)
    with pytest.raises(InputError, match="F32: found a number that is not finite"):
        read_gguf(path).tensors["F32"].read()


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_hostile_file_gives_a_message_or_is_read_but_never_crashes(
    file: Path, tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, 700))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path / "hostile.gguf"
    path.write_bytes(content)
    try:
        for tensor in read_gguf(path).tensors.values():
            tensor.read()
    except InputError as error:
        message = str(error)
    else:
        message = "hostile.gguf is read"
    assert "hostile.gguf" in message
