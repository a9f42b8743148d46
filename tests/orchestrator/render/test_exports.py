"""Answers on stdout."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from orchestrator.app.results.export import CheckedBundle, ExportedBundle
from orchestrator.bundles import BundleManifest
from orchestrator.bundles.manifest import BundleCounts
from orchestrator.render.exports import (
    print_answer,
    print_bundle,
    print_checked,
    print_exported,
    require_printable,
)
from orchestrator.store import WRITERS, Answer, ExportedTopic, ExportOptions

TABLE = pa.table(
    {
        "cell": ["a", "b"],
        "median": [0.8123456, None],
        "reasons": [["noisy"], None],
        "libraries": pa.array([[("torch", "2.13.0")], None], pa.map_(pa.string(), pa.string())),
    }
)


def an_answer() -> Answer:
    return Answer(TABLE.schema, iter(TABLE.to_batches(max_chunksize=1)))


def test_a_table_is_aligned_and_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(an_answer(), "table")
    assert capsys.readouterr().out.splitlines() == [
        "cell  median  reasons    libraries",
        'a      0.812  ["noisy"]  {"torch": "2.13.0"}',
        "b          –  –          –",
    ]


@pytest.mark.parametrize("form", WRITERS)
def test_other_formats_are_printed_as_they_are_written(
    form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    print_answer(an_answer(), form)
    content = capfdbinary.readouterr().out
    assert content.startswith(b"PAR1" if form == "parquet" else (b"cell,", b"[\n", b"| cell |"))


def test_only_bytes_are_kept_from_a_terminal() -> None:
    for form in ("table", "csv", "parquet"):
        require_printable(form)


Capture = pytest.CaptureFixture[str]
PATH = Path("ours.zip")
HASH = "ab" * 32


def a_manifest(*, scratch: bool = False, hosts: int = 1, record_version: int = 5) -> BundleManifest:
    counts = BundleCounts(
        runs=2, records=1200, hosts=hosts, matrices=1, hardware=1, environments=1, artefacts=0
    )
    members = {"runs.json": 9}
    return BundleManifest(
        accelmatrix="0.1.0",
        record_version=record_version,
        scratch=scratch,
        counts=counts,
        members=members,
    )


def test_a_bundle_that_was_written(capsys: Capture) -> None:
    written = ExportedBundle(PATH, 1 << 20, HASH, a_manifest())
    print_bundle(written, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "ours.zip: 1,200 records of 2 runs on 1 host, 1MiB",
        f"sha256: {HASH}",
    ]
    print_bundle(written, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["sha256"], told["manifest"]["counts"]["records"]) == (HASH, 1200)


def a_check(
    *faults: str, manifest: BundleManifest | None = None, newer: bool = False
) -> CheckedBundle:
    return CheckedBundle(PATH, 9, HASH, not faults, faults, manifest, newer)


def test_a_sound_bundle(capsys: Capture) -> None:
    print_checked(a_check(manifest=a_manifest(hosts=2)), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "ours.zip: sound: 1,200 records of 2 runs on 2 hosts, written by AccelMatrix 0.1.0",
        f"sha256: {HASH}",
    ]


def test_a_bundle_of_a_scratch_database_says_so(capsys: Capture) -> None:
    print_checked(a_check(manifest=a_manifest(scratch=True)), as_json=False)
    assert "scratch database" in capsys.readouterr().out


def test_records_of_a_newer_runner_are_told(capsys: Capture) -> None:
    print_checked(a_check(manifest=a_manifest(record_version=99)), as_json=False)
    told = capsys.readouterr().out.splitlines()[1]
    assert told.startswith("its records are of version 99, and this AccelMatrix knows up to ")


def test_a_newer_bundle_is_told_with_what_to_do(capsys: Capture) -> None:
    print_checked(a_check("is of version 2", newer=True), as_json=False)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "ours.zip: is of version 2",
        "install the newer AccelMatrix that wrote it",
    ]


def test_every_fault_has_a_line(capsys: Capture) -> None:
    bundle = a_check("runs.json: is missing", "extra: is not in SHA256SUMS")
    print_checked(bundle, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "ours.zip: runs.json: is missing",
        "ours.zip: extra: is not in SHA256SUMS",
        f"sha256: {HASH}",
    ]
    print_checked(bundle, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["sound"], len(told["faults"]), told["manifest"]) == (False, 2, None)


PATH_EXPORT = Path("lake")


@pytest.mark.parametrize(
    ("rows", "files", "told"),
    [
        (1234, 1, "raw: 1,234 rows: lake\n"),
        (1, 1, "raw: 1 row: lake\n"),
        (3, 2000, "raw: 3 rows in 2,000 files: lake\n"),
    ],
)
def test_rows_and_files_are_counted(rows: int, files: int, told: str, capsys: Capture) -> None:
    print_exported(
        ExportedTopic("raw", PATH_EXPORT, rows, files),
        ExportOptions("raw", PATH_EXPORT),
        as_json=False,
    )
    assert capsys.readouterr().out == told


def test_an_empty_export_says_what_else_there_is(capsys: Capture) -> None:
    nothing = ExportedTopic("raw", PATH_EXPORT, 0, 1)
    print_exported(nothing, ExportOptions("raw", PATH_EXPORT), as_json=False)
    assert "`--all` takes every row" in capsys.readouterr().out
    print_exported(nothing, ExportOptions("raw", PATH_EXPORT, everything=True), as_json=False)
    assert "--all" not in capsys.readouterr().out


def test_an_export_as_json(capsys: Capture) -> None:
    print_exported(
        ExportedTopic("raw", PATH_EXPORT, 3, 2), ExportOptions("raw", PATH_EXPORT), as_json=True
    )
    told = json.loads(capsys.readouterr().out)
    assert told == {"topic": "raw", "output": "lake", "rows": 3, "files": 2}
