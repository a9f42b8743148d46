"""Memory held while graphs are read and compiled one after the other."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

from runner.backends.openvino.compile import Compiler
from runner.backends.openvino.device import find_openvino_device
from runner.backends.openvino.graph import OpenVINOGraphs
from runner.contract.errors import Unsupported
from runner.contract.graph import Part
from runner.inputs import synthesise
from tests.support.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph
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


def test_of_several_parts_all_are_dropped_before_the_first_is_compiled(tmp_path: Path) -> None:
    parts: dict[Part, Any] = {"vision": layer("x", "hidden"), "language": layer("hidden")}
    save_graph(tmp_path, parts)
    core = WatchedCore()
    compile_for(loaded(core, tmp_path), 1, 3)
    read = 2
    assert core.held == [0, 1, read, read + 1, read, read + 1]


def test_a_graph_is_dropped_before_the_next_is_read(tmp_path: Path) -> None:
    for rows in (1, 3):
        save_graph(tmp_path, {"forward": layer(rows=rows)}, f"b{rows}")
    core = WatchedCore()
    compile_for(loaded(core, tmp_path), 1, 3)
    assert core.held == [0, 1, 0, 1]


def test_steps_that_read_each_others_outputs_are_dropped_as_well(tmp_path: Path) -> None:
    for rows in (1, 3):
        parts: dict[Part, Any] = {"prefill": layer(rows=rows), "decode": layer(rows=rows)}
        save_graph(tmp_path, parts, f"b{rows}", content="generation")
    core = WatchedCore()
    graphs = loaded(core, tmp_path)
    decode = graphs.of(ONE).executors()["decode"]
    x = decode.place("x", np.ones((1, WIDTH), dtype=np.float32))
    for _ in range(2):
        x = decode({"x": x})["logits"]
    del decode, x
    core.held.clear()
    graphs.of(THREE)
    assert core.held == [0, 1]


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
