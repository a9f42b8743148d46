"""`orchestrator import`, as a user types it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.exchange.import_command import _SHOWN, print_import
from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.importing import ImportReport, RecordChanges, Removal
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.store.merge.report import MergeReport
from tests.orchestrator.conftest import Screen
from tests.orchestrator.exchange.imports.files import TABLE, write
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT, MODELS
from tests.support.command_line import complains, files
from tests.support.data import DATA
from tests.support.workplace import Workplace, wait_until

MAPPING = "source: lab\ncolumns: {model: {from: net}, latency_mean_s: {from: ms, unit: ms}}"


@pytest.fixture
def user(tmp_path: Path) -> Workplace:
    write(tmp_path / "data/direct.json", DIRECT)
    write(tmp_path / "data/timm.csv", TABLE)
    write(tmp_path / "data/models.json", MODELS)
    return Workplace(tmp_path, "process")


def told(user: Workplace, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = user.do("import", *arguments, "--json")
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_shows_every_file_and_what_the_database_took(user: Workplace) -> None:
    done = user.do("import", "data")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[2].split() == ["data/models.json", "legacy-models", *"–––", *lines[2].split()[5:]]
    assert lines[-3] == "3 files: 2 with records, 1 without a measurement"
    assert lines[-2] == "4 records, 0 of them simulated and 1 failed: 4 added, 0 already there"
    assert lines[-1] == "database: results/benchmarks.duckdb"
    (row,) = user.ask("SELECT command FROM benchmark_runs WHERE matrix_path = 'data/timm.csv'")
    assert row["command"] == "orchestrator import data"


def test_results_and_database_go_where_they_are_told(user: Workplace) -> None:
    told(user, "data", "--results", "mine", "--database", "other.duckdb")
    assert len(list((user.folder / "mine/imports").iterdir())) == 2
    assert (user.folder / "other.duckdb").exists()
    assert not (user.folder / "results").exists()


@pytest.mark.slow
def test_a_dry_run_writes_nothing_at_all(user: Workplace) -> None:
    before = files(user.folder)
    dry = told(user, "data", "--dry-run", "--remove-source")
    assert (dry["added"], dry["already_there"], dry["dry_run"]) == (4, 0, True)
    assert files(user.folder) == before
    told(user, "data/timm.csv")
    for options in (["--dry-run"], []):
        again = told(user, "data", *options)
        assert (again["added"], again["already_there"]) == (2, 2)


def test_what_is_not_recognised_keeps_nothing_out_and_ends_with_1_if_it_was_named(
    user: Workplace,
) -> None:
    write(user.folder / "data/cut.json", '{"a": [1,\n')
    done = told(user, "data/cut.json", "data", code=1)
    assert done["added"] == 4
    again = told(user, "data")
    assert again["already_there"] == 4
    for found in (done, again):
        (cut,) = (file for file in found["files"] if file["kind"] == "not recognised")
        assert cut["outcome"] == "not recognised: not JSON: Expecting value (line 2, column 1)"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["empty"], 3, "empty: there is no file to import"),
        (["data", "--database", "bad.yaml"], 6, "not a database"),
        (["nowhere"], 2, "nowhere: no such file or folder"),
        (["data", "--older-than", "30d"], 2, "--remove-source"),
        (["data", "--remove-source", "--older-than", "soon"], 2, "'soon' is not a duration"),
        (["data", "--remove-source", "--older-than", "-1"], 2, "'-1' is not a duration"),
        (["data", "--mapping", "nowhere.yaml"], 2, "nowhere.yaml"),
        (["data", "--mapping", "bad.yaml"], 2, "bad.yaml: columns.model: is required"),
        (["data", "--mapping", "ours.yaml"], 2, "ours.yaml: source: 'accelmatrix' stands for rows"),
        ([], 2, "PATHS"),
    ],
)
def test_what_is_asked_wrongly_changes_nothing(
    user: Workplace, arguments: list[str], code: int, words: str
) -> None:
    write(user.folder / "bad.yaml", "source: lab\ncolumns: {mode: {const: inference}}")
    write(user.folder / "ours.yaml", "source: accelmatrix\ncolumns: {model: {from: net}}")
    (user.folder / "empty/.hidden").mkdir(parents=True)
    before = files(user.folder)
    complains(user.do("import", *arguments), code, words)
    assert files(user.folder) - {"bad.yaml.lock"} == before


def test_any_other_table_is_read_by_a_mapping(user: Workplace) -> None:
    write(user.folder / "lab/lab.yaml", MAPPING)
    write(user.folder / "lab/lab.csv", "net,ms\na,4\nb,slow\nc,\n")
    (file,) = told(user, "lab", "--mapping", "lab/lab.yaml")["files"]
    assert (file["format"], file["records"]) == ("mapping:lab", 1)
    assert file["faults"] == ["line 3: ms: 'slow' is not a number"]
    assert file["empty"] == ["line 4"]


@pytest.mark.slow
def test_sources_go_once_they_are_in_the_database(user: Workplace) -> None:
    day_s = 86400
    old = user.folder / "data/timm.csv"
    os.utime(old, (old.stat().st_atime, old.stat().st_mtime - 31 * day_s))
    done = told(user, "data", "--remove-source", "--older-than", "30d")
    assert {each["file"]: each["deleted"] for each in done["sources"]} == {
        "data/direct.json": False,
        "data/models.json": False,
        "data/timm.csv": True,
    }
    assert files(user.folder / "data") == {"direct.json", "models.json"}
    shown = user.do("import", "data", "--remove-source").stdout
    assert "deleted: data/direct.json\n" in shown
    assert "kept: data/models.json: none of its content is in the database\n" in shown
    assert user.ask("SELECT count(*) AS n FROM benchmark_results") == [{"n": 4}]


@pytest.mark.slow
def test_names_that_are_no_text_are_imported(user: Workplace) -> None:
    odd = os.fsdecode(os.fsencode(user.folder) + b"/data/caf\xe9.csv")
    write(Path(odd), TABLE.replace("resnet50", "resnet51"))
    assert told(user, "data")["added"] == 6
    assert user.do("import", "data").returncode == 0


@pytest.mark.representatives(1)
@pytest.mark.slow
@pytest.mark.parametrize("written", [1, 5])
def test_an_import_that_was_killed_is_finished_by_the_next(user: Workplace, written: int) -> None:
    for number in range(10):
        write(user.folder / f"many/{number}.csv", TABLE.replace("1010.5", str(number + 1)))
    imports = user.folder / "results/imports"
    process = user.start("import", "many")
    wait_until(lambda: len(list(imports.glob("*.parquet"))) >= written, "writing")
    process.kill()
    process.communicate()
    again = told(user, "many")
    assert again["added"] + again["already_there"] == 20
    assert told(user, "many")["already_there"] == 20
    assert user.ask("SELECT count(DISTINCT result_id) AS n FROM benchmark_results") == [{"n": 20}]
    merged = user.do("merge", "results", "--database", "new.duckdb")
    assert merged.stdout.startswith("20 inserted")


@pytest.mark.slow
def test_the_real_files_of_others(user: Workplace) -> None:
    folders = [str(DATA / "legacy-results"), str(DATA / "timm")]
    done = told(user, *folders)
    results = [file for file in done["files"] if "legacy-results" in file["file"]]
    refused = [file["outcome"] for file in results if file["kind"] == "not recognised"]
    assert all("not JSON: " in outcome for outcome in refused)
    assert not any(file["faults"] for file in done["files"])
    again = told(user, *folders)
    assert (again["added"], again["already_there"]) == (0, done["added"])
    assert user.do("database", "check").returncode == 0


@pytest.mark.slow
def test_what_accelmatrix_wrote_is_left_to_merge(measured: Workplace) -> None:
    measured.do("export", "--bundle", "ours.zip")
    (measured.folder / "theirs.parquet").write_bytes(b"PAR1")
    for path, kind in (
        ("ours.zip", "a bundle of AccelMatrix"),
        ("results", "results of AccelMatrix"),
        ("results/benchmarks.duckdb", "a DuckDB database"),
        ("theirs.parquet", "a Parquet file"),
    ):
        done = measured.do("import", path)
        complains(done, 2, f"{path}: {kind}, and", f"`orchestrator merge {path}`")


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
