import json
import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from docker.errors import APIError, DockerException

from orchestrator.system.engine import connect_engine, engine_answers, engine_errors, engine_message
from runner.contract.errors import EngineUnavailable

REAL_SOCKET = "unix:///var/run/docker.sock"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "docker").mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    configure(tmp_path)


def add_context(folder: Path, name: str, host: str) -> Path:
    meta = folder / "docker/contexts/meta" / sha256(name.encode()).hexdigest() / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoints = {"docker": {"Host": host, "SkipTLSVerify": False}}
    meta.write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": endpoints}))
    return meta


def configure(folder: Path, **values: str) -> None:
    (folder / "docker/config.json").write_text(json.dumps(values))


@pytest.fixture
def silent_socket(tmp_path: Path) -> Iterator[Path]:
    """It takes connections and never answers."""
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


def test_a_dead_docker_host_is_named_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(EngineUnavailable, match=r"unix:///nowhere/docker\.sock") as caught:
        connect_engine()
    assert caught.value.exit_code == 4
    assert "--launcher process" in str(caught.value.hint)
    assert not engine_answers()


@pytest.mark.parametrize("address", ["nonsense", "tcp://", "gopher://somewhere"])
def test_a_docker_host_that_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EngineUnavailable, match="DOCKER_HOST"):
        connect_engine()


def test_missing_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    with pytest.raises(EngineUnavailable):
        connect_engine()


def test_an_engine_that_never_answers(silent_socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{silent_socket}")
    assert not engine_answers(timeout_s=1)


def test_a_context_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    add_context(tmp_path, "remote", "unix:///from/the/context.sock")
    monkeypatch.setenv("DOCKER_CONTEXT", "remote")
    with pytest.raises(EngineUnavailable, match=r"/from/the/context\.sock .*remote"):
        connect_engine()


def test_the_current_context_of_the_configuration(tmp_path: Path) -> None:
    add_context(tmp_path, "chosen", "unix:///from/the/context.sock")
    configure(tmp_path, currentContext="chosen")
    with pytest.raises(EngineUnavailable, match=r"/from/the/context\.sock .*chosen"):
        connect_engine()


def test_docker_host_outweighs_a_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    add_context(tmp_path, "remote", "unix:///from/the/context.sock")
    monkeypatch.setenv("DOCKER_CONTEXT", "remote")
    monkeypatch.setenv("DOCKER_HOST", "unix:///from/the/host.sock")
    with pytest.raises(EngineUnavailable, match=r"/from/the/host\.sock"):
        connect_engine()


def test_a_context_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "nobody")
    with pytest.raises(EngineUnavailable, match="'nobody' does not exist"):
        connect_engine()


def test_a_damaged_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    add_context(tmp_path, "damaged", "").write_text("{")
    monkeypatch.setenv("DOCKER_CONTEXT", "damaged")
    with pytest.raises(EngineUnavailable, match="damaged"):
        connect_engine()


@pytest.mark.parametrize(
    "failure", [DockerException("no"), ConnectionResetError("gone"), TimeoutError("late")]
)
def test_every_failure_of_the_sdk_becomes_one_error(failure: Exception) -> None:
    with pytest.raises(EngineUnavailable, match="asking: ") as caught, engine_errors("asking"):
        raise failure
    assert caught.value.__cause__ is failure


def test_our_own_mistakes_pass() -> None:
    with pytest.raises(ZeroDivisionError), engine_errors("asking"):
        raise ZeroDivisionError


def test_failures_are_explained_in_one_line() -> None:
    assert engine_message(APIError("long", explanation="no such thing\ndetails")) == "no such thing"
    assert engine_message(TimeoutError()) == "TimeoutError"


@pytest.mark.engine
def test_the_real_engine_answers(
    engine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert engine_answers(timeout_s=10)
    add_context(tmp_path, "here", REAL_SOCKET)
    configure(tmp_path, currentContext="here")
    assert connect_engine().ping()
