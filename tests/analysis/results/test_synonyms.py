"""Other words for axes and their values."""

import pytest

from analysis.results.synonyms import axis_called, axis_of, counsel, meaning
from runner.contract.axes import AXES, AxisName


@pytest.mark.parametrize(
    ("word", "name"),
    [
        *((axis.name, axis.name) for axis in AXES),
        ("batch-sizes", "batch_size"),
        ("batch_sizes", "batch_size"),
        ("new-token", "new_tokens"),
        ("audio_second", "audio_seconds"),
        ("models", "model"),
    ],
)
def test_an_axis_is_known_by_its_key_in_any_spelling(word: str, name: str) -> None:
    axis = axis_of(word)
    assert axis is not None
    assert axis.name == name
    assert axis_of(f"{word}x") is None


@pytest.mark.parametrize(
    ("axis", "word", "value"),
    [
        ("runtime", "PyTorch", "torch"),
        ("runtime", "torch.compile", "torch_compile"),
        ("runtime", "ort", "onnxruntime"),
        ("runtime", "ov", "openvino"),
        ("backend", "ov", "openvino"),
        ("backend", "CPU", "cpu"),
        ("precision", "float16", "fp16"),
        ("mode", "train", "training"),
        ("scenario", "SingleStream", "single_stream"),
        ("runtime", "tvm", "tvm"),
        ("model", "BERT", "BERT"),
    ],
)
def test_a_word_of_other_tools_stands_for_a_value(axis: AxisName, word: str, value: str) -> None:
    assert meaning(axis_called(axis), word) == value


@pytest.mark.parametrize(
    ("axis", "word", "in_options", "in_file"),
    [
        ("backend", "pytorch", "--backend cpu --runtime torch", "backend: cpu with runtime: torch"),
        ("backend", "onnx", "--backend cpu --runtime onnxruntime", "with runtime: onnxruntime"),
        ("backend", "gpu", "could be cuda (NVIDIA)", "could be cuda (NVIDIA)"),
        ("backend", "available", "`orchestrator bench` alone", "alone: a file names its backends"),
        ("runtime", "metal", "metal is --backend mps", "metal is backend: mps"),
    ],
)
def test_a_word_that_belongs_elsewhere_says_where(
    axis: str, word: str, in_options: str, in_file: str
) -> None:
    row = axis_of(axis)
    assert row is not None
    assert in_options in (counsel(row, word) or "")
    assert in_file in (counsel(row, word, in_file=True) or "")
    assert counsel(row, "nothing") is None
