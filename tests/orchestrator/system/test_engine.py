"""The container engine: its address, and its failures as one error."""

import json
import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from docker.errors import DockerException

from orchestrator.screen.words.reasons import error_hint
from orchestrator.system.engine import connect_engine, engine_answers, engine_errors
from runner.contract.errors import EngineUnavailable
from tests.support.words import raises_words

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
    with raises_words(EngineUnavailable, match=r"unix:///nowhere/docker\.sock") as caught:
        connect_engine()
    assert caught.value.exit_code == 4
    assert "--launcher process" in str(error_hint(caught.value))
    assert not engine_answers()


HOST, CONTEXT = "DOCKER_HOST", "DOCKER_CONTEXT"
SOCKET = "unix:///from/the/context.sock"


@pytest.mark.parametrize(
    ("variables", "current", "message"),
    [
        ({HOST: "nonsense"}, None, "DOCKER_HOST"),
        ({CONTEXT: "remote"}, None, r"/from/the/context\.sock .*remote"),
        ({}, "remote", r"/from/the/context\.sock .*remote"),
        ({CONTEXT: "remote", HOST: "unix:///the/host.sock"}, None, r"/the/host\.sock"),
        ({CONTEXT: "nobody"}, None, "'nobody' does not exist"),
        ({CONTEXT: "damaged"}, None, "damaged"),
    ],
)
def test_the_address_comes_from_host_then_context_then_configuration(
    variables: dict[str, str],
    current: str | None,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    add_context(tmp_path, "remote", SOCKET)
    add_context(tmp_path, "damaged", "").write_text("{")
    if current:
        configure(tmp_path, currentContext=current)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with raises_words(EngineUnavailable, match=message):
        connect_engine()


@pytest.mark.slow
def test_an_engine_that_never_answers(silent_socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{silent_socket}")
    assert not engine_answers(timeout_s=1)


@pytest.mark.parametrize(
    "failure", [DockerException("no"), ConnectionResetError("gone"), TimeoutError("late")]
)
def test_every_failure_of_the_sdk_becomes_one_error(failure: Exception) -> None:
    with raises_words(EngineUnavailable, match="asking: ") as caught, engine_errors("asking"):
        raise failure
    assert caught.value.__cause__ is failure


@pytest.mark.engine
@pytest.mark.slow
def test_the_real_engine_answers(
    engine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert engine_answers(timeout_s=10)
    add_context(tmp_path, "here", REAL_SOCKET)
    configure(tmp_path, currentContext="here")
    assert connect_engine().ping()
