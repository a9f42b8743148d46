"""The check of files and of a decode loop against torch, and the samples that it takes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from runner.backends.base import FloatArray
from runner.contract.graph import Part
from runner.contract.models import ModelSpec, find
from runner.correctness.compare_outputs import FLOORS
from runner.export.check import (
    _STEPS,
    Continuation,
    Evaluate,
    Sample,
    WrongExport,
    evaluator,
    generation_difference,
    input_names,
    largest_difference,
    parts_evaluator,
    samples,
)
from tests.support.onnx_graphs import WIDTH, layer, model_of
from tests.support.tiny_models import generating_job, tiny_decoder, tiny_encoder_decoder
from tests.support.words import raises_words

VOCABULARY = 12
KEYS = "past_key_values.layers.0.keys"
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
PROMPT = np.array([[1, 2, 3], [4, 5, 6]])


def logits_of(tokens: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> FloatArray:
    """The outputs of the parts: after each token, the next higher one is likely."""
    return np.eye(VOCABULARY + 1, dtype=np.float32)[tokens][..., :-1]


def part(places: str, cache: tuple[str, str] | None, choice: str = "ArgMax") -> onnx.ModelProto:
    """Looks each token up in a table; hands a cache on if it takes one, else makes one."""
    table = np.roll(np.eye(VOCABULARY, dtype=np.float32), 1, axis=1)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["all"]),
        helper.make_node("Gather", ["all", places], ["logits"], axis=1),
        helper.make_node(choice, ["logits"], ["next_tokens"], axis=-1, keepdims=0),
    ]
    taken, given = cache or ("all", KEYS)
    nodes.append(helper.make_node("Identity", [taken], [given]))
    inputs = [helper.make_tensor_value_info("input_ids", INT64, ("b", "s"))]
    if cache is None:
        inputs.append(helper.make_tensor_value_info(places, INT64, ("k",)))
    else:
        inputs.append(helper.make_tensor_value_info(taken, FLOAT, ("b", "p", VOCABULARY)))
    outputs = [
        helper.make_tensor_value_info("logits", FLOAT, ("b", "k", VOCABULARY)),
        helper.make_tensor_value_info(given, FLOAT, ("b", "p", VOCABULARY)),
        helper.make_tensor_value_info("next_tokens", INT64, ("b", "k")),
    ]
    constants = [helper.make_tensor("table", FLOAT, table.shape, table.ravel().tolist())]
    if cache is not None:
        constants.append(helper.make_tensor(places, INT64, (1,), [0]))
    return model_of(helper.make_graph(nodes, "part", inputs, outputs, constants))


@pytest.fixture
def files(tmp_path: Path) -> dict[Part, Path]:
    models: dict[Part, onnx.ModelProto] = {
        "prefill": part("logits_to_keep", None),
        "decode": part("first", (f"input.{KEYS}", f"output.{KEYS}")),
    }
    for name, model in models.items():
        onnx.save_model(model, tmp_path / f"{name}.onnx")
    return {name: tmp_path / f"{name}.onnx" for name in models}


def sample(*, step: float = 0.0, prompt: float = 0.0) -> Sample:
    """The outputs of the parts, shifted by so much."""
    tokens = PROMPT[:, -1:] + np.arange(1, 4)
    inputs = {"input_ids": PROMPT, "attention_mask": np.ones_like(PROMPT)}
    generated = Continuation(tokens, logits_of(tokens) + np.float32(step))
    return Sample(inputs, {"logits": logits_of(PROMPT + 1) + np.float32(prompt)}, generated)


@pytest.mark.parametrize("shifts", [{"step": 1e-6}, {"prompt": 1e-6}])
def test_the_larger_difference_counts(files: dict[Part, Path], shifts: dict[str, float]) -> None:
    assert generation_difference(tiny_decoder(), files, [sample()], "fp32") == 0
    samples = [sample(), sample(**shifts)]
    result = generation_difference(tiny_decoder(), files, samples, "fp32")
    assert result == pytest.approx(1e-6 * VOCABULARY**0.5, rel=0.2)


def test_a_forward_pass_that_differs_is_told_from_a_step(files: dict[Part, Path]) -> None:
    shift = 10 * FLOORS["fp32"].row
    with raises_words(WrongExport, match="on fresh inputs, the outputs differ"):
        generation_difference(tiny_decoder(), files, [sample(prompt=shift)], "fp32")
    with raises_words(WrongExport, match="generating after fresh prompts, the outputs differ"):
        generation_difference(tiny_decoder(), files, [sample(step=shift)], "fp32")
    assert generation_difference(tiny_decoder(), files, [sample(step=shift)], "int8_dynamic") > 0


def test_a_graph_that_takes_other_tokens_than_its_logits_say_is_wrong(
    files: dict[Part, Path],
) -> None:
    cache = (f"input.{KEYS}", f"output.{KEYS}")
    onnx.save_model(part("first", cache, choice="ArgMin"), files["decode"])
    with raises_words(WrongExport, match="the graph's tokens are not its likeliest"):
        generation_difference(tiny_decoder(), files, [sample()], "fp32")


X = np.random.default_rng(1).standard_normal((3, WIDTH), dtype=np.float32)


@pytest.fixture
def answer(tmp_path: Path) -> Evaluate:
    onnx.save_model(layer(), tmp_path / "layer.onnx")
    return evaluator(tmp_path / "layer.onnx")


def layer_sample(answer: Evaluate, scale: float = 1.0, **more: Any) -> Sample:
    return Sample({"x": X}, {"logits": answer({"x": X})["logits"] * scale, **more})


def test_a_missing_output_and_numbers_that_are_none_are_wrong(answer: Evaluate) -> None:
    with raises_words(WrongExport, match="names or shapes differ"):
        largest_difference(answer, [layer_sample(answer, hidden=X)], "fp32")
    with pytest.raises(WrongExport):
        largest_difference(answer, [layer_sample(answer, np.nan)], "fp32")


def test_files_that_hand_on_answer_as_one(tmp_path: Path) -> None:
    vision, language = tmp_path / "vision.onnx", tmp_path / "language.onnx"
    onnx.save_model(layer("x", "features"), vision)
    onnx.save_model(layer("features", "logits"), language)
    assert (input_names(vision), input_names(language)) == (("x",), ("features",))
    result = parts_evaluator({"vision": vision, "language": language})({"x": X})
    assert set(result) == {"logits"}
    np.testing.assert_array_equal(
        result["logits"], evaluator(language)(evaluator(vision)({"x": X}))["logits"]
    )


GENERATING = {
    "decoder": tiny_decoder(),
    "encoder-decoder": tiny_encoder_decoder(),
    "audio": find("whisper-micro"),
    "vision-language": find("qwen3-vl-micro"),
    "cropped images": find("llava-next-micro"),
}


def sample_of(model: ModelSpec, **changes: object) -> Sample:
    job = generating_job(model, **changes)
    (sample,) = samples(job, job.cells)
    return sample


@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", GENERATING)
def test_the_logits_are_those_that_led_to_the_tokens(name: str) -> None:
    generated = sample_of(GENERATING[name]).generated
    assert generated is not None
    assert generated.tokens.shape == (2, _STEPS)
    assert generated.logits.shape[:2] == (2, _STEPS)
    assert (generated.logits.argmax(axis=-1) == generated.tokens).all()
