"""A size that a model doesn't take is refused in words that name it and what is allowed."""

from typing import Any, get_args

import pytest

from runner import __version__
from runner.contract.axes import RUNTIMES
from runner.contract.cell import DEFAULT_RUNTIMES, Backend, Cell, Mode, Precision, Runtime, Scenario
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
        ({"image_size": 1148}, "sized takes image_size of at most 1120, not 1148"),
        ({"audio_seconds": 31}, "sized takes audio_seconds of at most 30, not 31"),
        ({"image_size": 450, "sequence_length": 1025},
         "sized takes image_size of multiples of 28, not 450"),
        ({"sequence_length": 1025}, "sized takes at most 1024 tokens, not 1025"),
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


def test_behind_an_encoder_new_tokens_have_a_limit_of_their_own() -> None:
    model = sized_model(encoder_decoder=True, max_new_tokens=64)
    fields = {"sequence_length": 1024, "mode": "generation"}
    assert reason(model, **fields, new_tokens=64) is None
    assert reason(model, **fields, new_tokens=65) == "sized generates at most 64 tokens, not 65"


def reason_support(spec: ModelSpec | None = None, **fields: Any) -> str | None:
    """Why a cell can't run: one of this model, else of the catalogue's that the fields name."""
    spec = spec or find(fields.get("model", "gpt2"))
    fields = {"backend": "cpu", "precision": "fp32", "mode": "inference"} | fields
    fields.setdefault("runtime", DEFAULT_RUNTIMES[fields["backend"]])
    cell = Cell(**{"model": spec.name, "batch_size": 1, "sequence_length": 128} | fields)
    return words_of(why_not(cell, spec))


@pytest.mark.parametrize("mode", get_args(Mode))
def test_torch_on_the_cpu_and_the_fake_backend_run_every_mode(mode: str) -> None:
    assert {reason_support(mode=mode, precision=name) for name in ("fp32", "bf16")} == {None}
    every = {reason_support(backend="fake", mode=mode, precision=p) for p in get_args(Precision)}
    assert every == {None}


@pytest.mark.parametrize("backend", ["wasm", "webnn", "webgpu"])
def test_browsers_infer_generate_and_start(backend: str) -> None:
    modes = {mode for mode in get_args(Mode) if not reason_support(backend=backend, mode=mode)}
    assert modes == {"inference", "generation", "startup"}


@pytest.mark.parametrize("scenario", get_args(Scenario))
def test_no_scenario_is_refused(scenario: str) -> None:
    assert reason_support(scenario=scenario, slo_ms=100) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sequence_length": 1025}, "gpt2 takes at most 1024 tokens, not 1025"),
        ({"sequence_length": 1025, "backend": "fake"}, "gpt2 takes at most 1024 tokens, not 1025"),
        ({"backend": "openvino", "mode": "training"},
         "training is not possible with openvino on openvino: "
         "OpenVINO executes inference graphs only"),
        ({"backend": "webgpu", "mode": "training"},
         "training is not possible with onnxruntime_web on webgpu: "
         "ONNX Runtime Web executes inference graphs only"),
        ({"mode": "training", "precision": "int8"},
         "training is not possible in int8: whole numbers have no gradients"),
        ({"mode": "generation", "sequence_length": 1000, "new_tokens": 25},
         "gpt2 takes at most 1024 tokens, not 1000 and 25 new ones"),
        ({"mode": "generation", "sequence_length": 1000, "new_tokens": 25, "backend": "fake"},
         "gpt2 takes at most 1024 tokens, not 1000 and 25 new ones"),
        ({"model": "vit-base", "mode": "generation"},
         "generation is not possible with vit-base: its task is image-classification"),
        ({"model": "bert-tiny", "mode": "generation"},
         "generation is not possible with bert-tiny: its task is fill-mask"),
        ({"backend": "wasm", "runtime": "torch"},
         "torch does not execute on wasm, only onnxruntime_web"),
        ({"backend": "fake", "runtime": "torch"}, "torch does not execute on fake, only fake"),
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
        ({"backend": "wasm", "precision": "fp16"},
         "fp16 is not possible with onnxruntime_web on wasm: ONNX Runtime's CPU provider computes "
         "fp16 graphs in fp32, between casts"),
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
        ({"backend": "openvino", "mode": "generation", "precision": "int8"},
         f"accelmatrix {__version__} cannot run int8 with openvino on openvino in mode generation"),
    ],
)  # fmt: skip
def test_each_other_cell_has_its_reason(fields: dict[str, Any], expected: str) -> None:
    assert reason_support(**fields) == expected


def test_new_tokens_fill_the_models_last_places_but_none_of_an_encoders() -> None:
    assert reason_support(mode="generation", sequence_length=1000, new_tokens=24) is None
    spec = find("gpt2").model_copy(update={"encoder_decoder": True})
    assert reason_support(spec, mode="generation", sequence_length=1024, new_tokens=64) is None
    assert reason_support(spec, mode="generation", sequence_length=1025) is not None
    encoder = find("bert-tiny").model_copy(update={"encoder_decoder": True})
    assert reason_support(encoder, mode="generation", new_tokens=4) is None


def test_a_model_without_labels_is_not_trained() -> None:
    spec = find("gpt2").model_copy(update={"labels": None})
    expected = "training is not possible with gpt2: it has no labels to learn from"
    assert reason_support(spec, mode="training") == expected
    assert reason_support(spec) is None


@pytest.mark.parametrize("backend", get_args(Backend))
def test_a_backends_default_runtime_executes_on_it(backend: Backend) -> None:
    assert DEFAULT_RUNTIMES[backend] in RUNTIMES[backend]


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
