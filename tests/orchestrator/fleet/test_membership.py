"""Heads and hosts of this machine: their files, the token, and what belongs to them."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.fleet.membership import (
    Membership,
    StartedProcess,
    StateFolder,
    require_token,
)
from orchestrator.fleet.transports.ray_daemons import (
    end_daemons,
    is_running,
    living,
    start_daemons,
    start_refusal,
)
from orchestrator.fleet.transports.ray_settings import OWNER_VARIABLE
from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import Unavailable
from tests.support.words import raises_words

HEAD = Membership("head", "head", "127.0.0.1:6479", "token", "mark", (StartedProcess(1, 2.5),))
HOST = Membership("host", "a", "127.0.0.1:6479", "token", "mark2")
SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "fleet")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"ACCELMATRIX_STATE": "/s", "HOME": "/h"}, "/s/fleet"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/accelmatrix/fleet"),
        ({"HOME": "/h"}, "/h/.local/state/accelmatrix/fleet"),
    ],
)
def test_the_folder_is_the_users(environment: dict[str, str], folder: str) -> None:
    assert StateFolder.of_user(environment).path == Path(folder)


def test_without_a_home_there_is_no_folder() -> None:
    with raises_words(Unavailable, match="HOME is not set"):
        StateFolder.of_user({})


def test_memberships_are_kept_until_they_are_forgotten(state: StateFolder) -> None:
    state.save(HEAD)
    state.save(HOST)
    assert (state.head(), state.hosts()) == (HEAD, [HOST])
    state.forget(HEAD)
    assert (state.head(), state.hosts()) == (None, [HOST])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"kind": "head"}', "\0"])
def test_a_damaged_file_is_no_membership(state: StateFolder, content: str) -> None:
    state.save(HOST)
    (state.path / "head.json").write_text(content)
    assert state.memberships() == [HOST]


def test_nobody_else_reads_the_token_which_stays_the_same(state: StateFolder) -> None:
    file = state.make_token()
    token = file.read_text()
    state.save(HEAD)
    file.chmod(0o644)
    assert state.make_token().read_text() == token
    assert len(token.strip()) == 64
    assert [stat.S_IMODE(path.stat().st_mode) for path in state.path.iterdir()] == [0o600, 0o600]
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o700
    assert require_token(file) == file


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0o600, "cannot be read: No such file"),
        (b"short\n", 0o600, "holds no token of at least 16 letters"),
        (b"two words of many letters\n", 0o600, "holds no token"),
        (b"\xff" * 32, 0o600, "cannot be read: it is no text"),
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
    with raises_words(Unavailable, match=message) as refused:
        require_token(file)
    assert error_hint(refused.value)


def test_a_pid_of_another_process_is_not_ours(sleeper: subprocess.Popen[bytes]) -> None:
    begin = psutil.Process(sleeper.pid).create_time()
    ours, other = StartedProcess(sleeper.pid, begin), StartedProcess(sleeper.pid, begin - 100)
    assert (is_running([ours]), is_running([other]), is_running([])) == (True, False, False)
    assert end_daemons("a mark", [other], limit_s=0) == 0
    assert sleeper.poll() is None
    assert end_daemons("a mark", [ours], limit_s=5) == 1
    assert sleeper.poll() is not None


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("InvalidAuthToken: no", "head a: the head refuses this token"),
        ("Ray is already running at 1.2.3.4:5", "another Ray has this address"),
        ("trace\n  RuntimeError: Version mismatch: 2.1\n", "another version of Ray or Python"),
        ("one\ntwo\n\n", "head a: Ray did not start: two"),
        ("", "it said nothing"),
    ],
)
def test_a_failed_start_says_why(output: str, message: str) -> None:
    assert message in str(start_refusal("head a", output))


@pytest.mark.slow
def test_a_failed_start_leaves_nothing() -> None:
    mark = f"test-{os.getpid()}"
    child = f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}])"
    code = f"import subprocess, sys; {child}; print('no memory'); sys.exit(1)"
    with raises_words(Unavailable, match="head a: Ray did not start: no memory"):
        start_daemons([sys.executable, "-c", code], {OWNER_VARIABLE: mark}, "head a", 30)
    assert living(mark, ()) == []


def test_a_start_has_a_time_limit() -> None:
    mark = f"test-{os.getpid()}"
    with raises_words(Unavailable, match="did not start within 0 s"):
        start_daemons([sys.executable, "-c", SLEEP], {OWNER_VARIABLE: mark}, "host a", 0.3)
    assert living(mark, ()) == []
