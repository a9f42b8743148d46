"""Memory held while graphs are read and compiled one after the other."""

import weakref
from pathlib import Path
from typing import Any

import openvino as ov

from runner.backends.openvino.device import Compiler, find_openvino_device
from runner.backends.openvino.graph import OpenVINOGraphs
from runner.contract.errors import Unsupported
from runner.inputs import synthesise
from tests.support.onnx_graphs import KEY, layer, perceptron, save_graph
from tests.support.openvino_models import openvino_cell, openvino_job
from tests.support.words import raises_words

ONE, THREE = openvino_cell(1), openvino_cell(3)
JOB = openvino_job(ONE, THREE)


class WatchedCore:
    """OpenVINO; notes how much of what it gave is held as it is asked for more."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self._core = ov.Core()
        self._given: list[weakref.ref[Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def read_model(self, path: Path) -> ov.Model:
        return self._give(self._core.read_model, path)

    def compile_model(self, *arguments: Any) -> ov.CompiledModel:
        return self._give(self._core.compile_model, *arguments)

    def _give(self, make: Any, *arguments: Any) -> Any:
        self.held.append(sum(given() is not None for given in self._given))
        created = make(*arguments)
        self._given.append(weakref.ref(created))
        return created


def loaded(core: WatchedCore, graphs: Path) -> OpenVINOGraphs:
    compiler = Compiler(core, find_openvino_device(core, "CPU"), "fp32", threads=1)
    core.held.clear()
    core._given.clear()
    return OpenVINOGraphs(JOB, core, compiler, graphs)


def compile_for(graphs: OpenVINOGraphs, *rows: int) -> None:
    for count in rows:
        cell = openvino_cell(count)
        graphs.of(cell).compile(synthesise(perceptron(), cell, 0))


def test_a_shape_is_dropped_before_the_next_is_compiled(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    core = WatchedCore()
    compile_for(loaded(core, tmp_path), 1, 3, 3, 1)
    assert core.held == [0, 1, 1, 1]


def test_a_graph_that_cannot_be_read_leaves_none(tmp_path: Path) -> None:
    for rows in (1, 3):
        save_graph(tmp_path, {"forward": layer(rows=rows)}, f"b{rows}")
    file = tmp_path / KEY / "b3" / "forward.onnx"
    file.write_bytes(b"\0" * file.stat().st_size)
    graphs = loaded(WatchedCore(), tmp_path)
    assert graphs.of(ONE) is graphs.latest
    with raises_words(Unsupported, match="cannot read the graph"):
        graphs.of(THREE)
    assert graphs.latest is None
    assert graphs.of(ONE) is graphs.latest
