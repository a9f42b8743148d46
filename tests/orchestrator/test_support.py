"""Why a cell can't run: the exact reason, the impossible before the not yet built."""

from typing import Any, get_args

import pytest

from orchestrator.support import RUNTIMES, why_not
from runner import __version__
from runner.cell import DEFAULT_RUNTIMES, Backend, Cell, Mode, Precision
from runner.models import find


def reason(**fields: Any) -> str | None:
    fields = {"model": "gpt2", "backend": "cpu", "precision": "fp32", "mode": "inference"} | fields
    fields.setdefault("runtime", DEFAULT_RUNTIMES[fields["backend"]])
    cell = Cell(**{"batch_size": 1, "sequence_length": 128} | fields)
    return why_not(cell, find(cell.model))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_this_release_runs_torch_inference_on_the_cpu(precision: str) -> None:
    assert reason(precision=precision) is None


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("precision", get_args(Precision))
def test_the_fake_backend_runs_everything(mode: str, precision: str) -> None:
    assert reason(backend="fake", mode=mode, precision=precision) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sequence_length": 1025}, "gpt2 takes at most 1024 tokens, not 1025"),
        ({"sequence_length": 1025, "backend": "fake"}, "gpt2 takes at most 1024 tokens, not 1025"),
        ({"backend": "openvino", "mode": "training"},
         "training is not possible on openvino: OpenVINO executes inference graphs only"),
        ({"backend": "webgpu", "mode": "training"},
         "training is not possible on webgpu: ONNX Runtime Web executes inference graphs only"),
        ({"mode": "training", "precision": "int8"},
         "training is not possible in int8: whole numbers have no gradients"),
        ({"model": "vit-base", "mode": "generation"},
         "generation is not possible with vit-base: its family is vision"),
        ({"backend": "wasm", "runtime": "torch"},
         "torch does not execute on wasm, only onnxruntime_web"),
        ({"backend": "fake", "runtime": "torch"}, "torch does not execute on fake, only fake"),
        ({"backend": "cuda"}, f"accelmatrix {__version__} has no runner for backend cuda"),
        ({"runtime": "onnxruntime"},
         f"accelmatrix {__version__} has no runner for onnxruntime on cpu"),
        ({"mode": "training"}, f"accelmatrix {__version__} cannot measure training on cpu"),
        ({"precision": "fp16"}, f"accelmatrix {__version__} cannot run fp16 on cpu"),
    ],
)  # fmt: skip
def test_each_other_cell_has_its_reason(fields: dict[str, Any], expected: str) -> None:
    assert reason(**fields) == expected


@pytest.mark.parametrize("backend", get_args(Backend))
def test_a_backends_default_runtime_executes_on_it(backend: Backend) -> None:
    assert DEFAULT_RUNTIMES[backend] in RUNTIMES[backend]
