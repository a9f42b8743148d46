"""What is said of bundles."""

import json
from pathlib import Path

import pytest

from orchestrator.bundle import Bundle, Manifest, Written
from orchestrator.bundle.manifest import Counts
from orchestrator.render.bundle import print_checked, print_written

Capture = pytest.CaptureFixture[str]
PATH = Path("ours.zip")
HASH = "ab" * 32


def a_manifest(*, scratch: bool = False, hosts: int = 1, record_version: int = 5) -> Manifest:
    counts = Counts(
        runs=2, records=1200, hosts=hosts, matrices=1, hardware=1, environments=1, artefacts=0
    )
    members = {"runs.json": 9}
    return Manifest(
        accelmatrix="0.1.0",
        record_version=record_version,
        scratch=scratch,
        counts=counts,
        members=members,
    )


def test_a_bundle_that_was_written(capsys: Capture) -> None:
    written = Written(PATH, HASH, 1 << 20, a_manifest())
    print_written(written, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "ours.zip: 1,200 records of 2 runs on 1 host, 1MiB",
        f"sha256: {HASH}",
    ]
    print_written(written, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["sha256"], told["manifest"]["counts"]["records"]) == (HASH, 1200)


def test_a_sound_bundle(capsys: Capture) -> None:
    print_checked(Bundle(PATH, HASH, 9, (), a_manifest(hosts=2)), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "ours.zip: sound: 1,200 records of 2 runs on 2 hosts, written by AccelMatrix 0.1.0",
        f"sha256: {HASH}",
    ]


def test_a_bundle_of_a_scratch_database_says_so(capsys: Capture) -> None:
    print_checked(Bundle(PATH, HASH, 9, (), a_manifest(scratch=True)), as_json=False)
    assert "scratch database" in capsys.readouterr().out


def test_records_of_a_newer_runner_are_told(capsys: Capture) -> None:
    print_checked(Bundle(PATH, HASH, 9, (), a_manifest(record_version=99)), as_json=False)
    told = capsys.readouterr().out.splitlines()[1]
    assert told.startswith("its records are of version 99, and this AccelMatrix knows up to ")


def test_a_newer_bundle_is_told_with_what_to_do(capsys: Capture) -> None:
    print_checked(Bundle(PATH, HASH, 9, ("is of version 2",), newer=True), as_json=False)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "ours.zip: is of version 2",
        "install the newer AccelMatrix that wrote it",
    ]


def test_every_fault_has_a_line(capsys: Capture) -> None:
    bundle = Bundle(PATH, HASH, 9, ("runs.json: is missing", "extra: is not in SHA256SUMS"))
    print_checked(bundle, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "ours.zip: runs.json: is missing",
        "ours.zip: extra: is not in SHA256SUMS",
        f"sha256: {HASH}",
    ]
    print_checked(bundle, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["sound"], len(told["faults"]), told["manifest"]) == (False, 2, None)
