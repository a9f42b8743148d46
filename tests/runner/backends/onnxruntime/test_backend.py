"""The ONNX Runtime backend and its sessions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from runner.backends.onnxruntime.backend import OnnxSession, open_session
from runner.backends.onnxruntime.device import CPU, CUDA, OnnxDevice, cpu_device
from runner.backends.onnxruntime.query import (
    _EMPTY_GRAPH,
    OnnxExecutor,
    OnnxQuery,
    empty_query,
    to_host,
    with_copies,
)
from runner.backends.onnxruntime.sessions import (
    NO_FALLBACK,
    SPINNING,
    OnnxGraph,
    create_session,
    is_out_of_memory,
    recorded_options,
    session_options,
)
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.graph import Graph
from runner.inputs import synthesise
from tests.support.onnx_graphs import (
    FLOAT,
    KEY,
    WIDTH,
    layer,
    model_of,
    onnx_cell,
    onnx_job,
    perceptron,
    save_graph,
)
from tests.support.words import raises_words

TWO = onnx_job(onnx_cell(1), onnx_cell(3))


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    save_graph(tmp_path, {"forward": layer()})
    return tmp_path


@pytest.fixture
def session(graphs: Path) -> Iterator[OnnxSession]:
    with closing(open_session(TWO, 1, graphs)) as session:
        yield session


def x(rows: int) -> dict[str, np.ndarray]:
    return dict(synthesise(perceptron(), onnx_cell(rows), 0))


def test_a_session_tells_what_it_executes_and_how(session: OnnxSession) -> None:
    columns = session.columns
    assert columns["graph"] == f"{KEY}/dynamic"
    assert columns["inference_precision"] == "float32"
    assert isinstance(columns["execution_options"], dict)
    assert columns["execution_options"]["intra_op_num_threads"] == "1"
    assert not {"compile_time_s", "cached_compile_time_s"} & columns.keys()
    assert session.parameters == WIDTH * WIDTH
    assert (session.threads, session.interop_threads) == (1, 1)
    assert {"onnxruntime", "numpy"} <= session.libraries.keys()


def test_a_dynamic_graph_is_loaded_once_for_all_shapes(session: OnnxSession) -> None:
    first, second = (session.bind(cell, x(cell.batch_size)) for cell in TWO.cells)
    assert first.opened is second.opened
    assert session.arrays(second())["logits"].shape == (3, WIDTH)


def test_a_graph_of_fixed_shape_is_loaded_when_its_shape_is_bound(tmp_path: Path) -> None:
    for rows in (1, 3):
        save_graph(tmp_path, {"forward": layer(rows=rows)}, f"b{rows}")
    with closing(open_session(TWO, 1, tmp_path)) as session:
        assert session.columns["graph"] == f"{KEY}/b1"
        for rows, cell in zip((1, 3), TWO.cells, strict=True):
            query = session.bind(cell, x(rows))
            assert len(session.arrays(query())["logits"]) == rows
            assert session.columns["graph"] == f"{KEY}/b{rows}"


X = np.random.default_rng(1).standard_normal((2, WIDTH)).astype(np.float32)


def opened_in(graphs: Path, graph: Graph) -> OnnxGraph:
    return OnnxGraph(graph, graphs / KEY / graph.shape, cpu_device(), threads=1)


@pytest.fixture
def opened(tmp_path: Path) -> OnnxGraph:
    return opened_in(tmp_path, save_graph(tmp_path, {"decode": layer()}))


@pytest.fixture
def part(opened: OnnxGraph) -> OnnxExecutor:
    return OnnxExecutor(opened, "decode")


def test_what_a_call_gives_the_next_may_take(opened: OnnxGraph, part: OnnxExecutor) -> None:
    first = part({"x": part.place("x", X)})
    second = part.read(part({"x": first["logits"]})["logits"])
    session = opened.sessions["decode"]
    expected = session.run(None, {"x": session.run(None, {"x": X})[0]})[0]
    assert (second == expected).all()


def query_over(graph: OnnxGraph, **inputs: Any) -> OnnxQuery:
    return OnnxQuery(graph, perceptron(), inputs)


@pytest.fixture
def single(tmp_path: Path) -> OnnxGraph:
    return opened_in(tmp_path, save_graph(tmp_path, {"forward": layer()}))


def test_a_binding_keeps_the_outputs_of_a_query_and_steps_of_a_generation_have_new_ones(
    single: OnnxGraph,
) -> None:
    query = query_over(single, x=X)
    first, second = query()["logits"], query()["logits"]
    assert first.data_ptr() == second.data_ptr()
    part = OnnxExecutor(single, "forward")
    feeds = {"x": part.place("x", X)}
    step, following = part(feeds)["logits"], part(feeds)["logits"]
    assert step.data_ptr() != following.data_ptr()


def test_a_query_with_copies_brings_its_inputs_along_in_each_call(single: OnnxGraph) -> None:
    query = query_over(single, x=X.copy())
    expected = to_host(query())["logits"]
    call = with_copies(query)
    for _ in range(2):
        query.inputs["x"].update_inplace(np.zeros_like(X))
        assert (call()["logits"] == expected).all()


def test_parts_hand_on_what_they_give(tmp_path: Path) -> None:
    parts = {"vision": layer("x", "features"), "language": layer("features", "logits")}
    graph = opened_in(tmp_path, save_graph(tmp_path, parts))
    query = query_over(graph, x=X)
    first, second = query(), query()
    assert first.keys() == {"logits"}
    assert len(query.sessions) == 2
    features = graph.sessions["vision"].run(None, {"x": X})[0]
    logits = graph.sessions["language"].run(None, {"features": features})[0]
    assert (second["logits"].numpy() == logits).all()


def test_a_query_that_failed_is_bound_anew(single: OnnxGraph) -> None:
    query = query_over(single, x=X[:, :3])
    for _ in range(2):
        with pytest.raises(Exception, match="invalid dimensions"):
            query()


def test_the_empty_query_hands_its_input_on_by_a_file_that_onnx_writes() -> None:
    x, y = (helper.make_tensor_value_info(name, FLOAT, (1,)) for name in "xy")
    node = helper.make_node("Identity", ["x"], ["y"], "identity")
    model = model_of(helper.make_graph([node], "empty", [x], [y]))
    model.producer_name = "accelmatrix"
    assert onnx.load(_EMPTY_GRAPH) == model
    query: Any = empty_query()
    assert query()["y"].numpy() == 1
    assert query()["y"].numpy() == 1


LAYER = layer().SerializeToString()
GPU = OnnxDevice("cuda", "a GPU", CUDA, memory="cuda")
says_so = pytest.mark.filterwarnings("ignore:Specified provider")


def lenient(fallback: bool) -> onnxruntime.SessionOptions:
    return session_options(1, fallback=fallback)


def test_every_option_that_decides_how_a_session_executes_is_recorded() -> None:
    device = cpu_device()
    session = create_session(LAYER, device, lambda fallback: session_options(2, fallback=fallback))
    recorded = recorded_options([session], device)
    assert recorded == {
        "providers": '{"CPUExecutionProvider": {}}',
        "intra_op_num_threads": "2",
        "inter_op_num_threads": "1",
        "execution_mode": "ORT_SEQUENTIAL",
        "graph_optimization_level": "ORT_ENABLE_ALL",
        "enable_cpu_mem_arena": "True",
        "enable_mem_pattern": "True",
        SPINNING: "1",
        NO_FALLBACK: "0",
        "thread_affinity": "none: the operating system places the threads",
        "io_binding": "inputs and outputs in memory of cpu:0",
    }


@says_so
@pytest.mark.parametrize(("strict", "attempts"), [(False, [False]), (True, [False, True])])
def test_a_session_without_the_claimed_provider_is_none(strict: bool, attempts: list[bool]) -> None:
    """ONNX Runtime warns and takes the CPU; a second attempt alone may leave nodes to it."""
    requested: list[bool] = []

    def options(fallback: bool) -> onnxruntime.SessionOptions:
        requested.append(fallback)
        return session_options(1, fallback=fallback or not strict)

    with raises_words(Unavailable, match=f"a session without {CUDA}, only {CPU}"):
        create_session(LAYER, GPU, options)
    assert requested == attempts


def test_a_graph_without_kernels_is_unsupported_in_the_librarys_words() -> None:
    model = layer(kind=TensorProto.BFLOAT16).SerializeToString()
    with raises_words(Unsupported, match=r"no kernel.*implementation for MatMul\(13\)"):
        create_session(model, cpu_device(), lenient)


def test_what_the_allocators_say_counts_as_lack_of_memory() -> None:
    value = helper.make_tensor_value_info
    shape = value("shape", TensorProto.INT64, (2,))
    zeros = helper.make_node("ConstantOfShape", ["shape"], ["y"])
    graph = helper.make_graph([zeros], "zeros", [shape], [value("y", FLOAT, ("a", "b"))])
    session = create_session(model_of(graph).SerializeToString(), cpu_device(), lenient)
    with pytest.raises(Exception, match="Failed to allocate memory") as caught:
        session.run(None, {"shape": np.array([1 << 20, 1 << 24])})
    assert is_out_of_memory(caught.value)
    assert not is_out_of_memory(RuntimeError("Failed to allocate memory"))
