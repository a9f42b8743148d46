import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.render.snapshots import print_restored, print_snapshots, print_taken
from orchestrator.store.file.manifest import Manifest
from orchestrator.store.health.restore import Restored
from orchestrator.store.health.snapshots import Snapshot


def a_snapshot(name: str, commit: str | None = "c0ffee" * 7) -> Snapshot:
    manifest = Manifest(
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
    return Snapshot(Path("results/snapshots") / f"20261121-120000-{name}", manifest)


def test_a_new_one_is_told_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    print_taken(a_snapshot("a"), as_json=False)
    assert capsys.readouterr().out == (
        "snapshot 20261121-120000-a: 7 results, 3MiB\n"
        "database: results/snapshots/20261121-120000-a/benchmarks.duckdb\n"
    )
    print_taken(a_snapshot("a"), as_json=True)
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
    capsys: pytest.CaptureFixture[str], kept: Snapshot | None, aside: Path | None, line: str
) -> None:
    restored = Restored(a_snapshot("a"), kept, aside)
    print_restored(restored, Path("db"), as_json=False)
    assert capsys.readouterr().out == f"db is now as it was in 20261121-120000-a\n{line}"
    print_restored(restored, Path("db"), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["snapshot"]["name"] == "a"
    assert (told["kept"] is None, told["aside"] is None) == (kept is None, aside is None)
