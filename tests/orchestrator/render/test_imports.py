"""What became of imported files, for people and for programs."""

import json
from pathlib import Path

import pytest

from orchestrator.imports.importing import ImportReport, RecordChanges
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.outcome import FileOutcome
from orchestrator.imports.reading import Reading
from orchestrator.imports.removal import Removal
from orchestrator.render.imports import _SHOWN, print_import
from orchestrator.store import MergeReport

OK = ImportedMeasurement(location="/0", model="m", status="ok", throughput=1)
FAKE = ImportedMeasurement(
    location="/1", model="m", status="ok", throughput=1, simulated=True, marks=("/: mock",)
)
FAILED = ImportedMeasurement(location="/2", model="m", status="failed", reason="x")
FAULTS = tuple(f"line {number}: bad" for number in range(30))
WITH = FileOutcome(
    Path("a.json"),
    "1" * 64,
    "a-format",
    "somebody",
    Reading((OK, FAKE, FAILED), faults=FAULTS, empty=("line 99",)),
)
SAME = FileOutcome(
    Path("b.json"), "1" * 64, "a-format", "somebody", WITH.reading, same_as=WITH.path
)
WITHOUT = FileOutcome(
    Path("c.json"), "2" * 64, "b-format", "x", Reading(nothing="a list of models")
)
REFUSED = FileOutcome(Path("d.json"), "3" * 64, refused="the file is empty")
VERDICTS = (WITH, SAME, WITHOUT, REFUSED)
DONE = ImportReport(
    {WITH.run_id: RecordChanges(new=("1",), changed=("2",), there=("3",), gone=("4",))},
    MergeReport(inserted=1, replaced=1),
)
DRY = ImportReport(DONE.changes, None)
REMOVALS = (Removal(Path("a.json")), Removal(Path("c.json"), "it is young"))

Capture = pytest.CaptureFixture[str]


def shown(capsys: Capture, done: ImportReport, *removals: Removal) -> list[str]:
    print_import(VERDICTS, done, removals, Path("x.duckdb"), as_json=False)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_every_file_has_a_line(capsys: Capture) -> None:
    assert shown(capsys, DONE)[:5] == [
        "file    format    records  simulated  failed  outcome",
        "a.json  a-format        3          1       1  3 records",
        "b.json  a-format        –          –       –  same content as a.json",
        "c.json  b-format        –          –       –  holds no measurement: a list of models",
        "d.json  –               –          –       –  not recognised: the file is empty",
    ]


def test_foreign_text_does_not_reach_the_terminal_as_it_is(capsys: Capture) -> None:
    path = Path("a\x1b[2J\nb.json")
    refused = FileOutcome(path, "4" * 64, refused="an object with k\x1b[31m")
    faulty = FileOutcome(path, "5" * 64, "f", "x", Reading((OK,), faults=("/\r: bad",)))
    removal = Removal(path, "it is young")
    print_import((refused, faulty), DONE, [removal], Path("x.duckdb"), as_json=False)
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.splitlines())
    assert "a\\x1b[2J\\nb.json" in out
    assert "k\\x1b[31m" in out


def test_faults_are_shown_up_to_a_bound(capsys: Capture) -> None:
    lines = [line for line in shown(capsys, DONE) if line.startswith(("left out", "without a"))]
    assert lines[0] == "left out: a.json: line 0: bad"
    assert lines[_SHOWN] == "left out: and 10 more; --json has them all"
    assert lines[_SHOWN + 1 :] == ["without a value: a.json: line 99"]


def test_sums_stand_at_the_end(capsys: Capture) -> None:
    assert shown(capsys, DONE)[-3:] == [
        "4 files: 1 with records, 1 with the same content as another, 1 without a measurement,"
        " 1 not recognised",
        "3 records, 1 of them simulated and 1 failed: 1 added, 1 already there, 1 replaced, since"
        " they are read otherwise now, 1 removed, since they are no longer read",
        "database: x.duckdb",
    ]


def test_what_stays_in_quarantine_is_told(capsys: Capture) -> None:
    done = ImportReport({WITH.run_id: RecordChanges((), (), (), ())}, MergeReport(quarantined=3))
    assert "3 left out, since `validate --fix` took them out before" in shown(capsys, done)[-2]


def test_a_dry_run_says_what_would_be(capsys: Capture) -> None:
    told = shown(capsys, DRY, *REMOVALS)
    assert told[-1] == "nothing was written: a dry run"
    assert "1 would be added, 1 already there, 1 would be replaced" in told[-2]
    assert "would be deleted: a.json" in told


def test_what_was_deleted_is_told_file_by_file(capsys: Capture) -> None:
    told = shown(capsys, DONE, *REMOVALS)
    assert "deleted: a.json" in told
    assert "kept: c.json: it is young" in told


def test_programs_get_everything(capsys: Capture) -> None:
    print_import(VERDICTS, DONE, REMOVALS, Path("x.duckdb"), as_json=True)
    told = json.loads(capsys.readouterr().out)
    files = told.pop("files")
    assert told == {
        "dry_run": False,
        "database": "x.duckdb",
        "kinds": {"records": 1, "same content": 1, "no measurement": 1, "not recognised": 1},
        "records": 3,
        "simulated": 1,
        "failed": 1,
        "added": 1,
        "replaced": 1,
        "already_there": 1,
        "removed": 1,
        "quarantined": 0,
        "sources": [
            {"file": "a.json", "deleted": True, "kept": None},
            {"file": "c.json", "deleted": False, "kept": "it is young"},
        ],
    }
    assert files[0] == {
        "file": "a.json",
        "format": "a-format",
        "records": 3,
        "simulated": 1,
        "failed": 1,
        "outcome": "3 records",
        "kind": "records",
        "source": "somebody",
        "sha256": "1" * 64,
        "run_id": WITH.run_id,
        "added": 1,
        "already_there": 1,
        "faults": list(FAULTS),
        "empty": ["line 99"],
    }
    assert [each["kind"] for each in files[1:]] == [
        *("same content", "no measurement", "not recognised"),
    ]


def test_a_dry_run_deletes_nothing_as_data_says_too(capsys: Capture) -> None:
    print_import(VERDICTS, DRY, REMOVALS, Path("x.duckdb"), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True
    assert [each["deleted"] for each in told["sources"]] == [False, False]
    assert [each["would_delete"] for each in told["sources"]] == [True, False]
