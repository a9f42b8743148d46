"""What became of imported files, for people and for programs."""

from pathlib import Path

from orchestrator.commands.exchange.import_command import _SHOWN, print_import
from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.importing import ImportReport, RecordChanges, Removal
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.store.merge.report import MergeReport
from tests.orchestrator.conftest import Screen

OK = ImportedMeasurement(location="/0", model="m", status="ok", throughput=1)
FAKE = OK.model_copy(update={"location": "/1", "simulated": True, "marks": ("/: mock",)})
FAILED = ImportedMeasurement(location="/2", model="m", status="failed", reason="x")
FAULTS = tuple(f"line {number}: bad" for number in range(30))
READING = Reading((OK, FAKE, FAILED), faults=FAULTS, empty=("line 99",))
WITH = FileOutcome(Path("a.json"), "1" * 64, "a-format", "somebody", READING)
OUTCOMES = (
    WITH,
    FileOutcome(Path("b.json"), "1" * 64, "a-format", "somebody", READING, same_as=WITH.path),
    FileOutcome(Path("c.json"), "2" * 64, "b-format", "x", Reading(nothing="a list of models")),
    FileOutcome(Path("d.json"), "3" * 64, refused="the file is empty"),
)
DONE = ImportReport(
    {WITH.run_id: RecordChanges(new=("1",), changed=("2",), there=("3",), gone=("4",))},
    MergeReport(inserted=1, replaced=1),
)
DRY = ImportReport(DONE.changes, None)
REMOVALS = (Removal(Path("a.json")), Removal(Path("c.json"), "it is young"))
DATABASE = Path("x.duckdb")


def lines(screen: Screen, done: ImportReport = DONE, *removals: Removal) -> list[str]:
    return screen.lines(print_import, OUTCOMES, done, removals, DATABASE)


def test_every_file_has_a_line_then_come_bounded_faults_and_sums(screen: Screen) -> None:
    shown = lines(screen)
    assert shown[:5] == [
        "file    format    records  simulated  failed  outcome",
        "a.json  a-format        3          1       1  3 records",
        "b.json  a-format        –          –       –  same content as a.json",
        "c.json  b-format        –          –       –  holds no measurement: a list of models",
        "d.json  –               –          –       –  not recognised: the file is empty",
    ]
    faults = [line for line in shown if line.startswith(("left out", "without a"))]
    assert faults[0] == "left out: a.json: line 0: bad"
    assert faults[_SHOWN] == "left out: and 10 more; --json has them all"
    assert faults[_SHOWN + 1 :] == ["without a value: a.json: line 99"]
    assert shown[-3:] == [
        "4 files: 1 with records, 1 with the same content as another, 1 without a measurement,"
        " 1 not recognised",
        "3 records, 1 of them simulated and 1 failed: 1 added, 1 already there, 1 replaced, since"
        " they are read otherwise now, 1 removed, since they are no longer read",
        "database: x.duckdb",
    ]


def test_foreign_text_does_not_reach_the_terminal_as_it_is(screen: Screen) -> None:
    path = Path("a\x1b[2J\nb.json")
    refused = FileOutcome(path, "4" * 64, refused="an object with k\x1b[31m")
    faulty = FileOutcome(path, "5" * 64, "f", "x", Reading((OK,), faults=("/\r: bad",)))
    removals = [Removal(path, "it is young")]
    shown = screen.lines(print_import, (refused, faulty), DONE, removals, DATABASE)
    assert all(line.isprintable() for line in shown)
    assert "a\\x1b[2J\\nb.json" in "\n".join(shown)
    assert "k\\x1b[31m" in "\n".join(shown)


def test_what_stays_in_quarantine_is_told(screen: Screen) -> None:
    done = ImportReport({WITH.run_id: RecordChanges((), (), (), ())}, MergeReport(quarantined=3))
    assert (
        "3 left out, since `database check --fix` took them out before" in lines(screen, done)[-2]
    )


def test_a_dry_run_says_what_would_be(screen: Screen) -> None:
    shown = lines(screen, DRY, *REMOVALS)
    assert shown[-1] == "nothing was written: a dry run"
    assert "1 would be added, 1 already there, 1 would be replaced" in shown[-2]
    assert "would be deleted: a.json" in shown
    data = screen.data(print_import, OUTCOMES, DRY, REMOVALS, DATABASE)
    assert data["dry_run"] is True
    assert [source["deleted"] for source in data["sources"]] == [False, False]
    assert [source["would_delete"] for source in data["sources"]] == [True, False]


def test_what_was_deleted_is_told_file_by_file(screen: Screen) -> None:
    assert {"deleted: a.json", "kept: c.json: it is young"} <= {*lines(screen, DONE, *REMOVALS)}


def test_programs_get_everything(screen: Screen) -> None:
    data = screen.data(print_import, OUTCOMES, DONE, REMOVALS, DATABASE)
    files = data.pop("files")
    counts = {"records": 3, "simulated": 1, "failed": 1, "added": 1, "already_there": 1}
    assert data == {
        **counts,
        "dry_run": False,
        "database": "x.duckdb",
        "kinds": {"records": 1, "same content": 1, "no measurement": 1, "not recognised": 1},
        "replaced": 1,
        "removed": 1,
        "quarantined": 0,
        "sources": [
            {"file": "a.json", "deleted": True, "kept": None},
            {"file": "c.json", "deleted": False, "kept": "it is young"},
        ],
    }
    assert files[0] == {
        **counts,
        "file": "a.json",
        "format": "a-format",
        "outcome": "3 records",
        "kind": "records",
        "source": "somebody",
        "sha256": "1" * 64,
        "run_id": WITH.run_id,
        "faults": list(FAULTS),
        "empty": ["line 99"],
    }
    assert [file["kind"] for file in files] == list(data["kinds"])
