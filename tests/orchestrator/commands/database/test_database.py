"""What the commands of `database` and `prepare --prune` print."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.database.maintain import (
    CompactRun,
    KeptBisections,
    MaintenanceReport,
    UntouchedRun,
)
from orchestrator.commands.database.rebuild import Rebuilt
from orchestrator.commands.database.retention import RunToDelete, StaleFile
from orchestrator.commands.database.table import (
    print_maintained,
    print_rebuilt,
    print_restored,
    print_snapshot,
    print_snapshots,
    print_stale_files,
    print_validation,
)
from orchestrator.store.health.copies import Vacuumed
from orchestrator.store.health.fix import Validation
from orchestrator.store.health.rebuild import Takeover
from orchestrator.store.health.snapshots import Manifest, Restored, Snapshot
from orchestrator.store.health.validate import Finding
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.compact import Compaction
from tests.orchestrator.conftest import Screen

WHEN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
STALE = [
    StaleFile("graph", Path("results/graphs/a"), 3 << 20),
    StaleFile("reference", Path("results/references/b.npz"), 1 << 20),
]


@pytest.mark.parametrize(
    ("removed", "end"),
    [(False, "to remove: `orchestrator run --prepare-only --prune --yes` does"), (True, "removed")],
)
def test_stale_files_are_listed_with_their_sizes(
    capsys: pytest.CaptureFixture[str], removed: bool, end: str
) -> None:
    print_stale_files(STALE, removed=removed, as_json=False)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["path", "kind", "size"],
        ["results/graphs/a", "graph", "3MiB"],
        ["results/references/b.npz", "reference", "1MiB"],
        [],
        f"2, together 4MiB, {end}".split(),
    ]


def test_no_stale_file_is_told_as_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_stale_files([], removed=True, as_json=False)
    assert capsys.readouterr().out == "there is nothing to remove\n"


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


def test_maintenance_tells_what_was_done(screen: Screen) -> None:
    assert screen.lines(print_maintained, DONE) == [
        "run    started           verdicts  on disk",
        "run-1  2026-11-21 12:00        12     2KiB",
        "run-0  2026-11-21 12:00         3        –",
        "",
        "2 runs dropped",
        "run-2: 1000 record files of 76.3MiB are now 1.9MiB",
        "run-3: left alone: 1 of 3 cells have no sound record yet",
        "database: 8MiB before, now 3MiB, written anew",
    ]
    data = screen.data(print_maintained, DONE)
    assert [run["run_id"] for run in data["runs"]] == ["run-1", "run-0"]
    assert data["compact"][0]["compaction"]["files"] == 1000
    assert data["left"] == [{"run_id": "run-3", "reason": "1 of 3 cells have no sound record yet"}]
    assert (data["dropped"], data["tidied"]["rewritten"]) == (True, True)


def test_maintenance_tells_what_would_be_done(screen: Screen) -> None:
    compact = (CompactRun("run-2", Compaction(3, 4096, None)),)
    preview = MaintenanceReport(False, DONE.runs[:1], compact, left=(), tidied=None)
    assert screen.lines(print_maintained, preview)[-3:] == [
        "1 run to drop; `--yes` does it",
        "run-2: 3 record files of 4KiB would become one",
        "nothing was changed: a dry run",
    ]


def test_maintenance_counts_what_bisections_left(screen: Screen) -> None:
    runs = (*DONE.runs, RunToDelete("run-9", WHEN, 1, Path("bisections/run-9"), 1024, True))
    lines = screen.lines(
        print_maintained, replace(DONE, runs=runs, bisections=KeptBisections(4, 3 << 20))
    )
    assert "3 runs (1 of bisections) dropped" in lines
    assert "bisections: 4 runs of `regress --bisect`, 3MiB" in lines


def a_snapshot(name: str, commit: str | None = "c0ffee" * 7) -> Snapshot:
    folder = Path("results/snapshots") / f"20261121-120000-{name}"
    manifest = Manifest(
        name=name,
        taken_at=WHEN,
        database="benchmarks.duckdb",
        schema_version=5,
        scratch=False,
        size_bytes=3 << 20,
        sha256="0" * 64,
        rows={"benchmark_results": 7, "benchmark_runs": 2},
        version="0.1.0",
        git_commit=commit,
    )
    return Snapshot(folder, manifest)


def test_a_new_snapshot_is_told_with_its_place(screen: Screen) -> None:
    assert screen.lines(print_snapshot, a_snapshot("a")) == [
        "snapshot 20261121-120000-a: 7 results, 3MiB",
        "database: results/snapshots/20261121-120000-a/benchmarks.duckdb",
    ]
    data = screen.data(print_snapshot, a_snapshot("a"))
    assert (data["folder"], data["name"]) == ("results/snapshots/20261121-120000-a", "a")


def test_all_snapshots_are_listed(screen: Screen) -> None:
    assert screen.lines(print_snapshots, [a_snapshot("b"), a_snapshot("a", None)]) == [
        "snapshot           taken             runs  results  size  commit",
        "20261121-120000-b  2026-11-21 12:00     2        7  3MiB  c0ffeec0ffee",
        "20261121-120000-a  2026-11-21 12:00     2        7  3MiB  –",
    ]
    assert screen.lines(print_snapshots, []) == ["no snapshot yet"]
    assert screen.data(print_snapshots, []) == []


@pytest.mark.parametrize(
    ("kept", "aside", "lines"),
    [
        (a_snapshot("b"), None, ["before: kept as snapshot 20261121-120000-b"]),
        (None, Path("x.damaged-1"), ["before: could not be opened, and lies in x.damaged-1"]),
        (None, None, []),
    ],
)
def test_a_restored_database_is_told_with_the_earlier_one(
    screen: Screen, kept: Snapshot | None, aside: Path | None, lines: list[str]
) -> None:
    restored = Restored(a_snapshot("a"), kept, aside)
    first = "db is now as it was in 20261121-120000-a"
    assert screen.lines(print_restored, restored, Path("db")) == [first, *lines]
    data = screen.data(print_restored, restored, Path("db"))
    assert data["snapshot"]["name"] == "a"
    assert (data["kept"] is None, data["aside"] is None) == (kept is None, aside is None)


EXAMPLES = tuple(f"run/cell-{number}: throughput is -1.0" for number in range(5))
ERROR = Finding("impossible value", "error", None, 9, EXAMPLES, "look again")
WARNING = Finding("unsure", "warning", "timm", 1, ("a/b: odd",), "ask them")


def a_validation(*findings: Finding, **changes: Any) -> Validation:
    return Validation(findings, **changes)


def test_findings_are_a_table_with_bounded_examples(screen: Screen) -> None:
    lines = screen.lines(print_validation, a_validation(ERROR, WARNING), Path("a.duckdb"))
    assert lines[0].split("  ")[0] == "check"
    assert lines[1].split() == ["impossible", "value", "error", "–", "9", "look", "again"]
    assert sum(line.startswith("impossible value: run/cell-") for line in lines) == 2
    assert lines[-1] == "a.duckdb: 1 error, 1 warning"
    data = screen.data(print_validation, a_validation(ERROR), Path("a.duckdb"))
    assert (data["clean"], data["findings"][0]["examples"]) == (False, list(EXAMPLES))


def test_a_clean_database_and_repairs_are_told(screen: Screen) -> None:
    assert screen.lines(print_validation, a_validation(), Path("a.duckdb")) == ["a.duckdb: clean"]
    repairs = {"mended": {"impossible value": 3}, "quarantined": 2, "backup": Path("copy")}
    assert screen.lines(print_validation, a_validation(WARNING, **repairs), Path("a.duckdb"))[
        -4:
    ] == [
        "mended: 3 rows, impossible value",
        "put into quarantine: 2 rows",
        "as it was before: copy",
        "a.duckdb: clean, 1 warning",
    ]
    data = screen.data(print_validation, a_validation(ERROR, **repairs), Path("a.duckdb"))
    assert (data["backup"], data["mended"]) == ("copy", {"impossible value": 3})


@pytest.mark.parametrize(
    ("takeover", "last"),
    [
        (Takeover(0, None), "3 inserted, 0 replaced, 1 unchanged"),
        (
            Takeover(2, Path("old")),
            "no file holds 2 results of the former database, which lies in old",
        ),
        (
            Takeover(None, Path("old")),
            "no file holds what it held of the former database, which lies in old",
        ),
    ],
)
def test_a_rebuilt_database_says_what_it_lacks(
    screen: Screen, takeover: Takeover, last: str
) -> None:
    rebuilt = Rebuilt(MergeReport(inserted=3, unchanged=1), takeover)
    assert last in screen.lines(print_rebuilt, rebuilt, Path("a.duckdb"))
    data = screen.data(print_rebuilt, rebuilt, Path("a.duckdb"))
    assert (data["inserted"], data["lost"]) == (3, takeover.lost)
