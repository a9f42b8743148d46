"""`export`, `verify BUNDLE` and `merge BUNDLE` as a user meets them."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

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
    done = measured.do("export", "--bundle", bundle, "--run", "last")
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
    content = bundle.read_bytes()
    bundle.write_bytes(content.replace(b'"counts"', b'"amount"'))
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
