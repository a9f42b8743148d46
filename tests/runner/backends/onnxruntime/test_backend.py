"""Sessions of ONNX Runtime, beyond what every runtime promises."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.backends.onnxruntime import backend
from runner.backends.onnxruntime.backend import OnnxSession, open_session
from runner.contract.errors import Unavailable, Unsupported
from runner.inputs import synthesise
from tests.support.fakes import FakeClock
from tests.support.machines import SLOW_CPU, slow_processor
from tests.support.onnx_graphs import KEY, WIDTH, layer, onnx_cell, onnx_job, perceptron, save_graph
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


def test_a_first_cell_without_a_graph_leaves_the_others_theirs(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer(rows=3)}, "b3")
    with closing(open_session(TWO, 1, tmp_path)) as session:
        with raises_words(Unsupported, match="no prepared graph"):
            session.bind(TWO.cells[0], x(1))
        query = session.bind(TWO.cells[1], x(3))
        assert len(session.arrays(query())["logits"]) == 3


def test_loading_makes_no_inputs_where_nothing_is_compiled(graphs: Path) -> None:
    unknown = perceptron().inputs[0].model_copy(update={"shape": ("sequence_length",)})
    model = perceptron().model_copy(update={"inputs": (unknown,)})
    with raises_words(Unsupported, match="needs a sequence_length"):
        synthesise(model, onnx_cell(1), 0)
    job = onnx_job(onnx_cell(1), model=model)
    with closing(open_session(job, 1, graphs)) as session:
        assert session.stages_ns["weights"] > 0


def test_outputs_that_are_not_finite_are_noticed(session: OnnxSession) -> None:
    query = session.bind(TWO.cells[0], {"x": np.full((1, WIDTH), np.inf, dtype=np.float32)})
    assert not session.all_finite(query())


def test_arrays_outlive_the_next_query(session: OnnxSession) -> None:
    query = session.bind(TWO.cells[0], x(1))
    kept = session.arrays(query())["logits"]
    query.inputs["x"].update_inplace(np.zeros((1, WIDTH), dtype=np.float32))
    assert not session.arrays(query())["logits"].any()
    assert kept.any()


def test_precisions_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    job = onnx_job(onnx_cell(precision="fp16"))
    with raises_words(Unsupported, match="computes fp16 graphs in fp32"):
        open_session(job, 1, tmp_path / "missing")


def test_a_gpu_that_this_build_cannot_use_is_unavailable(graphs: Path) -> None:
    with raises_words(Unavailable, match="no CUDAExecutionProvider here"):
        open_session(onnx_job(onnx_cell(backend="cuda")), 1, graphs)


def test_with_copies_a_query_is_bound_once(
    graphs: Path, session: OnnxSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = session.bind_host_to_host(TWO.cells[0], x(1))
    expected = session.arrays(session.bind(TWO.cells[0], x(1))())["logits"]
    first: Any = query()
    (graphs / KEY).rename(graphs / "away")
    monkeypatch.setattr("runner.backends.onnxruntime.query.BoundPart", None)
    second: Any = query()
    assert (first["logits"] == expected).all()
    assert (second["logits"] == expected).all()


def test_reading_the_processors_name_is_no_part_of_a_start(
    graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(backend, "monotonic", clock)
    with slow_processor(clock), closing(open_session(TWO, 1, graphs)) as session:
        assert session.device_name == SLOW_CPU
        assert session.stages_ns == {"instantiate": 1, "weights": 1}


def test_a_closed_session_holds_nothing(graphs: Path) -> None:
    session = open_session(TWO, 1, graphs)
    session.close()
    with pytest.raises(StopIteration):
        _ = session._graphs.latest
