"""What memory ONNX Runtime's sessions are said to hold, and what they give back between cells."""

import gc
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, helper

from runner.backends.base import DeviceMemory
from runner.backends.onnxruntime import open_session
from runner.backends.onnxruntime_memory import MemoryGauge
from runner.cell import Cell
from runner.errors import Unsupported
from runner.harness import Folders, Harness
from runner.record import Record, read_record
from tests.fakes import KeptProgress
from tests.onnx_graphs import FLOAT, WIDTH, layer, model_of, onnx_cell, onnx_job, save_graph

MEGABYTE = 1_000_000
BROAD = 4096
SMALL, LARGE = onnx_cell(4), onnx_cell(10_000)


def broad_layer() -> ModelProto:
    """A graph whose inner values take 16 KB for each row, and whose outputs are small."""
    weights = np.random.default_rng(0).standard_normal(WIDTH * BROAD)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Softmax", ["product"], ["shares"]),
        helper.make_node("MatMul", ["shares", "v"], ["logits"]),
    ]
    values = [helper.make_tensor_value_info(name, FLOAT, ("n", WIDTH)) for name in ("x", "logits")]
    weight, turned = (
        helper.make_tensor(name, FLOAT, shape, weights.tolist())
        for name, shape in (("w", (WIDTH, BROAD)), ("v", (BROAD, WIDTH)))
    )
    return model_of(helper.make_graph(nodes, "broad", values[:1], values[1:], [weight, turned]))


def measured(folder: Path, *cells: Cell) -> list[Record]:
    """The records of these cells in one job, whose graphs lie in the folder."""
    out = folder / "-".join(str(cell.batch_size) for cell in cells)
    out.mkdir()
    Harness(onnx_job(*cells), out, KeptProgress(), Folders(graphs=folder)).run()
    gc.collect()
    return [read_record(out / f"{cell.id}.parquet") for cell in cells]


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are reset on Linux alone")
def test_a_small_shape_behind_a_large_one_peaks_as_it_does_alone(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": broad_layer()})
    (alone,) = measured(tmp_path, SMALL)
    large, behind = measured(tmp_path, LARGE, SMALL)
    peaks = [record.memory_peak_bytes or 0 for record in (alone, behind, large)]
    assert [record.status for record in (alone, behind, large)] == ["ok"] * 3
    assert peaks[2] > peaks[0] + 100 * MEGABYTE
    assert peaks[1] < peaks[0] + 30 * MEGABYTE


def test_sessions_are_kept_until_they_have_answered(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    job = onnx_job(SMALL, LARGE)
    inputs = {"x": np.ones((4, WIDTH), dtype=np.float32)}
    with closing(open_session(job, 1, tmp_path)) as session:
        session.trim()
        first = session.bind(SMALL, inputs).opened
        session.trim()
        assert session.bind(SMALL, inputs).opened is not first
        assert session.columns["graph"] == "perceptron/dynamic"


def test_sessions_that_could_not_be_made_anew_are_made_for_the_next_cell(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    inputs = {"x": np.ones((4, WIDTH), dtype=np.float32)}
    with closing(open_session(onnx_job(SMALL), 1, tmp_path)) as session:
        session.bind(SMALL, inputs)
        away = (tmp_path / "perceptron").rename(tmp_path / "away")
        with pytest.raises(Unsupported, match="no prepared graph"):
            session.trim()
        away.rename(tmp_path / "perceptron")
        session.trim()
        assert session.all_finite(session.bind(SMALL, inputs)())


def test_a_graph_of_one_shape_keeps_its_sessions(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer(rows=4)}, "b4")
    inputs = {"x": np.ones((4, WIDTH), dtype=np.float32)}
    with closing(open_session(onnx_job(SMALL), 1, tmp_path)) as session:
        first = session.bind(SMALL, inputs).opened
        session.trim()
        assert session.bind(SMALL, inputs).opened is first


def test_an_accelerators_memory_counts_from_before_the_load() -> None:
    used = [500]
    gauge = MemoryGauge(lambda: used[-1])
    for now, ours in ((800, 300), (400, 0)):
        used.append(now)
        assert gauge.read() == DeviceMemory(allocator_peak_bytes=None, used_bytes=ours)


def test_the_hosts_memory_and_what_the_driver_does_not_tell_are_none() -> None:
    def refuses() -> int:
        raise RuntimeError("GPU is lost")

    assert MemoryGauge(None).read() is None
    assert MemoryGauge(refuses).read() is None
