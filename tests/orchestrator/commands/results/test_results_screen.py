"""Results of a run: table, answer, trust, next steps."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.results.row import ResultRow
from analysis.results.trust import Neighbour, changes
from orchestrator.commands.results.answer_words import answer_lines, change_lines, proof_line
from orchestrator.commands.results.run_report import RunReport, RunsReport
from orchestrator.commands.results.run_words import (
    next_commands,
    print_findings,
    print_results,
    print_runs,
    remarks,
)
from orchestrator.screen.words.doubts import doubt_text
from orchestrator.screen.words.reasons import remedy_text
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from runner.contract.record.verdict import Doubt
from tests.orchestrator.conftest import Screen
from tests.support.results import a_failed_row, a_neighbour, a_row


def noisy(cell_id: str, doubt: Doubt) -> ResultRow:
    return a_row(cell_id, doubts=[doubt])


def scatter(cv: float) -> Doubt:
    return Doubt("scatter", "B", cv, "longer_or_quieter")


def remedy(status: str) -> str:
    return f"  remedy: {remedy_text(status, None)}"


def incorrect(cell_id: str, correct: bool | None, text: str, verdict: str) -> ResultRow:
    known = {"correct_code": "said", "correct_facts": {"text": text}, "correct_reason": text}
    return a_row(cell_id, correct=correct, **known, remedy=remedy_text(verdict, None))


SAVING = Doubt("governor", "B", None, "governor")
POWERSAVE = doubt_text(SAVING)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([a_failed_row("b", "lost", "died")], ["b: lost: died", remedy("lost")]),
        (
            [noisy("0", SAVING), *(a_failed_row(x, "unavailable", "no image") for x in "xy")],
            ["2 of 3 cells: unavailable: no image", remedy("unavailable"), f"0: {POWERSAVE}"],
        ),
        (
            [noisy(x, scatter(cv)) for x, cv in (("a", 0.18), ("b", 0.205), ("c", 10.0))],
            [f"3 of 3 cells, such as a: {doubt_text(scatter(0.18))}"],
        ),
        (
            [
                incorrect("a", False, "relative difference 0.3 beyond 0.01", "wrong"),
                incorrect("b", None, "no reference: killed", "unverified"),
            ],
            [
                "a: not correct, so views leave it out: relative difference 0.3 beyond 0.01",
                remedy("wrong"),
                "b: no reference: killed",
                remedy("unverified"),
            ],
        ),
    ],
    ids=["failure", "two", "numbers differ", "not correct"],
)
def test_remarks_say_once_what_is_wrong(rows: list[ResultRow], said: list[str]) -> None:
    assert list(remarks(rows)) == said


HEADING = "bert-tiny, torch, fp32, 128 tokens, inference · AMD EPYC, 2 cores · docker"


def a_report(
    rows: Sequence[ResultRow], database: Path = RESULTS_FOLDER / DATABASE_NAME, **changes: Any
) -> RunReport:
    return RunReport("run-1", database, tuple(rows), **changes)


def batches(**changes: Any) -> list[ResultRow]:
    """Three batches of one model: 8 is the fastest by far."""
    return [
        a_row(f"b{size}", batch_size=size, throughput=size / ms * 1000, **interval(ms) | changes)
        for size, ms in ((1, 2.0), (8, 4.0), (4, 4.0))
    ]


def interval(median_ms: float, share: float = 0.01) -> dict[str, Any]:
    return {
        "latency_median_ms": median_ms,
        "latency_median_low_ms": median_ms * (1 - share),
        "latency_median_high_ms": median_ms * (1 + share),
        "latency_precision": share,
    }


def test_a_heading_holds_what_is_shared_and_columns_what_varies(screen: Screen) -> None:
    heading, columns, *rows = screen.lines(print_results, a_report(batches()))
    assert heading == HEADING.replace("torch", "cpu, torch")
    assert columns.split("  ")[0] == "batch"
    assert [row.split()[:2] for row in rows[:3]] == [["8", "4"], ["4", "4"], ["1", "2"]]
    assert rows[3] == "all 3: device proven, outputs agree with fp32"


@pytest.mark.parametrize(
    ("changes", "headings"),
    [
        ({}, ["median ms", "± %", "mean samples/s", "peak MB", "grade"]),
        (
            {
                "mode": "generation",
                "new_tokens": 8,
                "token_throughput": 42.5,
                "time_to_first_token_median_ms": 20.0,
                "time_per_output_token_median_ms": 2.5,
            },
            ["ttft ms", "ms/token", "mean tokens/s", "peak MB", "grade", "median ms", "± %"],
        ),
        (
            {"scenario": "server", "slo_ms": 100.0, "peak_qps": 42.5, "peak_qps_high": 44.0},
            ["median ms", "± %", "peak q/s", "at most q/s", "peak MB", "grade"],
        ),
        (
            {"status": "failed", "grade": None, "latency_median_ms": None, "throughput": None},
            ["verdict"],
        ),
    ],
    ids=["inference", "generation", "server", "failed"],
)
def test_columns_are_those_that_say_something(
    screen: Screen, changes: dict[str, Any], headings: list[str]
) -> None:
    _, columns, *_ = screen.lines(print_results, a_report([a_row("cell-1", **changes)]))
    assert re.split("  +", columns) == headings


INT8 = {"precision": "int8", "off": 0.048, "memory_mb": 150.0}


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        (
            batches(),
            [
                "fastest: batch 8: 0.5 ms a sample, 2.00 (1.97 to 2.03) times as fast as batch 4",
                "shortest query: batch 1: 2 ms",
            ],
        ),
        (
            [a_row("plain", **interval(2.0)), a_row("fast", **INT8, **interval(1.0))],
            [
                "fastest: int8: 1 ms, 2.00 (1.97 to 2.03) times as fast as fp32; "
                "150 MB instead of 301; outputs off by 4.8 %"
            ],
        ),
        (
            [
                a_row("a", **interval(1.0)),
                a_row("b", runtime="onnxruntime", **interval(1.03)),
                a_row("c", runtime="openvino", **interval(9.0), grade="D"),
            ],
            ["fastest: torch or onnxruntime, equal within 5 %. Undecided (grade D): openvino"],
        ),
        (
            [a_row("a", grade="D"), a_row("b", precision="int8", grade="D")],
            ["measure again: of 2 results 2 undecided (grade D)"],
        ),
        (
            [a_row("a"), a_row("b", precision="int8", correct=False, correct_reason="they differ")],
            [
                "only fp32 can be quoted: 0.81 ms. "
                "Not comparable (outputs do not agree with the reference): int8"
            ],
        ),
        ([a_row("a")], []),
    ],
    ids=["batches", "int8", "not told apart", "grade D", "wrong", "one"],
)
def test_the_answer_says_what_the_measurements_support(
    rows: list[ResultRow], answer: list[str]
) -> None:
    assert list(answer_lines(a_report(rows))) == answer


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([a_row("a")], "device proven, outputs agree with fp32"),
        (
            [a_row("a", **INT8, tolerance=0.1)],
            "device proven, outputs within what int8 may do to this model: off by 4.8 %, allowed"
            " 10 %",
        ),
        (
            [
                *(a_row("a", **INT8, tolerance=0.1), a_row("b")),
                a_row("c", **INT8 | {"off": 0.298, "model": "gpt2"}, tolerance=0.35),
            ],
            "all 3: device proven, fp32 outputs agree with the reference, int8 outputs within what"
            " int8 may do to these models: off by 4.8 to 29.8 %, allowed 10 to 35 %",
        ),
        ([a_row("a", correct=False)], "device proven"),
    ],
)
def test_outputs_below_fp32_are_said_to_be_off_by_what_they_are(
    rows: list[ResultRow], line: str
) -> None:
    assert proof_line(rows) == line


def busy(share: float) -> Doubt:
    return Doubt("other_load", "D", share, "stop_them")


BENCH = "orchestrator bench --model bert-tiny --profile quick --json --sort id"


def test_trust_names_the_worst_grade_its_cause_and_a_command(screen: Screen) -> None:
    rows = [
        a_row(f"b{size}", batch_size=size, grade=grade, doubts=[busy(load), SHORT])
        for size, grade, load in ((1, "D", 0.28), (2, "D", 0.64), (4, "C", 0.14))
    ]
    lines = screen.lines(print_results, a_report(rows, command=BENCH))
    where = lines.index(
        "grade D: 2 of 3 cells (1 C): other processes used 28 to 64 % of the CPU time"
    )
    assert lines[where + 1 : where + 3] == [
        "Stop them, then:",
        "  orchestrator bench --model bert-tiny --profile standard",
    ]


SHORT = Doubt("few_iterations", "B", 9, "raise_duration")


@pytest.mark.parametrize(
    ("rows", "command", "database", "offered"),
    [
        ([a_failed_row("a", "failed", "died")], BENCH, "benchmarks.duckdb", []),
        (
            [a_row("a", grade="D", doubts=[SHORT])],
            BENCH,
            "benchmarks.duckdb",
            ["report run run-1 --results .", "status run-1 --why --results ."],
        ),
        (
            [a_row("a", mode="generation")],
            BENCH,
            "there/benchmarks.duckdb",
            [
                "report run run-1 --results there",
                "export generation --output generation.csv --results there",
            ],
        ),
        (
            [a_row("a"), a_row("b", batch_size=8)],
            None,
            "x.duckdb",
            [
                "compare --by batch_size --run run-1 --database x.duckdb",
                "report run run-1 --database x.duckdb",
                "export performance --output performance.csv --database x.duckdb",
            ],
        ),
    ],
    ids=["nothing measured", "grade D", "generation", "batches"],
)
def test_what_is_next_fits_what_was_run(
    rows: list[ResultRow], command: str | None, database: str, offered: list[str]
) -> None:
    report = a_report(rows, Path(database), command=command)
    assert list(next_commands(report)) == offered


def an_earlier_result(**values: Any) -> Neighbour:
    return a_neighbour(a_row("a", grade="C", **interval(64.7)), **values)


@pytest.mark.parametrize(
    ("same", "grade", "why"),
    [(True, "C", "same software"), (False, "C", "other software"), (True, "D", "grade D")],
)
def test_what_changed_since_the_last_run_is_named(same: bool, grade: str, why: str) -> None:
    rows = [a_row("a", precision="int8", grade=grade, **interval(1217.0))]
    lines = change_lines(changes(rows, [an_earlier_result(same_software=same)]), rows)
    assert list(lines) == [
        f"changed: bert-tiny cpu torch int8 1,217 ms, was 64.7 ms on 2026-11-21 ({why})"
    ]


def test_the_runs_of_a_group_are_one_document(screen: Screen) -> None:
    runs = (a_report([noisy("a", scatter(0.18))]), a_report([a_row("b")]))
    group = RunsReport(runs, "group-1")
    assert screen.data(print_runs, group) == {
        "group_id": "group-1",
        "runs": [screen.data(print_results, run) for run in runs],
    }
    assert screen.data(print_runs, RunsReport(runs[:1])) == screen.data(print_results, runs[0])
    shown = screen.lines(print_runs, group)
    assert sum(line.startswith("run run-1: ") for line in shown) == 2
    assert [one["findings"] for one in screen.data(print_findings, group)["runs"]] == [
        [f"a: {doubt_text(scatter(0.18))}"],
        [],
    ]


def test_json_holds_rows_answers_and_changes(screen: Screen) -> None:
    rows = [*batches(), a_row("text", mode="generation"), a_failed_row("c", "timeout", "5 s")]
    data = screen.data(print_results, a_report(rows))
    assert [row["cell_id"] for row in data["results"]] == ["b1", "b8", "b4", "text", "c"]
    assert [row["throughput"] for row in data["results"]][1::2] == [2000.0, None]
    answer = data["answers"][0]
    assert answer["fastest"]["cell"] == "b8"
    assert answer["fastest"]["next"]["times_as_fast"]["value"] == 2.0
    assert data["changes"] == []
