"""Verdicts as a table: models × paths, with each reason once below."""

import pytest

from orchestrator.commands.measure.verification import verdict_table
from tests.support.results import a_cell


def test_models_are_rows_paths_are_columns_reasons_stand_below_once() -> None:
    guard = "no prepared graph: a guard"
    cells = [
        a_cell(),
        a_cell("unsupported", guard, runtime="onnxruntime"),
        a_cell(model="t5-micro"),
        a_cell("unsupported", guard, model="t5-micro", runtime="onnxruntime"),
        a_cell("wrong", "differs", model="t5-micro", mode="generation"),
    ]
    table = verdict_table(cells)
    assert table.columns == ("cpu torch", "cpu onnxruntime")
    assert [(row.model, row.mode) for row in table.rows] == [
        ("bert-micro", "inference"),
        ("t5-micro", "inference"),
        ("t5-micro", "generation"),
    ]
    assert table.reasons == (guard, "differs")
    assert [table.text(row, "cpu torch") for row in table.rows] == ["ok", "ok", "wrong [2]"]
    assert [table.text(row, "cpu onnxruntime") for row in table.rows] == [
        "unsupported [1]",
        "unsupported [1]",
        "",
    ]


def test_columns_tell_precisions_other_than_fp32_alone() -> None:
    other = {"backend": "qnn", "runtime": "onnxruntime", "precision": "fp16"}
    openvino = {"backend": "openvino", "runtime": "openvino"}
    table = verdict_table([a_cell(), a_cell(precision="int8"), a_cell(**other), a_cell(**openvino)])
    assert table.columns == ("cpu torch fp32", "cpu torch int8", "qnn fp16", "openvino")


def test_generation_by_a_model_that_writes_no_tokens_takes_no_row() -> None:
    no = "generation is not possible with bert-micro: its task is fill-mask"
    cells = [
        a_cell(),
        a_cell("unsupported", no, mode="generation"),
        a_cell("unsupported", no, mode="generation", runtime="onnxruntime"),
    ]
    table = verdict_table(cells)
    assert [row.mode for row in table.rows] == ["inference"]
    assert table.reasons == ()


def test_one_path_keeps_the_models_that_it_cannot_run() -> None:
    openvino = {"backend": "openvino", "runtime": "openvino"}
    cells = [
        a_cell("unsupported", "a guard", **openvino),
        a_cell("unsupported", "a loop", model="gpt2-micro", mode="generation", **openvino),
    ]
    table = verdict_table(cells)
    assert [(row.model, table.text(row, "openvino")) for row in table.rows] == [
        ("bert-micro", "unsupported [1]"),
        ("gpt2-micro", "unsupported [2]"),
    ]
    assert table.reasons == ("a guard", "a loop")


def test_a_reason_shared_by_all_paths_keeps_the_row() -> None:
    no = {"mark": "unsupported", "reason": "no prepared graph: a guard"}
    table = verdict_table([a_cell(**no), a_cell(**no, runtime="onnxruntime")])
    assert [row.model for row in table.rows] == ["bert-micro"]
    assert table.reasons == (no["reason"],)


@pytest.mark.parametrize(
    ("mark", "changes"),
    [
        ("failed", {}),
        ("ok", {"mode": "generation"}),
        ("unsupported", {"mode": "generation", "model": "not-in-the-catalogue"}),
        ("unsupported", {"mode": "training"}),
    ],
    ids=["failed", "worked", "unknown", "other-mode"],
)
def test_what_may_be_possible_keeps_its_row(mark: str, changes: dict[str, str]) -> None:
    assert len(verdict_table([a_cell(mark, "x", **changes)]).rows) == 1
