"""Each runtime's kernels multiply and copy, in its own precision."""

from collections.abc import Callable
from contextlib import closing
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import openvino as ov
import pytest
import torch

from runner.backends.base import Session
from runner.backends.onnxruntime.device import cpu_device
from runner.backends.onnxruntime.peaks import onnx_peaks
from runner.backends.openvino.device import Compiler, find_openvino_device, operator_types
from runner.backends.openvino.peaks import openvino_peaks
from runner.backends.peaks import PeakKernels, random_matrix
from runner.backends.torch.backend import open_session
from runner.backends.torch.peaks import TorchPeaks
from runner.contract.axes import Precision
from runner.correctness.differences import relative_difference
from runner.job.efficiency import Room, peak_columns
from runner.measure.clock import monotonic
from tests.support.tiny_models import tiny_decoder, torch_job

SIZE = 128


def _compiler(precision: Precision) -> Compiler:
    core = ov.Core()
    return Compiler(core, find_openvino_device(core, "CPU"), precision, 1)


def test_openvino_compiles_a_quantised_product_to_one_of_whole_numbers() -> None:
    seen: list[tuple[str, str]] = []
    compiler = _compiler("int8")
    compile_plainly = compiler.compile

    def compile_(model: ov.Model, **more: object) -> ov.CompiledModel:
        compiled = compile_plainly(model, **more)
        seen.extend(operator_types(compiled))
        return compiled

    compiler.compile = compile_  # type: ignore[method-assign]
    kernels = openvino_peaks(compiler, "CPU", "int8")
    assert kernels.product
    multiply: Callable[[], Any] = kernels.product(SIZE)
    matrix, product = (tensor.data for tensor in multiply())
    assert [type_ for kind, type_ in seen if kind == "FullyConnected"] == ["u8"]
    weights = random_matrix(SIZE, np.int8).astype(np.float32) / 16
    assert relative_difference(product, matrix @ weights) < 0.02
    assert kernels.last_rows == 1024


@pytest.mark.parametrize("quantised", [False, True])
def test_torch_multiplies_and_copies(quantised: bool) -> None:
    waits: list[None] = []
    dtype = torch.float32 if quantised else torch.bfloat16
    maker = TorchPeaks(torch.device("cpu"), dtype, lambda: waits.append(None))
    before = torch.get_rng_state()
    kernels = maker.kernels(quantised=quantised)
    assert kernels.product
    assert kernels.copy
    for kernel in (kernels.product(SIZE), kernels.copy(4 * SIZE)):
        assert kernel is not None
        kernel()
    assert len(waits) == 2
    assert torch.equal(torch.get_rng_state(), before)


def _torch() -> PeakKernels | None:
    with closing(open_session(torch_job(tiny_decoder(), precision="int8"), threads=1)) as session:
        return session.peak_kernels()


@pytest.mark.parametrize(
    "kernels_of",
    [
        _torch,
        lambda: onnx_peaks(cpu_device(), "int8", 1),
        lambda: openvino_peaks(_compiler("int8"), "CPU", "int8"),
    ],
    ids=["torch", "onnxruntime", "openvino"],
)
def test_every_runtime_has_a_peak_in_int8(kernels_of: Callable[[], PeakKernels | None]) -> None:
    session = cast("Session", SimpleNamespace(peak_kernels=kernels_of, trim=lambda: None))
    columns = peak_columns(session, Room(None, memory_bytes=1), monotonic)
    assert 0 < columns["peak_flops_per_s"] < inf
    assert columns["peak_method"].endswith("rows")
