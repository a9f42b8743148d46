"""Answers on stdout; bundles and exports on the screen."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from orchestrator.commands.exchange.export_command import (
    print_bundle,
    print_checked,
    print_exported,
)
from orchestrator.commands.results.query import Question
from orchestrator.commands.results.query_command import print_answer, print_shown
from orchestrator.exchange.bundles.archive import BundleCounts, BundleManifest
from orchestrator.exchange.bundles.check import Bundle
from orchestrator.exchange.bundles.write import WrittenBundle
from orchestrator.screen.streams import require_printable
from orchestrator.store.query.ask import Answer, ShownAnswer
from orchestrator.store.query.export import ExportedTopic, ExportOptions
from orchestrator.store.query.formats import WRITERS
from orchestrator.store.records.validate import Damaged
from tests.orchestrator.conftest import Screen

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
