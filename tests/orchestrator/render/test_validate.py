import json
from pathlib import Path

import pytest

from orchestrator.render.validate import SHOWN, print_validation
from orchestrator.store.health.fix import Validation
from orchestrator.store.health.validate import Finding

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


def test_a_clean_database_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_validation(Validation(()), DATABASE, as_json=False)
    assert capsys.readouterr().out == "results/benchmarks.duckdb: clean\n"


def test_findings_are_a_table_with_bounded_examples(capsys: pytest.CaptureFixture[str]) -> None:
    print_validation(Validation((ERROR, WARNING)), DATABASE, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "check"
    assert lines[1].split() == ["impossible", "value", "error", "–", "9", "look", "again"]
    assert sum(line.startswith("impossible value: run/cell-") for line in lines) == SHOWN
    assert lines[-1] == "results/benchmarks.duckdb: 1 error, 1 warning"


def test_what_was_done_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    done = Validation((WARNING,), Path("copy"), {"impossible value": 3}, quarantined=2)
    print_validation(done, DATABASE, as_json=False)
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "mended: 3 rows, impossible value",
        "put into quarantine: 2 rows",
        "as it was before: copy",
        "results/benchmarks.duckdb: clean, 1 warning",
    ]


def test_as_data_nothing_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_validation(Validation((ERROR,), Path("copy"), {"x": 1}, 2), DATABASE, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["findings"][0]["examples"] == list(ERROR.examples)
    assert (data["clean"], data["backup"], data["mended"]) == (False, "copy", {"x": 1})
