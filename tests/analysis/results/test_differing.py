"""What rows share, and what tells them apart."""

from typing import Any

import pytest

from analysis.results.differing import (
    are_distinct,
    fact_words,
    fewest_facts,
    questions,
    shared,
    shared_words,
    telling,
    varying,
)

NAMES = ("model", "backend", "runtime", "batch_size", "sequence_length", "scenario")


def a_row(**changes: Any) -> dict[str, Any]:
    return {
        "model": "bert",
        "backend": "cpu",
        "runtime": "torch",
        "batch_size": 1,
        "sequence_length": 128,
        "scenario": "single_stream",
        "hardware": "A CPU",
        "cores": 4,
        "launcher": "process",
    } | changes


TOLD_BY_RUNTIME = [a_row(), a_row(backend="openvino", runtime="openvino")]
TOLD_BY_BACKEND = [a_row(), a_row(backend="cuda"), a_row(backend="webgpu", runtime="ort")]
TOLD_BY_BOTH = [*TOLD_BY_RUNTIME, a_row(runtime="openvino")]
OF_MODELS = [a_row(), a_row(model="gpt2", sequence_length=64)]
OF_SIZES = [*OF_MODELS, a_row(sequence_length=64)]


@pytest.mark.parametrize(
    ("rows", "all_names", "told", "asked"),
    [
        ([a_row()], [], [], []),
        (TOLD_BY_RUNTIME, ["backend", "runtime"], ["runtime"], ["runtime"]),
        (TOLD_BY_BACKEND, ["backend", "runtime"], ["backend"], ["backend"]),
        (TOLD_BY_BOTH, *[["backend", "runtime"]] * 3),
        (OF_MODELS, *[["model", "sequence_length"]] * 2, ["model"]),
        (OF_SIZES, *[["model", "sequence_length"]] * 3),
    ],
)
def test_facts_that_follow_from_others_tell_nothing(
    rows: list[dict[str, Any]], all_names: list[str], told: list[str], asked: list[str]
) -> None:
    assert varying(rows, NAMES) == all_names
    assert telling(rows, NAMES) == told
    assert questions(rows, NAMES) == asked
    assert all(shared(rows, NAMES)[name] == rows[0][name] for name in {*NAMES} - {*all_names})


def test_as_few_facts_as_tell_rows_apart_are_kept() -> None:
    assert fewest_facts(TOLD_BY_RUNTIME, NAMES) == ["backend"]
    assert are_distinct(TOLD_BY_RUNTIME, ["backend"])
    assert not are_distinct(TOLD_BY_BOTH, ["runtime"])


def test_what_is_shared_is_said_with_machine_and_launcher() -> None:
    rows = [a_row(), a_row(batch_size=8, hardware=None)]
    assert shared_words(rows, NAMES) == ("bert, cpu, torch, 128 tokens · A CPU, 4 cores · process")
    assert shared_words(TOLD_BY_RUNTIME[1:], NAMES[:3]) == (
        "bert, openvino · A CPU, 4 cores · process"
    )


def test_facts_are_named_as_sentences_do() -> None:
    facts = {"batch_size": 8, "asked_threads": 1, "model": None}
    assert fact_words(facts) == ["batch 8", "1 thread"]
