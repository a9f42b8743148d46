"""Prepared graphs and verdicts of a verification on the screen."""

from dataclasses import replace

from orchestrator.commands.measure.prepare import Preparation, PreparedGraph
from orchestrator.commands.measure.verification import Verification
from orchestrator.commands.measure.verify_words import print_prepared, print_verification
from tests.orchestrator.conftest import Screen
from tests.support.results import a_cell, a_verification

MADE = PreparedGraph(
    "bert-tiny", "forward", "fp32", "dynamic", "dynamic shapes", 1.5e-7, 2 << 20, 4.51
)
FAILED = PreparedGraph(
    "qwen2-vl", "forward", "fp32", "b1", failure="dynamic shapes: a guard\nparts: no"
)
NOT_BUILT = a_cell("unsupported", "no prepared graph: a guard", model="t5", runtime="onnxruntime")
FOUND = a_verification(a_cell(), a_cell(runtime="onnxruntime"), a_cell(model="t5"), NOT_BUILT)


def test_every_graph_has_a_row_and_every_failure_one_line(screen: Screen) -> None:
    prepared = Preparation((MADE, FAILED, replace(FAILED, shape="b2")))
    lines = screen.lines(print_prepared, prepared)
    assert [line.split()[4:] for line in lines[:3]] == [
        ["exported", "by", "difference", "size", "seconds"],
        ["dynamic", "shapes", "1.5e-07", "2MiB", "4.51"],
        ["failed", "–", "–", "–"],
    ]
    assert lines[0].split()[:4] == ["model", "content", "numbers", "shape"]
    assert lines[4:] == [
        "",
        "qwen2-vl (forward, fp32): dynamic shapes: a guard; parts: no",
        "1 of 3 graphs at hand",
    ]
    made, failed, _ = screen.data(print_prepared, prepared)
    assert (made["remedy"], made["size_bytes"]) == ("dynamic shapes", 2 << 20)
    assert (failed["remedy"], failed["failure"]) == (None, "dynamic shapes: a guard\nparts: no")


def test_the_table_shows_every_model_on_every_path_and_the_reasons(screen: Screen) -> None:
    lines = screen.words(print_verification, FOUND)
    assert lines[:3] == [
        ["model", "mode", "cpu", "torch", "cpu", "onnxruntime"],
        ["bert-micro", "inference", "ok", "ok"],
        ["t5", "inference", "ok", "unsupported", "[1]"],
    ]
    assert " ".join(lines[4]) == "[1] no prepared graph: a guard"
    assert " ".join(lines[5]) == "4 cells: 3 ok, 1 unsupported"
    assert lines[6][:3] == ["ok:", "works", "on"]
    assert Verification.model_validate(screen.data(print_verification, FOUND)) == FOUND
