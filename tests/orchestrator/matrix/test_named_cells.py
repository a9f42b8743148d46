"""A matrix of named cells expands to these, whatever they are and wherever the file lies."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.matrix import cells_document, cells_text, load_matrix, matrix_source, resolve
from orchestrator.planning.expand import expand
from runner.contract.cell import Cell
from tests.support.weights import a_weights_folder

ONE = {"name": "ours", "family": "embedding", "size": "tiny", "modality": "text"}
TWO = [{**ONE, "name": "no"}, {**ONE, "name": "1.5"}]
MATRIX: dict[str, Any] = {
    "version": 1,
    "axes": {
        "model": ["bert-tiny", "gpt2-micro", "vit-micro", "one.json", "two.json", "./weights"],
        "backend": ["cpu", "openvino"],
        "runtime": ["default", "onnxruntime"],
        "precision": ["fp32", "bf16"],
        "batch_size": [1, 3],
        "mode": ["inference", "generation", "training", "startup"],
        "scenario": ["single_stream", "offline", "server"],
        "threads": [1, 2],
        "training_precision": ["mixed", "pure"],
    },
    "include": [{"target_qps": 2.5}],
    "measure": {"profile": "quick", "max_duration": "9s"},
    "limits": {"memory": "2GiB"},
    "backends": {
        "openvino": {"axes": {"batch_size": [5]}, "limits": {"memory": "1GiB"}},
        "cuda": {"limits": {"memory": "1GiB"}},
    },
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("matrices")
    for name, content in (("matrix.json", MATRIX), ("one.json", [ONE]), ("two.json", TWO)):
        (folder / name).write_text(json.dumps(content))
    a_weights_folder(folder / "weights")
    return folder / "matrix.json"


def cells_in(path: Path) -> list[Cell]:
    return [cell for cell, _ in expand(load_matrix(path)).cells]


@pytest.mark.parametrize("where", [".", "below/deep", ".."])
def test_the_written_matrix_has_exactly_these_cells(path: Path, where: str) -> None:
    source = matrix_source(path)
    chosen = cells_in(path)[::7]
    assert len({cell.model for cell in chosen}) == 7
    folder = path.parent / where
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "next.yaml"
    written.write_text(cells_text(cells_document(chosen, source, folder), "chosen"))
    assert cells_in(written) == chosen
    matrix, original = load_matrix(written), load_matrix(path)
    for backend in ("cpu", "openvino"):
        assert matrix.measure[backend] == original.measure[backend]
        assert matrix.limits[backend] == original.limits[backend]
    for name in {cell.model for cell in chosen}:
        assert matrix.models[name].config == original.models[name].config
        assert matrix.models[name].revision == original.models[name].revision


def test_a_matrix_for_a_pipe_names_files_from_the_root(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = cells_in(path)[::7]
    text = cells_text(cells_document(chosen, matrix_source(path), None), "chosen")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "piped.yaml").write_text(text)
    assert cells_in(tmp_path / "piped.yaml") == chosen


def test_overrides_are_part_of_it(path: Path) -> None:
    source = matrix_source(path, ["measure.iterations=7", "axes.model=bert-tiny"])
    cells = [cell for cell, _ in expand(resolve(source)).cells]
    document = cells_document(cells[:1], source, path.parent)
    assert document["measure"] == {**MATRIX["measure"], "iterations": 7}
    assert document["include"] == [
        {
            "model": "bert-tiny",
            "backend": "cpu",
            "runtime": "torch",
            "precision": "fp32",
            "batch_size": 1,
            "sequence_length": 128,
            "mode": "inference",
            "threads": 1,
        }
    ]
    assert "backends" not in document
