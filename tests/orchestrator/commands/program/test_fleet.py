"""Commands on a Ray cluster where Ray is not installed, or nothing answers as named."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from orchestrator.fleet.host import HostJournal, journal_folder
from orchestrator.fleet.transports.ray import require_token
from runner.contract.errors import Unavailable
from tests.conftest import ROOT
from tests.support.command_line import call, complains
from tests.support.ports import free_port
from tests.support.workplace import Workplace


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    return {"ACCELMATRIX_STATE": str(tmp_path / "state")}


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.fleet.transports.ray.find_spec", lambda name: None)


@pytest.fixture
def with_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before Ray is needed, also where it is not installed."""
    monkeypatch.setattr("orchestrator.fleet.transports.ray.find_spec", lambda name: name)


@pytest.mark.parametrize("words", [("run", "matrix.yaml"), ("fleet", "doctor")], ids=" ".join)
def test_every_command_on_hosts_takes_the_address_of_a_cluster(
    words: tuple[str, ...], tmp_path: Path, environment: Mapping[str, str], without_ray: None
) -> None:
    (tmp_path / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text("utf-8"))
    done = call(*words, "--address", "192.0.2.7:6379", folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "a fleet on Ray needs Ray, which is not installed here" in done.stderr
    assert "accelmatrix[fleet]" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("status",), "no fleet is named"),
        (("statsu",), "did you mean `orchestrator fleet status`?"),
        (("status", "--address", "nowhere"), "'nowhere' is no address of a head"),
        (("status", "--address", "127.0.0.1:{free}"), "no head answers at 127.0.0.1"),
    ],
)
def test_a_cluster_that_is_not_there_is_refused_at_once(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    environment: Mapping[str, str],
    with_ray: None,
) -> None:
    words = tuple(word.format(free=free_port()) for word in words)
    done = call("fleet", *words, folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0o600, "cannot be read: No such file"),
        (b"short\n", 0o600, "holds no token of at least 16 letters"),
        (b"0123456789abcdef\n", 0o640, r"can be read by others \(mode 640\)"),
    ],
)
def test_a_file_without_a_secret_token_is_refused(
    tmp_path: Path, content: bytes | None, mode: int, message: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(Unavailable, match=message) as refused:
        require_token(file)
    assert refused.value.hint


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
    (first,) = json.loads(user.do(*words, "--hosts", "also").stdout)
    assert (first["name"], first["state"]) == ("also", "free")
    journal = HostJournal(journal_folder(os.environ))
    journal.begin("also", "run-1/bert-tiny-inference")
    journal.end("here", "the host is gone")
    rows = {row["name"]: row for row in json.loads(user.do(*words).stdout)}
    assert rows["also"]["state"] == "busy"
    assert rows["also"]["work"] == "run-1/bert-tiny-inference"
    assert rows["also"]["class"] == first["class"]
    assert rows["here"]["state"] == "free"
    assert [order["reason"] for order in rows["here"]["lost_orders"]] == ["the host is gone"]


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
    done = user.run(*ON_FLEET, "--placement", "every")
    assert done.returncode == 0, done.stderr
    assert "2 ok" in done.stdout
    again = user.run(*ON_FLEET, "--hosts", "here")
    assert "also: " not in again.stderr
    assert again.returncode == 0, again.stderr
