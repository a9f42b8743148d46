import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.results.maintain import CompactRun, MaintenanceReport, UntouchedRun
from orchestrator.app.results.retention import RunToDelete, StaleFile
from orchestrator.app.results.snapshots import RestoreReport, SnapshotReport
from orchestrator.app.results.validate import ValidationReport
from orchestrator.render.maintain import (
    print_maintained,
    print_restored,
    print_snapshot,
    print_snapshots,
    print_stale_files,
    print_validation,
)
from orchestrator.store import Compaction, Finding, Vacuumed

Capture = pytest.CaptureFixture[str]
FOUND = [
    StaleFile("graph", Path("results/graphs/a"), 3 << 20),
    StaleFile("reference", Path("results/references/b.npz"), 1 << 20),
]


def test_a_listing_has_sizes_their_sum_and_what_to_do(capsys: Capture) -> None:
    print_stale_files(FOUND, removed=False, as_json=False)
    head, *rows, _, sums = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["path", "kind", "size"]
    assert rows == [
        ["results/graphs/a", "graph", "3MiB"],
        ["results/references/b.npz", "reference", "1MiB"],
    ]
    assert " ".join(sums) == (
        "2, together 4MiB, to remove: `orchestrator prepare --prune --yes` does"
    )


def test_what_was_removed_is_told_as_done(capsys: Capture) -> None:
    print_stale_files(FOUND, removed=True, as_json=False)
    assert capsys.readouterr().out.endswith("2, together 4MiB, removed\n")


def test_as_json_it_is_plain_data(capsys: Capture) -> None:
    print_stale_files(FOUND[:1], removed=False, as_json=True)
    assert json.loads(capsys.readouterr().out) == [
        {
            "kind": "graph",
            "path": "results/graphs/a",
            "size_bytes": 3 << 20,
            "removed": False,
        }
    ]


def test_nothing_is_told_as_nothing(capsys: Capture) -> None:
    print_stale_files([], removed=True, as_json=False)
    assert capsys.readouterr().out == "there is nothing to remove\n"


WHEN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DONE = MaintenanceReport(
    dropped=True,
    runs=(
        RunToDelete("run-1", WHEN, 12, Path("results/run-1"), 2048),
        RunToDelete("run-0", WHEN, 3, None, 0),
    ),
    compact=(CompactRun("run-2", Compaction(1000, 80_000_000, 2_000_000)),),
    left=(UntouchedRun("run-3", "1 of 3 cells have no sound record yet"),),
    tidied=Vacuumed(8 << 20, 3 << 20, rewritten=True),
)


def test_it_tells_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    print_maintained(DONE, as_json=False)
    assert capsys.readouterr().out == (
        "run    started           verdicts  on disk\n"
        "run-1  2026-11-21 12:00        12  2KiB\n"
        "run-0  2026-11-21 12:00         3  –\n"
        "\n"
        "2 runs dropped\n"
        "run-2: 1000 record files of 76.3MiB are now 1.9MiB\n"
        "run-3: left alone: 1 of 3 cells have no sound record yet\n"
        "database: 8MiB before, now 3MiB, written anew\n"
    )


def test_it_tells_what_would_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    compact = (CompactRun("run-2", Compaction(3, 4096, None)),)
    preview = MaintenanceReport(
        dropped=False, runs=DONE.runs[:1], compact=compact, left=(), tidied=None
    )
    print_maintained(preview, as_json=False)
    assert capsys.readouterr().out.endswith(
        "1 run to drop; `--yes` does it\n"
        "run-2: 3 record files of 4KiB would become one\n"
        "nothing was changed: a dry run\n"
    )


