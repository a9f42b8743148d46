"""Results of a run, remarks on them, and the report of a merge."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.app.measure.run import RunReport
from orchestrator.render.results import print_merged, print_results, remarks
from orchestrator.store import Damaged, MergeReport, ResultRow
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from tests.support.results import a_failed_row, a_row

DATABASE = Path("benchmarks.duckdb")
REPORT = MergeReport(3, 2, 1, (Damaged(Path("a.parquet"), "truncated"),), ("run/cell",))


def test_a_merge_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_merged(REPORT, DATABASE, as_json=False)
    assert capsys.readouterr().out == "3 inserted, 2 replaced, 1 unchanged\n"


def test_a_merge_of_nothing_names_the_database(capsys: pytest.CaptureFixture[str]) -> None:
    print_merged(MergeReport(damaged=REPORT.damaged), DATABASE, as_json=False)
    told = capsys.readouterr().out
    assert (
        told == "0 inserted, 0 replaced, 0 unchanged: nothing was merged into benchmarks.duckdb\n"
    )


def test_a_merge_as_json_has_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_merged(REPORT, DATABASE, as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "inserted": 3,
        "replaced": 2,
        "unchanged": 1,
        "damaged": [{"file": "a.parquet", "reason": "truncated"}],
        "refused": ["run/cell"],
    }


def said(*rows: ResultRow) -> list[str]:
    return list(remarks(rows))


def test_a_sound_result_needs_no_remark() -> None:
    assert said(a_row("a"), a_row("b")) == []


def test_a_failure_says_why() -> None:
    assert said(a_row("a"), a_failed_row("b", "lost", "died")) == ["b: lost: died"]


def test_the_same_reason_for_many_cells_is_one_line() -> None:
    rows = [a_row(str(number), grade_reasons=["governor is powersave: …"]) for number in range(16)]
    assert said(*rows) == ["16 of 16 cells: governor is powersave: …"]
    failed = [a_failed_row(name, "unavailable", "no image") for name in ("x", "y")]
    assert said(*rows[:1], *failed) == [
        "0: governor is powersave: …",
        "2 of 3 cells: unavailable: no image",
    ]


def test_reasons_that_differ_in_numbers_alone_are_one_line_with_an_example() -> None:
    rows = [
        a_row(name, grade_reasons=[f"cv {spread} %: measure longer"])
        for name, spread in (("a", "18"), ("b", "20.5"), ("c", "1,000"))
    ]
    assert said(*rows) == ["3 of 3 cells, such as a: cv 18 %: measure longer"]


def test_different_reasons_stay_apart() -> None:
    rows = [a_row("a", grade_reasons=["cv 18 %: …", "drift 3 %: …"]), a_row("b")]
    assert said(*rows) == ["a: cv 18 %: …", "a: drift 3 %: …"]


def test_wrong_outputs_are_named_and_what_was_not_verified_too() -> None:
    wrong = a_row("a", correct=False, correct_reason="relative difference 0.3 beyond 0.01")
    unknown = a_row("b", correct=None, correct_reason="no reference: killed")
    assert said(wrong, unknown) == [
        "a: not correct, so views leave it out: relative difference 0.3 beyond 0.01",
        "b: no reference: killed",
    ]


Capture = pytest.CaptureFixture[str]

ROWS = [
    a_row("cell-1"),
    a_failed_row("cell-2", "timeout", "not done after 5 s"),
]


def a_report(
    rows: Sequence[ResultRow],
    database: Path = RESULTS_FOLDER / DATABASE_NAME,
    traces: Sequence[Path] = (),
) -> RunReport:
    return RunReport("run-1", database, tuple(rows), tuple(traces))


def test_results_are_a_table_with_reasons_sums_and_next_steps(capsys: Capture) -> None:
    print_results(a_report(ROWS, Path("elsewhere.duckdb")), as_json=False)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].split("  ")[0] == "cell"
    assert lines[1].split() == [
        *("cell-1", "ok", "0.81", "2", "1,234", "301", "B", "proven", "yes"),
    ]
    assert "cell-2: timeout: not done after 5 s" in lines
    assert "run run-1: 1 ok, 1 timeout" in lines
    assert "database: elsewhere.duckdb" in lines
    commands = lines[lines.index("next:") + 1 :]
    assert len(commands) == 3
    assert all(command.endswith("--database elsewhere.duckdb") for command in commands)


def test_the_default_database_need_not_be_named(capsys: Capture) -> None:
    print_results(a_report(ROWS), as_json=False)
    assert "--database" not in capsys.readouterr().out


def test_tokens_are_shown_where_some_are_generated(capsys: Capture) -> None:
    rows = [a_row("cell-1"), a_row("cell-2", token_throughput=42.5)]
    print_results(a_report(rows), as_json=False)
    head, first, second, *_ = capsys.readouterr().out.splitlines()
    assert "samples/s  tokens/s" in head
    assert "42.5" in second
    assert len(first.split()) == len(second.split())


def test_columns_that_no_row_fills_are_left_out(capsys: Capture) -> None:
    row = a_row("cell-1", latency_median_ms=None, latency_precision=None, correct=None, grade=None)
    print_results(a_report([row]), as_json=False)
    head, line = capsys.readouterr().out.splitlines()[:2]
    assert head.split() == ["cell", "status", "samples/s", "peak", "MB", "proof"]
    assert line.split() == ["cell-1", "ok", "1,234", "301", "proven"]


def test_what_one_row_lacks_is_a_dash(capsys: Capture) -> None:
    rows = [a_row("cell-1"), a_row("cell-2", latency_median_ms=None, correct=None)]
    print_results(a_report(rows), as_json=False)
    line = capsys.readouterr().out.splitlines()[2]
    assert line.split() == ["cell-2", "ok", "–", "2", "1,234", "301", "B", "proven", "–"]


def test_a_peak_that_was_sought_is_shown(capsys: Capture) -> None:
    print_results(a_report([a_row("cell-1", peak_qps=42.5)], Path("a.duckdb")), as_json=False)
    head, line, *_ = capsys.readouterr().out.splitlines()
    assert "peak q/s" in head
    assert "42.5" in line


def test_wrong_outputs_are_counted_apart(capsys: Capture) -> None:
    rows = [a_row("cell-1"), a_row("cell-2", correct=False, correct_reason="they differ")]
    print_results(a_report(rows, Path("a.duckdb")), as_json=False)
    assert "run run-1: 2 ok, 1 not correct" in capsys.readouterr().out.splitlines()


def test_what_speaks_against_the_numbers_stands_below_them(capsys: Capture) -> None:
    rows = [a_row("cell-1", grade_reasons=["too few iterations: raise them", "busy host: wait"])]
    print_results(a_report(rows), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert "cell-1: too few iterations: raise them" in lines
    assert "cell-1: busy host: wait" in lines


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (
            ["j/a.trace.json"],
            "trace: records/j/a.trace.json; the heaviest operators lie beside it in .operators.txt",
        ),
        (
            ["j/a.trace.json", "k/b.trace.json"],
            "2 traces: records/*/*.trace.json; the heaviest operators lie beside it in"
            " .operators.txt",
        ),
    ],
)
def test_traces_are_named(capsys: Capture, names: list[str], line: str) -> None:
    traces = [Path("records", name) for name in names]
    print_results(a_report(ROWS, traces=traces), as_json=False)
    assert line in capsys.readouterr().out.splitlines()
    print_results(a_report(ROWS, traces=traces), as_json=True)
    assert json.loads(capsys.readouterr().out)["traces"] == list(map(str, traces))


def test_the_commands_that_are_offered_exist_and_parse(capsys: Capture) -> None:
    print_results(a_report(ROWS), as_json=False)
    commands = capsys.readouterr().out.partition("next:\n")[2].splitlines()
    words = [command.split()[1] for command in commands]
    assert set(words) <= {"query", "bench", "run", "plan", "status"}
    assert all(command.count('"') in {0, 2} for command in commands)


def test_results_as_json_are_whole(capsys: Capture) -> None:
    print_results(a_report(ROWS, Path("a.duckdb")), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert (data["run_id"], data["database"]) == ("run-1", "a.duckdb")
    assert [row["status"] for row in data["results"]] == ["ok", "timeout"]
    assert data["results"][0]["throughput"] == 1234.5
