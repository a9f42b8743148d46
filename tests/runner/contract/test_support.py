"""A size that a model doesn't take is refused in words that name it and what is allowed."""

from typing import Any

import pytest

from runner import __version__
from runner.contract.axes import Backend, Mode, Runtime
from runner.contract.cell import DEFAULT_RUNTIMES, Cell
from runner.contract.models import ModelSpec, find
from runner.contract.support import SUPPORTED, UNSUPPORTED_PRECISION, why_not, why_not_shape
from tests.support.jobs import fake_cell
from tests.support.matrices import sized_model
from tests.support.words import words_of

GRID: dict[str, Any] = {
    "image_prompt": "grid",
    "config": {"vision_config": {"patch_size": 14, "spatial_merge_size": 2}},
    "max_sequence_length": 300,
}


def reason(model: ModelSpec, **fields: Any) -> str | None:
    return words_of(why_not_shape(fake_cell(model="sized", **fields), model))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"image_size": 450}, "sized takes image_size of multiples of 28, not 450"),
        ({"image_size": 28}, "sized takes image_size of at least 56, not 28"),
        ({"audio_seconds": 31}, "sized takes audio_seconds of at most 30, not 31"),
        ({"sequence_length": 1000, "new_tokens": 25, "mode": "generation"},
         "sized takes at most 1024 tokens, not 1000 and 25 new ones"),
    ],
)  # fmt: skip
def test_each_size_has_its_reason(fields: dict[str, Any], expected: str) -> None:
    assert reason(sized_model(), **fields) == expected


@pytest.mark.parametrize(
    "fields", [{"image_size": 56}, {"image_size": 1120}, {"audio_seconds": 30}]
)
def test_the_ends_of_a_range_are_taken(fields: dict[str, Any]) -> None:
    assert reason(sized_model(), **fields) is None


def test_an_image_takes_places_of_the_prompt() -> None:
    model = sized_model(**GRID)
    assert reason(model, sequence_length=44, image_size=448) is None
    assert reason(model, sequence_length=45, image_size=448) == (
        "sized takes at most 300 tokens, not 45 and 256 of an image"
    )


def reason_support(spec: ModelSpec | None = None, **fields: Any) -> str | None:
    """Why a cell can't run: one of this model, else of the catalogue's that the fields name."""
    spec = spec or find(fields.get("model", "gpt2"))
    fields = {"backend": "cpu", "precision": "fp32", "mode": "inference"} | fields
    fields.setdefault("runtime", DEFAULT_RUNTIMES[fields["backend"]])
    cell = Cell(**{"model": spec.name, "batch_size": 1, "sequence_length": 128} | fields)
    return words_of(why_not(cell, spec))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sequence_length": 1025}, "gpt2 takes at most 1024 tokens, not 1025"),
        ({"backend": "openvino", "mode": "training"},
         "training is not possible with openvino on openvino: "
         "OpenVINO executes inference graphs only"),
        ({"mode": "training", "precision": "int8"},
         "training is not possible in int8: whole numbers have no gradients"),
        ({"mode": "generation", "sequence_length": 1000, "new_tokens": 25},
         "gpt2 takes at most 1024 tokens, not 1000 and 25 new ones"),
        ({"model": "vit-base", "mode": "generation"},
         "generation is not possible with vit-base: its task is image-classification"),
        ({"backend": "wasm", "runtime": "torch"},
         "torch does not execute on wasm, only onnxruntime_web"),
        ({"runtime": "openvino"},
         "openvino does not execute on cpu, only torch, torch_compile, onnxruntime; "
         "the backend openvino executes on Intel's and AMD's CPUs too"),
        ({"runtime": "onnxruntime", "precision": "bf16"},
         "bf16 is not possible with onnxruntime on cpu: ONNX Runtime's CPU provider has no bf16 "
         "kernels for matrix products"),
        ({"backend": "qnn", "precision": "fp32"},
         "fp32 is not possible with onnxruntime on qnn: the HTP computes in fp16 whatever "
         "floating-point graph it is given"),
        ({"backend": "wasm", "scenario": "server", "target_qps": 1},
         "scenario server is not possible with onnxruntime_web on wasm: a page times its queries "
         "itself, so that the wait of one in line is not known"),
        ({"backend": "openvino", "runtime": "onnxruntime"},
         f"accelmatrix {__version__} has no runner for onnxruntime on openvino"),
        ({"runtime": "torch_compile", "mode": "generation"},
         "generation is not possible with torch_compile on cpu: with fixed shapes every token "
         "would be compiled anew, as the key-value cache grows"),
        ({"backend": "qnn", "precision": "fp16", "mode": "startup"},
         f"accelmatrix {__version__} cannot measure startup with onnxruntime on qnn"),
        ({"backend": "rocm", "precision": "int8"},
         "int8 is not possible with torch on rocm: this release has int8 matrix products for torch "
         "on cpu and cuda only"),
        ({"backend": "cuda", "runtime": "torch_compile", "precision": "int8"},
         f"accelmatrix {__version__} cannot run int8 with torch_compile on cuda in mode inference"),
    ],
)  # fmt: skip
def test_each_other_cell_has_its_reason(fields: dict[str, Any], expected: str) -> None:
    assert reason_support(**fields) == expected


@pytest.mark.parametrize("key", SUPPORTED, ids="-".join)
def test_whatever_is_built_is_not_refused(key: tuple[Backend, Runtime, Mode]) -> None:
    backend, runtime, mode = key
    assert SUPPORTED[key]
    for precision in SUPPORTED[key]:
        assert (
            reason_support(backend=backend, runtime=runtime, mode=mode, precision=precision) is None
        )


def test_what_a_runtime_lacks_is_not_built() -> None:
    for (backend, runtime), lacks in UNSUPPORTED_PRECISION.items():
        built = {key: found for key, found in SUPPORTED.items() if key[:2] == (backend, runtime)}
        assert built, (backend, runtime)
        for found in built.values():
            assert not found & set(lacks)
