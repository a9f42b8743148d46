"""A matrix of named cells expands to these, whatever they are and wherever the file lies."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.matrix import (
    Combiner,
    cells_document,
    cells_text,
    load_matrix,
    matrix_source,
    resolve,
)
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


Entry = dict[str, str | int | float]
Lists = dict[str, list[str | int | float]]


def combine(lists: Lists, include: Sequence[Entry], exclude: Sequence[Entry]) -> list[Entry]:
    return list(Combiner[str](include, exclude).combinations([lists]))


def as_documented(lists: Lists, include: Sequence[Entry], exclude: Sequence[Entry]) -> list[Entry]:
    """GitHub's rules, sentence by sentence, without a thought for speed."""
    originals = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    originals = [
        one for one in originals if not any(entry.items() <= one.items() for entry in exclude)
    ]
    extended = [dict(one) for one in originals]
    new = []
    for entry in include:
        fits = [
            place
            for place, one in enumerate(originals)
            if all(one[key] == value for key, value in entry.items() if key in one)
        ]
        for place in fits:
            extended[place].update(entry)
        if not fits:
            new.append(dict(entry))
    return extended + new


def test_githubs_own_example() -> None:
    lists: Lists = {"fruit": ["apple", "pear"], "animal": ["cat", "dog"]}
    include: list[Entry] = [
        {"color": "green"},
        {"color": "pink", "animal": "cat"},
        {"fruit": "apple", "shape": "circle"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]
    assert combine(lists, include, []) == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_an_entry_that_fits_one_of_several_products_is_no_combination_of_its_own() -> None:
    combiner = Combiner[str]([{"a": 2, "c": 9}], [])
    found = list(combiner.combinations([{"a": [1]}, {"a": [2]}]))
    assert found == [{"a": 1}, {"a": 2, "c": 9}]


def test_tells_which_excludes_dropped_nothing() -> None:
    combiner = Combiner[str]([], [{"a": 1}, {"a": 3}, {"b": 1}])
    assert list(combiner.combinations([{"a": [1, 2]}])) == [{"a": 2}]
    assert combiner.useless_excludes == [1, 2]


_VALUES = st.sampled_from([0, 1, 0.5])
_LISTS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(_VALUES, min_size=1, max_size=3, unique=True), min_size=1
)
_ENTRIES = st.lists(st.dictionaries(st.sampled_from("abcdef"), _VALUES, min_size=1), max_size=6)


@given(_LISTS, _ENTRIES, _ENTRIES)
def test_agrees_with_the_documentation(
    lists: Lists, include: list[Entry], exclude: list[Entry]
) -> None:
    assert combine(lists, include, exclude) == as_documented(lists, include, exclude)
