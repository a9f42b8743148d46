"""Architectures of a few thousand parameters, and jobs that run them on torch."""

from typing import Any

import numpy as np

from runner.contract.axes import Runtime
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.models import ModelSpec, TensorSpec
from runner.correctness.reference import BATCH_SIZE, SEQUENCE_LENGTH
from runner.inputs import Inputs
from tests.support.data import sample
from tests.support.jobs import a_job, fake_cell

VOCABULARY = 100
IMAGE_TOKEN = 96
PATCHES, TOKENS_PER_IMAGE = 16, 4
PATCH_SIZE = 3 * 2 * 14 * 14
NEW_TOKENS = 6

_SAMPLES = sample("tiny-models")
DECODER: dict[str, Any] = _SAMPLES["decoder"]
ENCODER_DECODER: dict[str, Any] = _SAMPLES["encoder_decoder"]
VISION_LANGUAGE: dict[str, Any] = _SAMPLES["vision_language"]
TRANSFORMER: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
VISION: dict[str, Any] = {**TRANSFORMER, "image_size": 16, "patch_size": 8}


def token_ids(name: str, *shape: Any) -> TensorSpec:
    """Token ids of the tiny vocabulary."""
    return TensorSpec(name=name, kind="token_ids", shape=shape, low=5, high=90)


TEXT = (
    token_ids("input_ids", "batch_size", "sequence_length"),
    TensorSpec(name="attention_mask", kind="ones", shape=("batch_size", "sequence_length")),
)


def tiny(architecture: str, config: dict[str, Any], **changes: Any) -> ModelSpec:
    """A text model of that architecture."""
    values: dict[str, Any] = {
        "name": "tiny",
        "family": "text_generation",
        "task": "text-generation",
        "modality": "text",
        "architecture": architecture,
        "config": config,
        "inputs": TEXT,
        "labels": token_ids("labels", "batch_size", "sequence_length"),
        "forward": {"use_cache": False},
        **changes,
    }
    return ModelSpec(**values)


def tiny_decoder() -> ModelSpec:
    """One layer of GPT-2."""
    return tiny("AutoModelForCausalLM", DECODER)


def tiny_encoder_decoder() -> ModelSpec:
    """Two layers each of T5's encoder and decoder."""
    return tiny(
        "AutoModelForSeq2SeqLM",
        ENCODER_DECODER,
        inputs=(*TEXT, token_ids("decoder_input_ids", "batch_size", 4)),
        labels=token_ids("labels", "batch_size", 4),
        encoder_decoder=True,
    )


def tiny_vision_language() -> ModelSpec:
    """Qwen2-VL with one vision layer; its inputs are `image_inputs`."""
    return tiny("AutoModelForImageTextToText", VISION_LANGUAGE, modality="multimodal")


def image_inputs(batch_size: int) -> Inputs:
    """A prompt with one image of 4 × 4 patches in each sample."""
    generator = np.random.default_rng(0)
    image = [98, *[IMAGE_TOKEN] * TOKENS_PER_IMAGE, 99]
    ids = np.array([[5, *image, 6, 7]] * batch_size, dtype=np.int64)
    pixels = generator.standard_normal((batch_size * PATCHES, PATCH_SIZE), dtype=np.float32)
    return {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "mm_token_type_ids": (ids == IMAGE_TOKEN).astype(np.int32),
        "pixel_values": pixels,
        "image_grid_thw": np.array([[1, 4, 4]] * batch_size, dtype=np.int64),
    }


def torch_cell(model: ModelSpec, batch_size: int = 2, **changes: Any) -> Cell:
    """A cell of that model on torch and the CPU."""
    values: dict[str, Any] = {"model": model.name, "backend": "cpu", "runtime": "torch"}
    return fake_cell(batch_size, **values | changes)


def torch_job(model: ModelSpec, **changes: Any) -> Job:
    """A job of one such cell."""
    return a_job([torch_cell(model, **changes)], model)


def generating_job(model: ModelSpec, runtime: Runtime = "onnxruntime", **changes: Any) -> Job:
    """A job that generates over a prepared graph, of the shape that verification has as well.

    All these jobs of a model share their graph.
    """
    backend = "openvino" if runtime == "openvino" else "cpu"
    values: dict[str, Any] = {
        "backend": backend,
        "runtime": runtime,
        "mode": "generation",
        "batch_size": BATCH_SIZE,
        "sequence_length": SEQUENCE_LENGTH if model.takes_sequence else None,
        "image_size": None if model.image_size is None else model.image_size.default,
        "new_tokens": NEW_TOKENS,
    }
    return torch_job(model, **values | changes)
