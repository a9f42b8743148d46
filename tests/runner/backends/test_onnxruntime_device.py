"""Which devices and precisions ONNX Runtime has, and why not the others."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from runner.backends.onnxruntime_device import CPU, cpu_device, precision_of
from runner.cell import Backend, Precision
from runner.errors import Unsupported
from tests.onnx_graphs import HALF, layer, onnx_cell

BFLOAT16 = onnx.TensorProto.BFLOAT16


@pytest.mark.parametrize(
    ("backend", "precision", "computes"),
    [
        ("cpu", "fp32", "float32"),
        ("cpu", "int8", "int8 products"),
        ("cuda", "fp32", "TF32 off"),
        ("cuda", "fp16", "float16"),
        ("qnn", "fp16", "float16"),
        ("qnn", "int8", "fixed point"),
    ],
)
def test_what_a_session_computes_in_is_told(
    backend: Backend, precision: Precision, computes: str
) -> None:
    assert computes in precision_of(onnx_cell(backend=backend, precision=precision))


@pytest.mark.parametrize(
    ("backend", "precision", "reason"),
    [
        ("cpu", "fp16", "in fp32, between casts"),
        ("cpu", "bf16", "no bf16 kernels"),
        ("cuda", "bf16", "no graph is prepared in bf16"),
        ("cuda", "int8", "DynamicQuantizeLinear"),
        ("qnn", "fp32", "HTP computes in fp16"),
        ("qnn", "bf16", "HTP computes in fp16"),
        ("rocm", "fp32", "no ROCm provider"),
        ("mps", "fp32", "none for MPS"),
        ("openvino", "fp32", "package of its own"),
    ],
)
def test_what_cannot_be_had_has_its_reason(
    backend: Backend, precision: Precision, reason: str
) -> None:
    with pytest.raises(Unsupported, match=f"{precision} is not possible.*{reason}"):
        precision_of(onnx_cell(backend=backend, precision=precision))


def test_it_is_true_that_the_cpu_computes_fp16_in_fp32(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    model = layer(kind=HALF).SerializeToString()
    onnxruntime.InferenceSession(model, options, providers=[CPU])
    nodes = onnx.load(tmp_path / "optimised.onnx").graph.node
    casts = [node for node in nodes if node.op_type == "Cast"]
    assert onnx.TensorProto.FLOAT in {node.attribute[0].i for node in casts}
    assert {node.op_type for node in nodes} > {"Cast", "MatMul"}


def test_it_is_true_that_the_cpu_has_no_matrix_product_in_bf16() -> None:
    model = layer(kind=BFLOAT16).SerializeToString()
    with pytest.raises(Exception, match="Could not find an implementation for MatMul"):
        onnxruntime.InferenceSession(model, providers=[CPU])


def test_the_processor_is_the_cpus_device() -> None:
    device = cpu_device()
    assert (device.claimed, device.provider, device.memory) == ("cpu", CPU, "cpu")
    assert device.name
    assert not device.is_accelerator


def test_the_layer_of_these_tests_computes_what_it_says() -> None:
    session = onnxruntime.InferenceSession(layer().SerializeToString(), providers=[CPU])
    (logits,) = session.run(None, {"x": np.ones((2, 8), dtype=np.float32)})
    assert logits.shape == (2, 8)
    assert (logits >= 0).all()
