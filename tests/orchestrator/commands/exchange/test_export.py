"""`export`, `verify BUNDLE` and `merge BUNDLE` as a user meets them."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from orchestrator.commands.exchange.export_command import (
    print_bundle,
    print_checked,
    print_exported,
)
from orchestrator.commands.results.query import Question, print_answer, print_shown
from orchestrator.exchange.bundles.archive import BundleCounts, BundleManifest
from orchestrator.exchange.bundles.check import Bundle
from orchestrator.exchange.bundles.write import WrittenBundle
from orchestrator.screen.streams import require_printable
from orchestrator.store.query.answer import Answer, ShownAnswer
from orchestrator.store.query.export import ExportedTopic, ExportOptions
from orchestrator.store.query.formats import WRITERS
from orchestrator.store.records.validate import Damaged
from tests.orchestrator.conftest import Screen
from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


def test_a_topic_goes_to_a_file(measured: Workplace, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    done = measured.do("export", "performance", "--all", "--output", str(path))
    assert done.stdout == f"performance: 3 rows: {path}\n"
    assert len(pd.read_csv(path)) == 3
    complains(measured.do("export", "raw", "--output", str(path)), 2, "exists already")


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_topic_goes_to_stdout(measured: Workplace, name: str) -> None:
    before = files(measured.folder)
    done = measured.do("export", "performance", "--all", "--format", "csv", "--output", name)
    assert len(list(csv.DictReader(done.stdout.splitlines()))) == 3
    assert done.stderr == f"performance: 3 rows: {name}\n"
    assert measured.do("query", "SELECT 1 AS a", "--output", name, "--format", "csv").stdout == (
        "a\n1\n"
    )
    assert files(measured.folder) == before


def test_a_topic_goes_to_partitions(measured: Workplace, tmp_path: Path) -> None:
    options = ["--all", "--partition-by", "backend,status", "--output", str(tmp_path / "lake")]
    done = measured.do("export", "performance", *options, "--json")
    assert json.loads(done.stdout) == {
        "topic": "performance",
        "output": str(tmp_path / "lake"),
        "rows": 3,
        "files": 2,
    }
    assert sorted(pd.read_parquet(tmp_path / "lake")["status"]) == ["failed", "ok", "ok"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give a topic and `--output`, or `--bundle`"),
        (["performance"], "give a topic"),
        (["--output", "a.csv"], "give a topic"),
        (["speed", "--output", "a.csv"], "speed"),
        (["raw", "--output", "a", "--run", "last"], "--run: cannot be combined with a topic"),
        (["raw", "--bundle", "a.zip"], "cannot be combined with --bundle"),
        (["--bundle", "a.zip", "--all"], "--all: cannot be combined with --bundle"),
        (["--bundle", "a.zip", "--run", "nobody"], "'nobody' is not a run in"),
        (["raw", "--output", "a", "--partition-by", "modell"], "there is no column 'modell'"),
        (["raw", "--output", "results"], "results: is a folder"),
        (["raw", "--output", "-", "--json"], "--json: cannot be combined with stdout as output"),
        (["raw", "--output", "a.xlsx"], "'.xlsx' is not one of .csv, .json, .parquet"),
        (["--bundle", "results/benchmarks.duckdb", "--force"], "is the database itself"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    measured: Workplace, options: list[str], words: str
) -> None:
    before = files(measured.folder)
    complains(measured.do("export", *options), 2, words)
    assert files(measured.folder) == before


@pytest.mark.slow
def test_a_bundle_is_written_checked_and_merged(measured: Workplace, tmp_path: Path) -> None:
    bundle, other = str(tmp_path / "ours.zip"), str(tmp_path / "other.duckdb")
    done = measured.do("export", "--bundle", bundle, "--run", "last,last~0")
    assert done.stdout.startswith(f"{bundle}: 3 records of 1 run on 1 host, ")
    checked = measured.do("verify", bundle)
    assert checked.returncode == 0
    assert f"{bundle}: sound: 3 records of 1 run on 1 host" in checked.stdout
    assert done.stdout.splitlines()[-1] == checked.stdout.splitlines()[-1]
    told = json.loads(measured.do("verify", bundle, "--json").stdout)
    assert (told["sound"], told["faults"]) == (True, [])
    merge = ["merge", bundle, "--scratch", "--database", other]
    assert measured.do(*merge).stdout.startswith("3 inserted, 0 replaced, 0 unchanged\n")
    assert measured.do(*merge).stdout.startswith("0 inserted, 0 replaced, 3 unchanged\n")


def test_a_damaged_bundle_is_told_and_not_merged(measured: Workplace, tmp_path: Path) -> None:
    bundle = tmp_path / "ours.zip"
    measured.do("export", "--bundle", str(bundle))
    bundle.write_bytes(bundle.read_bytes().replace(b'"counts"', b'"amount"'))
    checked = measured.do("verify", str(bundle))
    assert checked.returncode == 1
    assert "manifest.json: is damaged" in checked.stdout
    told = json.loads(measured.do("verify", str(bundle), "--json").stdout)
    assert (told["sound"], len(told["faults"]), told["manifest"]) == (False, 1, None)
    merge = ["merge", str(bundle), "--database", str(tmp_path / "other.duckdb")]
    complains(measured.do(*merge), 6, "damaged bundle: manifest.json: is damaged", "verify")
    assert [path.name for path in tmp_path.iterdir()] == ["ours.zip"]


def test_options_of_a_verification_mean_nothing_to_a_bundle(measured: Workplace) -> None:
    complains(
        measured.do("verify", "a.zip", "--backend", "cpu"),
        *(2, "--backend: cannot be combined with a bundle"),
    )
    complains(measured.do("verify", "nowhere.zip"), 6, "nowhere.zip: cannot be read: No such file")


def test_without_a_database_there_is_nothing_to_export(place: Workplace) -> None:
    before = files(place.folder)
    for options in (["raw", "--output", "a.csv"], ["--bundle", "a.zip"]):
        complains(place.do("export", *options), 6, "benchmarks.duckdb: there is no database yet")
    assert files(place.folder) == before


NAMES = ("cell", "median", "reasons")
ROWS = (("a", 0.8123456, '["noisy"]'), ("b", None, None))
TABLE = pa.table([[*column] for column in zip(*ROWS, strict=True)], names=[*NAMES])
ZIP, LAKE = Path("ours.zip"), Path("lake")
HASH = "ab" * 32


def an_answer() -> Answer:
    return Answer(TABLE.schema, iter(TABLE.to_batches(max_chunksize=1)))


def test_a_table_is_aligned_and_rounded(screen: Screen) -> None:
    print_shown(ShownAnswer(NAMES, iter(ROWS)), Question("FROM cells"))
    assert screen.printed() == [
        "cell  median  reasons",
        'a      0.812  ["noisy"]',
        "b          –  –",
    ]


@pytest.mark.parametrize("form", WRITERS)
def test_other_formats_are_printed_as_they_are_written(
    form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    print_answer(an_answer(), form)
    content = capfdbinary.readouterr().out
    assert content.startswith(b"PAR1" if form == "parquet" else (b"cell,", b"[\n", b"| cell |"))


@pytest.mark.parametrize("form", sorted(WRITERS.keys() - {"parquet"}))
def test_no_value_steers_a_terminal(
    form: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"reason": ["\x1b[2J\x9b2J\nwell"]})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_answer(Answer(table.schema, iter(table.to_batches())), form)
    printed = capfdbinary.readouterr().out.decode()
    assert "\\u001b[2J" in printed.replace("\\\\", "\\").replace("\\[", "[")
    assert not {"\x1b", "\x9b"} & {*printed}


def test_only_bytes_are_kept_from_a_terminal() -> None:
    for form in ("table", "csv", "parquet"):
        require_printable(form)


def a_manifest(hosts: int = 1, **changes: Any) -> BundleManifest:
    counts = {"runs": 2, "records": 1200, "hosts": hosts, "matrices": 1, "hardware": 1}
    values: dict[str, Any] = {
        "accelmatrix": "0.1.0",
        "record_version": 5,
        "scratch": False,
        "counts": BundleCounts(**counts, environments=1, artefacts=0),
        "members": {"runs.json": 9},
    }
    return BundleManifest(**values | changes)


def test_a_bundle_that_was_written(screen: Screen) -> None:
    written = WrittenBundle(ZIP, 1 << 20, HASH, a_manifest())
    assert screen.lines(print_bundle, written) == [
        "ours.zip: 1,200 records of 2 runs on 1 host, 1MiB",
        f"sha256: {HASH}",
    ]
    data = screen.data(print_bundle, written)
    assert (data["sha256"], data["manifest"]["counts"]["records"]) == (HASH, 1200)


def a_check(*faults: str, newer: bool = False, **manifest: Any) -> Bundle:
    known = None if faults else a_manifest(**manifest)
    return Bundle(ZIP, HASH, 9, faults, known, newer=newer)


@pytest.mark.parametrize(
    ("check", "place", "line"),
    [
        (
            a_check(hosts=2),
            0,
            "ours.zip: sound: 1,200 records of 2 runs on 2 hosts, written by AccelMatrix 0.1.0",
        ),
        (a_check(), -1, f"sha256: {HASH}"),
        (a_check("is of version 2", newer=True), 0, "ours.zip: is of version 2"),
        (a_check("is of version 2", newer=True), 1, "install the newer AccelMatrix that wrote it"),
    ],
    ids=["sound", "hash", "newer bundle", "what to do"],
)
def test_a_bundle_that_was_checked(screen: Screen, check: Bundle, place: int, line: str) -> None:
    assert screen.lines(print_checked, check)[place].startswith(line)


def test_a_bundle_of_a_scratch_database_says_so(screen: Screen) -> None:
    assert "scratch database" in "\n".join(screen.lines(print_checked, a_check(scratch=True)))


@pytest.mark.parametrize(
    "check",
    [a_check(accelmatrix="0.1.0\nsha256: 00"), a_check("is bad\nsha256: 00")],
    ids=["manifest", "fault"],
)
def test_a_bundles_text_makes_no_line_of_its_own(screen: Screen, check: Bundle) -> None:
    hashes = [line for line in screen.lines(print_checked, check) if line.startswith("sha256: ")]
    assert hashes == [f"sha256: {HASH}"]


def test_every_fault_has_a_line(screen: Screen) -> None:
    bundle = a_check("runs.json: is missing", "extra: is not in SHA256SUMS")
    assert screen.lines(print_checked, bundle) == [
        "ours.zip: runs.json: is missing",
        "ours.zip: extra: is not in SHA256SUMS",
        f"sha256: {HASH}",
    ]


@pytest.mark.parametrize(
    ("rows", "files", "line"),
    [
        (1234, 1, "raw: 1,234 rows: lake"),
        (1, 1, "raw: 1 row: lake"),
        (3, 2000, "raw: 3 rows in 2,000 files: lake"),
    ],
)
def test_rows_and_files_are_counted(screen: Screen, rows: int, files: int, line: str) -> None:
    exported = ExportedTopic("raw", LAKE, rows, files)
    assert screen.lines(print_exported, exported, ExportOptions("raw", LAKE)) == [line]


@pytest.mark.parametrize("everything", [False, True])
def test_an_empty_export_says_what_else_there_is(screen: Screen, everything: bool) -> None:
    options = ExportOptions("raw", LAKE, everything=everything)
    text = "\n".join(screen.lines(print_exported, ExportedTopic("raw", LAKE, 0, 1), options))
    assert ("`--all` takes every row" in text) is not everything


def test_what_a_merge_would_leave_out_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    checked = replace(a_check(), impossible=Damaged(ZIP, "a/b: impossible value", 2))
    print_checked(checked, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{ZIP}: whole: ")
    assert lines[1] == (
        "2 records that no measurement can give, which `merge` leaves out: a/b: impossible value"
    )
