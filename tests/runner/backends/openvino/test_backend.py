"""Sessions of OpenVINO, beyond what every runtime promises."""

import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from orchestrator.screen.words.reasons import error_text
from runner.backends.openvino import backend
from runner.backends.openvino.backend import (
    OpenVINOSession,
    compiled_columns,
    open_session,
    require_int8,
)
from runner.backends.openvino.device import find_openvino_device
from runner.backends.openvino.graph import CompiledPart, Quantized
from runner.contract.errors import Unsupported
from runner.contract.graph import GRAPH_FILE
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment
from tests.support.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph
from tests.support.openvino_models import doubling, openvino_cell, openvino_job
from tests.support.words import raises_words

CORE = ov.Core()
CAPABILITIES = CORE.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
HAS_BF16, HAS_FP16 = "BF16" in CAPABILITIES, "FP16" in CAPABILITIES
"""OpenVINO computes in bf16 only on CPUs with instructions for it."""
ONE, THREE = openvino_cell(1), openvino_cell(3)
TWO = openvino_job(ONE, THREE)


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    save_graph(tmp_path, {"forward": layer()})
    return tmp_path


@pytest.fixture
def session(graphs: Path) -> Iterator[OpenVINOSession]:
    with closing(open_session(TWO, 1, graphs)) as session:
        yield session


def x(rows: int) -> Inputs:
    return synthesise(perceptron(), openvino_cell(rows), 0)


def expected(inputs: Inputs) -> Any:
    weights = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    return np.maximum(inputs["x"] @ weights, 0)


def test_a_session_tells_what_it_executes_and_how(session: OpenVINOSession) -> None:
    columns = session.columns
    assert columns["graph"] == f"{KEY}/dynamic"
    assert columns["inference_precision"] == "f32"
    assert (columns["quantization"], columns["cached_compile_time_s"]) == (None, None)
    assert isinstance(columns["compile_time_s"], float)
    assert columns["compile_time_s"] > 0
    assert session.parameters == WIDTH * WIDTH
    assert (session.threads, session.interop_threads) == (1, None)
    assert {"openvino", "numpy"} <= session.libraries.keys()
    options: Any = columns["execution_options"]
    assert options["INFERENCE_PRECISION_HINT"] == "f32"
    assert options["PERFORMANCE_HINT"] == "LATENCY"
    assert (options["NUM_STREAMS"], options["INFERENCE_NUM_THREADS"]) == ("1", "1")
    assert options["shapes"] == "static, compiled for each shape"


def test_the_bf16_that_is_asked_for_is_the_bf16_that_is_told(graphs: Path) -> None:
    job = openvino_job(openvino_cell(precision="bf16"))
    if not HAS_BF16:
        with raises_words(Unsupported, match="computes in f32 on CPU when asked for bf16"):
            open_session(job, 1, graphs)
        return
    with closing(open_session(job, 1, graphs)) as session:
        assert session.columns["inference_precision"] == "bf16"
        difference = session.arrays(session.bind(job.cells[0], x(1))())["logits"] - expected(x(1))
        assert 0 < np.abs(difference).max() < 0.1


def test_a_shape_is_compiled_as_it_is_bound_and_held_until_the_next(
    session: OpenVINOSession,
) -> None:
    first, again = session.bind(ONE, x(1)), session.bind(ONE, x(1))
    assert first.requests[0].compiled is again.requests[0].compiled
    assert len(session.arrays(first())["logits"]) == 1
    earlier = weakref.ref(first.requests[0].compiled)
    del first, again
    other = session.bind(THREE, x(3))
    assert str(other.requests[0].compiled.input("x").partial_shape) == f"[3,{WIDTH}]"
    assert earlier() is None


def test_a_request_keeps_its_outputs_which_those_who_keep_them_get_as_copies(
    session: OpenVINOSession,
) -> None:
    query = session.bind(THREE, x(3))
    first = session.outputs_of(query())["logits"]
    kept = session.arrays(query())["logits"]
    assert np.shares_memory(first, session.outputs_of(query())["logits"])
    assert not np.shares_memory(first, kept)
    first[:] = -1.0
    assert kept == pytest.approx(expected(x(3)), abs=1e-4)


def test_a_file_that_openvino_cannot_read_is_unsupported_in_its_words(graphs: Path) -> None:
    file = graphs / KEY / "dynamic" / "forward.onnx"
    file.write_bytes(b"\0" * file.stat().st_size)
    assert (file.parent / GRAPH_FILE).exists()
    with raises_words(Unsupported, match="OpenVINO cannot read the graph: ") as caught:
        open_session(TWO, 1, graphs)
    assert "Exception from" not in error_text(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backend": "cpu"}, "no device for backend cpu"),
        pytest.param(
            {"precision": "fp16"},
            r"computes in b?f\d+ on CPU when asked for f16",
            marks=pytest.mark.skipif(HAS_FP16, reason="this CPU computes in f16"),
        ),
        ({"mode": "startup", "precision": "int8"}, "would time the quantising"),
    ],
)
def test_what_openvino_cannot_do_is_unsupported(
    graphs: Path, changes: dict[str, str], message: str
) -> None:
    with raises_words(Unsupported, match=message):
        open_session(openvino_job(openvino_cell(**changes)), 1, graphs)


def test_a_record_holds_the_name_and_the_build_of_the_device(
    graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replace(find_openvino_device(CORE, "CPU"), full_name="ARM CPU")
    built = replace(found, memory_bytes=16 << 30, execution_units=512)
    monkeypatch.setattr(backend, "find_openvino_device", lambda *_: built)
    with closing(open_session(TWO, 1, graphs)) as session:
        assert session.device_name == read_environment().cpu_model
        _, evidence = session.prove(session.bind(ONE, x(1)))
        assert evidence["device_full_name"] == "ARM CPU"
        assert session.columns["device_memory_bytes"] == 16 << 30
        assert session.columns["device_compute_units"] == 512


@pytest.mark.slow
def test_neither_torch_nor_onnx_is_needed() -> None:
    code = (
        "import sys, runner.backends.openvino; "
        "sys.exit(', '.join({'torch', 'transformers', 'onnx', 'nncf'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def part() -> CompiledPart:
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = CORE.compile_model(doubling(), "CPU", options)
    return CompiledPart(doubling(), compiled, (), duration_ns=250_000_000)


def test_an_int8_graph_needs_int8_products_unless_its_weights_alone_are_int8() -> None:
    whole = Quantized({}, "by hand", activations=True, duration_s=1.25)
    with raises_words(Unsupported, match="no product of the int8 graph in int8"):
        require_int8([part()], whole)
    weights_alone = replace(whole, activations=False)
    require_int8([part()], weights_alone)
    columns = compiled_columns([part()], "static", weights_alone)
    assert columns["inference_precision"] == "f32, int8 in 0 products"
    assert columns["quantization"] == "by hand"
    options: Any = columns["execution_options"]
    assert options["nncf_quantize_s"] == "1.2"