def test_as_data_it_is_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    print_maintained(DONE, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["dropped"]
    assert [run["run_id"] for run in told["runs"]] == ["run-1", "run-0"]
    assert told["compact"][0]["compaction"]["files"] == 1000
    assert told["left"] == [{"run_id": "run-3", "reason": "1 of 3 cells have no sound record yet"}]
    assert told["tidied"]["rewritten"]


def a_snapshot(name: str, commit: str | None = "c0ffee" * 7) -> SnapshotReport:
    return SnapshotReport(
        folder=Path("results/snapshots") / f"20261121-120000-{name}",
        name=name,
        taken_at=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        database="benchmarks.duckdb",
        schema_version=5,
        scratch=False,
        size_bytes=3 << 20,
        sha256="0" * 64,
        rows={"benchmark_results": 7, "benchmark_runs": 2},
        version="0.1.0",
        git_commit=commit,
    )


def test_a_new_one_is_told_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    print_snapshot(a_snapshot("a"), as_json=False)
    assert capsys.readouterr().out == (
        "snapshot 20261121-120000-a: 7 results, 3MiB\n"
        "database: results/snapshots/20261121-120000-a/benchmarks.duckdb\n"
    )
    print_snapshot(a_snapshot("a"), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["name"]) == ("results/snapshots/20261121-120000-a", "a")


def test_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    print_snapshots([a_snapshot("b"), a_snapshot("a", None)], as_json=False)
    assert capsys.readouterr().out == (
        "snapshot           taken             runs  results  size  commit\n"
        "20261121-120000-b  2026-11-21 12:00     2        7  3MiB  c0ffeec0ffee\n"
        "20261121-120000-a  2026-11-21 12:00     2        7  3MiB  –\n"
    )
    print_snapshots([], as_json=False)
    assert capsys.readouterr().out == "no snapshot yet\n"
    print_snapshots([], as_json=True)
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("kept", "aside", "line"),
    [
        (a_snapshot("b"), None, "before: kept as snapshot 20261121-120000-b\n"),
        (None, Path("x.damaged-1"), "before: could not be opened, and lies in x.damaged-1\n"),
        (None, None, ""),
    ],
)
def test_where_the_earlier_database_is(
    capsys: pytest.CaptureFixture[str], kept: SnapshotReport | None, aside: Path | None, line: str
) -> None:
    restored = RestoreReport(Path("db"), a_snapshot("a"), kept, aside)
    print_restored(restored, as_json=False)
    assert capsys.readouterr().out == f"db is now as it was in 20261121-120000-a\n{line}"
    print_restored(restored, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["snapshot"]["name"] == "a"
    assert (told["kept"] is None, told["aside"] is None) == (kept is None, aside is None)


DATABASE = Path("results/benchmarks.duckdb")
ERROR = Finding(
    check="impossible value",
    severity="error",
    source=None,
    rows=9,
    examples=tuple(f"run/cell-{number}: throughput is -1.0" for number in range(5)),
    remedy="look again",
)
WARNING = Finding(
    check="unsure",
    severity="warning",
    source="timm",
    rows=1,
    examples=("a/b: odd",),
    remedy="ask them",
)


def a_validation(*findings: Finding, **changes: Any) -> ValidationReport:
    facts: dict[str, Any] = {"mended": {}, "quarantined": 0, "backup": None, **changes}
    clean = all(finding.severity != "error" for finding in findings)
    return ValidationReport(DATABASE, clean, findings, **facts)


def test_a_clean_database_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_validation(a_validation(), as_json=False)
    assert capsys.readouterr().out == "results/benchmarks.duckdb: clean\n"


def test_findings_are_a_table_with_bounded_examples(capsys: pytest.CaptureFixture[str]) -> None:
    print_validation(a_validation(ERROR, WARNING), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "check"
    assert lines[1].split() == ["impossible", "value", "error", "–", "9", "look", "again"]
    assert sum(line.startswith("impossible value: run/cell-") for line in lines) == 2
    assert lines[-1] == "results/benchmarks.duckdb: 1 error, 1 warning"


def test_what_was_done_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    repaired = {"mended": {"impossible value": 3}, "quarantined": 2, "backup": Path("copy")}
    print_validation(a_validation(WARNING, **repaired), as_json=False)
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "mended: 3 rows, impossible value",
        "put into quarantine: 2 rows",
        "as it was before: copy",
        "results/benchmarks.duckdb: clean, 1 warning",
    ]


def test_as_data_nothing_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    repaired = {"mended": {"x": 1}, "quarantined": 2, "backup": Path("copy")}
    print_validation(a_validation(ERROR, **repaired), as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["findings"][0]["examples"] == list(ERROR.examples)
    assert (data["clean"], data["backup"], data["mended"]) == (False, "copy", {"x": 1})
