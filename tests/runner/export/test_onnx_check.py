"""What an ONNX file answers decides whether it may be used."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from runner.agreement import TOLERANCES
from runner.export.onnx_check import (
    Answer,
    WrongExport,
    answering,
    answering_in_parts,
    difference,
    takes_of,
)
from runner.export.samples import Sample
from tests.onnx_graphs import HALF, WIDTH, layer

X = np.random.default_rng(1).standard_normal((3, WIDTH), dtype=np.float32)


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    onnx.save_model(layer(), tmp_path / "layer.onnx")
    return answering(tmp_path / "layer.onnx")


def sample(answer: Answer, scale: float = 1.0, **more: Any) -> Sample:
    return Sample({"x": X}, {"logits": answer({"x": X})["logits"] * scale, **more})


def test_equal_answers_differ_by_nothing(answer: Answer) -> None:
    assert difference(answer, [sample(answer)], "fp32") == 0


def test_the_largest_difference_counts(answer: Answer) -> None:
    samples = [sample(answer), sample(answer, 1 + 5e-5)]
    assert difference(answer, samples, "fp32") == pytest.approx(5e-5, rel=0.1)


@pytest.mark.parametrize("numbers", ["fp32", "fp16", "int8_dynamic", "int8_qdq"])
def test_each_format_is_allowed_what_its_sessions_are(answer: Answer, numbers: Any) -> None:
    allowed = TOLERANCES["int8" if numbers.startswith("int8") else numbers]
    difference(answer, [sample(answer, 1 / (1 + 0.9 * allowed))], numbers)
    with pytest.raises(WrongExport, match="on fresh inputs, the outputs differ"):
        difference(answer, [sample(answer, 1 / (1 + 1.1 * allowed))], numbers)


def test_a_missing_output_is_wrong(answer: Answer) -> None:
    with pytest.raises(WrongExport, match="names or shapes differ"):
        difference(answer, [sample(answer, hidden=X)], "fp32")


def test_numbers_that_are_none_are_wrong(answer: Answer) -> None:
    with pytest.raises(WrongExport):
        difference(answer, [sample(answer, np.nan)], "fp32")


def test_inputs_that_the_file_does_not_take_are_left_out(answer: Answer) -> None:
    assert set(answer({"x": X, "attention_mask": X})) == {"logits"}


def test_a_file_of_halves_gets_halves(tmp_path: Path) -> None:
    onnx.save_model(layer(kind=HALF), tmp_path / "half.onnx")
    assert answering(tmp_path / "half.onnx")({"x": X})["logits"].dtype == np.float16


def test_files_that_hand_on_answer_as_one(tmp_path: Path) -> None:
    vision, language = tmp_path / "vision.onnx", tmp_path / "language.onnx"
    onnx.save_model(layer("x", "features"), vision)
    onnx.save_model(layer("features", "logits"), language)
    assert (takes_of(vision), takes_of(language)) == (("x",), ("features",))
    found = answering_in_parts({"vision": vision, "language": language})({"x": X})
    assert set(found) == {"logits"}
    np.testing.assert_array_equal(
        found["logits"], answering(language)(answering(vision)({"x": X}))["logits"]
    )
