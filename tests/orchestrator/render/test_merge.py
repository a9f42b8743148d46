"""What is said of a merge."""

import json
from pathlib import Path

import pytest

from orchestrator.render.merge import print_merged
from orchestrator.store import Damaged, MergeReport

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
