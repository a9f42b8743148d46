"""`fleet up`, `join`, `leave`, `down`, `status` where Ray is not installed or words are wrong."""

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.commands.fleet import cluster
from orchestrator.commands.fleet.cluster import start_head
from orchestrator.fleet.membership import StateFolder
from orchestrator.fleet.transports import ray
from runner.contract.errors import Unavailable
from tests.conftest import ROOT
from tests.support.command_line import call
from tests.support.ports import free_port
from tests.support.words import raises_words


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    return {"ACCELMATRIX_STATE": str(tmp_path / "state")}


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.fixture
def with_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before Ray is needed, also where it is not installed."""
    for module in (cluster, ray):
        monkeypatch.setattr(module, "require_ray", lambda: None)


@pytest.mark.parametrize(
    "words",
    [
        ("up",),
        ("join", "192.0.2.7:6479", "--token-file", "token"),
        ("status", "--address", "192.0.2.7:6479"),
    ],
)
def test_without_ray_one_sentence_says_what_to_install(
    words: tuple[str, ...], tmp_path: Path, environment: Mapping[str, str], without_ray: None
) -> None:
    done = call("fleet", *words, folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "needs Ray, which is not installed here" in done.stderr
    assert "accelmatrix[fleet]" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", "matrix.yaml"),
        ("plan", "matrix.yaml"),
        ("bench", "--model", "bert-tiny"),
        ("verify", "--model", "bert-tiny"),
        ("fleet", "doctor"),
        ("fleet", "status"),
    ],
    ids=" ".join,
)
def test_every_command_on_hosts_takes_the_address_of_a_cluster(
    words: tuple[str, ...], tmp_path: Path, environment: Mapping[str, str], without_ray: None
) -> None:
    (tmp_path / "matrix.yaml").write_text((ROOT / "matrix.yaml").read_text("utf-8"))
    done = call(*words, "--address", "192.0.2.7:6379", folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert "a fleet on Ray needs Ray" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("up", "--label", "room=1"), "a head without a name is no host"),
        (("up", "--name", "a/b"), "--name: 'a/b' is no name"),
        (("up", "--name", "a", "--label", "room"), "--label: 'room' is no KEY=VALUE"),
        (("up", "--name", "a", "--label", "x=1", "--label", "x=2"), "--label: x is given twice"),
        (("up", "--name", "a", "--label", "accelmatrix-name=1"), "is a label of ours"),
        (("up", "--port", "0"), "--port: Input should be greater"),
        (("join", "h:1"), "--token-file"),
        (("leave",), "no host of yours has joined a fleet"),
        (("down",), "no head of yours was started"),
        (("status",), "no fleet is known here"),
        (("statsu",), "did you mean `orchestrator fleet status`?"),
    ],
)
def test_wrong_words_are_refused_before_anything_starts(
    words: tuple[str, ...], message: str, tmp_path: Path, environment: Mapping[str, str]
) -> None:
    done = call("fleet", *words, folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "'nowhere' is no address of a head"),
        ("localhost:99999", "is no address of a head"),
        ("127.0.0.1:{free}", "no head answers at 127.0.0.1"),
    ],
)
def test_a_host_joins_no_head_that_is_not_there(
    address: str, message: str, tmp_path: Path, environment: Mapping[str, str], with_ray: None
) -> None:
    token = StateFolder(tmp_path / "other").make_token()
    words = ("join", address.format(free=free_port()), "--token-file", str(token))
    done = call("fleet", *words, folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_head_takes_no_port_or_address_that_it_cannot_have(
    tmp_path: Path, with_ray: None
) -> None:
    state = StateFolder(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with raises_words(Unavailable, match=f"port {port} of this machine is taken"):
            start_head(state, "127.0.0.1", port, None, {})
    with raises_words(Unavailable, match=r"192\.0\.2\.77: no head can listen there"):
        start_head(state, "192.0.2.77", free_port(), None, {})
    assert state.memberships() == []
