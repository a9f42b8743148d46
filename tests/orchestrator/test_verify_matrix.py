"""The matrix of `verify`: every path that is built, once, in small shapes."""

from typing import Any

import pytest

from orchestrator.built import BUILT
from orchestrator.errors import MatrixError
from orchestrator.expand import expand
from orchestrator.verify_matrix import verify_matrix
from runner.fixed_input import fixed_cell
from runner.models import find, model_sets
from runner.models.sizes import sizes_of
from tests.jobs import a_job


def paths(*backends: str, **options: Any) -> set[tuple[str, str, str]]:
    options = {"modes": ["inference"]} | options
    cells = [cell for cell, _ in expand(verify_matrix(["bert-tiny"], backends, **options)).cells]
    return {(cell.backend, cell.runtime, cell.precision) for cell in cells}


def test_every_runtime_that_a_backend_has_is_verified() -> None:
    assert paths("cpu", "openvino") == {
        ("cpu", "torch", "fp32"),
        ("cpu", "torch_compile", "fp32"),
        ("cpu", "onnxruntime", "fp32"),
        ("openvino", "openvino", "fp32"),
    }


def test_a_backend_without_fp32_is_verified_in_what_it_has() -> None:
    assert paths("qnn") == {("qnn", "onnxruntime", "fp16")}


def test_runtimes_and_precisions_can_be_named() -> None:
    assert paths("cpu", "openvino", runtimes=["onnxruntime"], precisions=["fp32", "int8"]) == {
        ("cpu", "onnxruntime", "fp32"),
        ("cpu", "onnxruntime", "int8"),
    }


def test_nothing_that_is_built_is_out_of_reach() -> None:
    backends = sorted({backend for backend, _, _ in BUILT})
    named = ["fp32", "bf16", "fp16", "int8"]
    built = {
        (backend, runtime, precision)
        for (backend, runtime, _), precisions in BUILT.items()
        for precision in precisions
    }
    assert built <= paths(*backends, precisions=named)


def test_models_do_inference_and_generation_in_one_small_shape() -> None:
    cells = [cell for cell, _ in expand(verify_matrix(["gpt2"], ["openvino"])).cells]
    assert {cell.mode for cell in cells} == {"inference", "generation"}
    assert {(cell.batch_size, cell.sequence_length) for cell in cells} == {(2, 32)}


@pytest.mark.parametrize("name", model_sets()["micro"])
def test_what_is_executed_is_what_is_compared(name: str) -> None:
    model = find(name)
    cells = [cell for cell, _ in expand(verify_matrix([name], ["openvino"])).cells]
    compared = sizes_of(model, fixed_cell(a_job(cells, model)))
    assert all(sizes_of(model, cell) == compared for cell in cells)


@pytest.mark.parametrize(
    ("models", "options", "words"),
    [
        (["bert"], {}, "--models: 'bert' is not one of"),
        (["micro"], {"backends": ["cpu", "tpu"]}, "--backends: 'tpu' is not one of cpu, cuda"),
        (["micro"], {"precisions": ["fp17"]}, "--precision: 'fp17' is not one of"),
        (["micro"], {"modes": ["sleep"]}, "--modes: 'sleep' is not one of"),
        (["micro"], {"runtimes": ["torch"], "backends": ["qnn"]}, "none of qnn executes torch"),
    ],
)
def test_what_is_wrong_is_refused_by_its_option(
    models: list[str], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(MatrixError, match=words):
        verify_matrix(models, **{"backends": ["cpu"]} | options)
