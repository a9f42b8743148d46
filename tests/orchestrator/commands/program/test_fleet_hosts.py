"""Commands on hosts of a file: an `ssh` of the test's own starts the host program right here."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from orchestrator.fleet.journal import HostJournal, journal_folder
from tests.conftest import ROOT
from tests.support.command_line import complains
from tests.support.workplace import Workplace

SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ "$2" = nowhere ] && { echo "ssh: Could not resolve hostname nowhere" >&2; exit 255; }
shift 2
exec "$@"
"""
SCHEMA_OF_A_ROW = {"host", "backend", "reason", "remedy"}


def a_file(folder: Path, **addresses: str) -> None:
    hosts = [
        {"name": name, "address": address, "python": sys.executable}
        for name, address in addresses.items()
    ]
    (folder / "hosts.yaml").write_text(yaml.safe_dump({"version": 1, "hosts": hosts}))


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(SSH)
    (programs / "ssh").chmod(0o755)
    variables: Mapping[str, object] = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": ROOT,
        "XDG_CACHE_HOME": tmp_path / "cache",
        "ACCELMATRIX_STATE": tmp_path / "state",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    a_file(tmp_path, here="here", also="also")
    user = Workplace(tmp_path, "process")
    user.write_matrix(models=2, batch_sizes=[1])
    return user


ON_FLEET = ("--fleet", "--hosts-file", "hosts.yaml")


@pytest.mark.slow
def test_the_doctor_tells_what_each_host_lacks(user: Workplace) -> None:
    a_file(user.folder, here="here", gone="nowhere")
    done = user.do("fleet", "doctor", *ON_FLEET[1:], "--backend", "mps", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 2
    assert answer["runs"] == {"here": []}
    rows = {row["host"]: row for row in answer["lacks"]}
    assert rows.keys() == {"here", "gone"}
    assert all(row.keys() == SCHEMA_OF_A_ROW for row in rows.values())
    assert "exists on macOS alone" in rows["here"]["reason"]
    assert "Could not resolve hostname nowhere" in rows["gone"]["reason"]


@pytest.mark.slow
def test_a_plan_shows_the_classes_of_hosts_and_starts_nothing(user: Workplace) -> None:
    done = user.do("plan", "matrix.yaml", *ON_FLEET, "--launcher", "process", "--format", "json")
    plan = json.loads(done.stdout)
    (run,) = plan["runs"]
    assert run["hosts"].keys() == {"here", "also"}
    assert {host["class"] for host in run["hosts"].values()} == {run["hosts"]["here"]["class"]}
    assert [(len(unit["cells"]), unit["hosts"]) for unit in run["units"]] == [
        (1, ["also", "here"])
    ] * 2
    assert plan["expected_s"] > 0
    assert not (user.folder / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--hosts", "lab*"), "--hosts: 'lab*' fits no host"),
        (("--placement", "some"), "some"),
        (("--compare-to", "last"), "--compare-to"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_runs(
    user: Workplace, words: tuple[str, ...], message: str
) -> None:
    complains(user.do(*user.run_arguments(*ON_FLEET, *words)), 2, message)
    assert not (user.folder / "results").exists()


@pytest.mark.slow
def test_status_asks_free_hosts_and_tells_of_busy_ones_what_is_known(user: Workplace) -> None:
    words = ("fleet", "status", *ON_FLEET[1:], "--json")
    first = {row["name"]: row for row in json.loads(user.do(*words).stdout)}
    assert {row["state"] for row in first.values()} == {"free"}
    journal = HostJournal(journal_folder(os.environ))
    journal.begin("also", "run-1/bert-tiny-inference")
    journal.end("here", "the host is gone")
    rows = {row["name"]: row for row in json.loads(user.do(*words).stdout)}
    assert rows["also"]["state"] == "busy"
    assert rows["also"]["work"] == "run-1/bert-tiny-inference"
    assert rows["also"]["class"] == first["also"]["class"]
    assert [order["reason"] for order in rows["here"]["lost_orders"]] == ["the host is gone"]
    one = json.loads(user.do(*words, "--hosts", "here").stdout)
    assert [row["name"] for row in one] == ["here"]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_result_is_repeated_on_a_host(user: Workplace) -> None:
    assert user.run("--hosts-file", "hosts.yaml").returncode == 0
    name, *_ = user.verdicts()
    done = user.do("replay", f"last/{name}", *ON_FLEET, "--hosts", "here", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["now"]["status"] == "ok"
    ways = user.ask("SELECT DISTINCT transport FROM benchmark_results")
    assert [row["transport"] for row in ways] == ["ssh"]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_model_is_verified_on_a_host(user: Workplace) -> None:
    path = ("--model", "bert-tiny", "--backend", "cpu", "--runtime", "torch", "--mode", "inference")
    done = user.do("verify", *path, *ON_FLEET, "--launcher", "process", "--json")
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["mark"] == "ok"


@pytest.mark.slow
def test_a_fleet_of_one_class_makes_one_run_whatever_the_placement(user: Workplace) -> None:
    done = user.execute(*user.run_arguments(*ON_FLEET, "--placement", "every"))
    assert done.returncode == 0, done.stderr
    assert "2 ok" in done.stdout
    again = user.execute(*user.run_arguments(*ON_FLEET, "--hosts", "here"))
    assert "also: " not in again.stderr
    assert again.returncode == 0, again.stderr
