"""Results of a run, remarks on them, and the report of a merge."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.measure.run import RunReport
from orchestrator.render.results import print_merged, print_results, remarks
from orchestrator.store import Damaged, MergeReport, ResultRow
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER
from tests.orchestrator.render.conftest import Screen
from tests.support.results import a_failed_row, a_row

DATABASE = Path("benchmarks.duckdb")
MERGED = MergeReport(3, 2, 1, (Damaged(Path("a.parquet"), "truncated"),), ("run/cell",))


def test_a_merge_is_a_line(screen: Screen) -> None:
    assert screen.lines(print_merged, MERGED, DATABASE) == ["3 inserted, 2 replaced, 1 unchanged"]
    assert screen.lines(print_merged, MergeReport(damaged=MERGED.damaged), DATABASE) == [
        "0 inserted, 0 replaced, 0 unchanged: nothing was merged into benchmarks.duckdb"
    ]
    assert screen.data(print_merged, MERGED, DATABASE) == {
        "inserted": 3,
        "replaced": 2,
        "unchanged": 1,
        "damaged": [{"file": "a.parquet", "reason": "truncated"}],
        "refused": ["run/cell"],
        "contradicted": [],
    }


def noisy(cell_id: str, *reasons: str) -> ResultRow:
    return a_row(cell_id, grade_reasons=list(reasons))


POWERSAVE = "governor is powersave: …"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([a_row("a"), a_row("b")], []),
        ([a_failed_row("b", "lost", "died")], ["b: lost: died"]),
        ([noisy(str(number), POWERSAVE) for number in range(16)], [f"16 of 16 cells: {POWERSAVE}"]),
        (
            [noisy("0", POWERSAVE), *(a_failed_row(x, "unavailable", "no image") for x in "xy")],
            [f"0: {POWERSAVE}", "2 of 3 cells: unavailable: no image"],
        ),
        (
            [noisy(x, f"cv {cv} %: longer") for x, cv in (("a", 18), ("b", 20.5), ("c", "1,000"))],
            ["3 of 3 cells, such as a: cv 18 %: longer"],
        ),
        (
            [noisy("a", "cv 18 %: …", "drift 3 %: …"), a_row("b")],
            ["a: cv 18 %: …", "a: drift 3 %: …"],
        ),
        (
            [
                a_row("a", correct=False, correct_reason="relative difference 0.3 beyond 0.01"),
                a_row("b", correct=None, correct_reason="no reference: killed"),
            ],
            [
                "a: not correct, so views leave it out: relative difference 0.3 beyond 0.01",
                "b: no reference: killed",
            ],
        ),
    ],
    ids=["sound", "failure", "same", "two", "numbers differ", "different", "not correct"],
)
def test_remarks_say_once_what_is_wrong(rows: list[ResultRow], said: list[str]) -> None:
    assert list(remarks(rows)) == said


ROWS = [a_row("cell-1"), a_failed_row("cell-2", "timeout", "not done after 5 s")]


def a_report(
    rows: Sequence[ResultRow] = ROWS,
    database: Path = RESULTS_FOLDER / DATABASE_NAME,
    traces: Sequence[Path] = (),
) -> RunReport:
    return RunReport("run-1", database, tuple(rows), tuple(traces))


def test_results_are_a_table_with_reasons_sums_and_next_steps(screen: Screen) -> None:
    report = a_report(database=Path("elsewhere.duckdb"))
    lines = screen.lines(print_results, report)
    assert lines[0].split("  ")[0] == "cell"
    assert lines[1].split() == ["cell-1", "ok", "0.81", "2", "1,234", "301", "B", "proven", "yes"]
    sums = {"run run-1: 1 ok, 1 timeout", "database: elsewhere.duckdb"}
    assert sums | {"cell-2: timeout: not done after 5 s"} <= {*lines}
    commands = lines[lines.index("next:") + 1 :]
    assert len(commands) == 3
    assert all(command.endswith("--database elsewhere.duckdb") for command in commands)
    data = screen.data(print_results, report)
    assert (data["run_id"], data["database"]) == ("run-1", "elsewhere.duckdb")
    assert [row["status"] for row in data["results"]] == ["ok", "timeout"]
    assert data["results"][0]["throughput"] == 1234.5


def test_the_commands_that_are_offered_exist_and_parse(screen: Screen) -> None:
    lines = screen.lines(print_results, a_report())
    assert not any("--database" in line for line in lines)
    commands = lines[lines.index("next:") + 1 :]
    words = {command.split()[1] for command in commands}
    assert words <= {"query", "bench", "run", "plan", "status"}
    assert all(command.count('"') in {0, 2} for command in commands)


@pytest.mark.parametrize(
    ("heading", "value"),
    [("tokens/s", {"token_throughput": 42.5}), ("peak q/s", {"peak_qps": 42.5})],
)
def test_a_column_is_shown_where_a_row_fills_it(
    screen: Screen, heading: str, value: dict[str, Any]
) -> None:
    rows = [a_row("cell-1"), a_row("cell-2", **value)]
    head, first, second, *_ = screen.lines(print_results, a_report(rows))
    assert heading in head
    assert "42.5" in second
    assert len(first.split()) == len(second.split())


def test_columns_that_no_row_fills_are_left_out(screen: Screen) -> None:
    row = a_row("cell-1", latency_median_ms=None, latency_precision=None, correct=None, grade=None)
    head, line, *_ = screen.words(print_results, a_report([row]))
    assert head == ["cell", "status", "samples/s", "peak", "MB", "proof"]
    assert line == ["cell-1", "ok", "1,234", "301", "proven"]


def test_what_one_row_lacks_is_a_dash(screen: Screen) -> None:
    rows = [a_row("cell-1"), a_row("cell-2", latency_median_ms=None, correct=None)]
    line = screen.words(print_results, a_report(rows))[2]
    assert line == ["cell-2", "ok", "–", "2", "1,234", "301", "B", "proven", "–"]


def test_wrong_outputs_are_counted_apart_and_remarks_stand_below(screen: Screen) -> None:
    wrong = a_row("cell-2", correct=False, correct_reason="they differ")
    lines = screen.lines(print_results, a_report([noisy("cell-1", "busy host: wait"), wrong]))
    assert "run run-1: 2 ok, 1 not correct" in lines
    assert "cell-1: busy host: wait" in lines


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["j/a.trace.json"], "trace: records/j/a.trace.json"),
        (["j/a.trace.json", "k/b.trace.json"], "2 traces: records/*/*.trace.json"),
    ],
)
def test_traces_are_named(screen: Screen, names: list[str], told: str) -> None:
    report = a_report(traces=[Path("records", name) for name in names])
    line = f"{told}; the heaviest operators lie beside it in .operators.txt"
    assert line in screen.lines(print_results, report)
    assert screen.data(print_results, report)["traces"] == list(map(str, report.traces))
