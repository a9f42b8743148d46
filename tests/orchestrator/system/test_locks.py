import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.system import locks
from orchestrator.system.locks import FOLDER_VARIABLE, hold_devices, holds_devices
from runner.contract.errors import StoreError
from tests.conftest import ROOT

HOLD = """
import sys
from pathlib import Path
from orchestrator.system.locks import hold_devices

def waiting(device, holder):
    print("waiting for", device, "of", holder, flush=True)

folder, devices, name = sys.argv[1:]
with hold_devices(frozenset(devices.split(",")), name, waiting, Path(folder)):
    print("held", flush=True)
    sys.stdin.readline()
"""
COUNT = """
import sys
from pathlib import Path
from orchestrator.system.locks import hold_devices

folder, counter, devices = Path(sys.argv[1]), Path(sys.argv[2]), frozenset(sys.argv[3].split(","))
for _ in range(20):
    with hold_devices(devices, "counting", lambda *_: None, folder):
        counter.write_text(str(int(counter.read_text()) + 1))
"""

Start = Callable[[str, str], "subprocess.Popen[str]"]


def python(script: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def release(process: "subprocess.Popen[str]") -> int:
    process.communicate("\n")
    return process.returncode


def is_free(folder: Path, device: str) -> bool:
    """Whether the device can be had without waiting; it is given back at once."""

    class Taken(Exception):
        pass

    def refuse(device: str, holder: str) -> None:
        raise Taken

    try:
        with hold_devices(frozenset({device}), "a look", refuse, folder):
            return True
    except Taken:
        return False


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started = []

    def begin(devices: str, name: str) -> "subprocess.Popen[str]":
        started.append(python(HOLD, tmp_path, devices, name))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_the_second_process_waits_and_says_for_whom(start: Start) -> None:
    first = start("cpu", "run one")
    assert line(first) == "held"
    second = start("cpu", "run two")
    assert (
        line(second)
        == f"waiting for cpu of run one, process {first.pid}, which took it a moment ago"
    )
    assert second.poll() is None
    assert release(first) == 0
    assert line(second) == "held"
    assert release(second) == 0


def test_who_waits_hears_again_for_how_long_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_PATIENCE_S", 0.001)
    heard: list[str] = []
    with ExitStack() as other:
        other.enter_context(hold_devices(frozenset({"cpu"}), "run one", print, tmp_path))

        def waiting(device: str, holder: str) -> None:
            heard.append(holder)
            os.utime(tmp_path / "cpu.holder", (time.time() - 600 * len(heard),) * 2)
            if len(heard) == 3:
                other.close()

        with hold_devices(frozenset({"cpu"}), "run two", waiting, tmp_path):
            pass
    ages = [holder.rpartition("took it ")[2] for holder in heard]
    assert ages == ["a moment ago", "10 minutes ago", "20 minutes ago"]


def test_the_lock_of_a_killed_process_is_free(start: Start, tmp_path: Path) -> None:
    first = start("cpu", "one")
    assert line(first) == "held"
    assert not is_free(tmp_path, "cpu")
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert is_free(tmp_path, "cpu")
    second = start("cpu", "two")
    assert line(second) == "held"
    assert (tmp_path / "cpu.holder").read_text() == f"two, process {second.pid}"


def test_devices_are_taken_in_alphabetical_order(start: Start, tmp_path: Path) -> None:
    with hold_devices(frozenset({"b"}), "the test", lambda *_: None, tmp_path):
        process = start("c,a,b", "one")
        assert (
            line(process)
            == f"waiting for b of the test, process {os.getpid()}, which took it a moment ago"
        )
        assert not is_free(tmp_path, "a")
        assert is_free(tmp_path, "c")
    assert line(process) == "held"
    assert [is_free(tmp_path, device) for device in "abc"] == [False, False, False]
    release(process)
    assert [is_free(tmp_path, device) for device in "abc"] == [True, True, True]


def test_processes_that_share_devices_never_overlap_nor_block_each_other(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [python(COUNT, tmp_path, counter, devices) for devices in ("a,b", "b,a")]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    assert counter.read_text() == "40"


def test_the_note_goes_with_the_lock_and_not_with_who_gives_up_waiting(tmp_path: Path) -> None:
    with hold_devices(frozenset({"cpu"}), "run one", lambda *_: None, tmp_path):
        assert not is_free(tmp_path, "cpu")
        assert (tmp_path / "cpu.holder").read_text() == f"run one, process {os.getpid()}"
    assert not (tmp_path / "cpu.holder").exists()


def test_all_users_share_the_folder_and_its_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep" / "locks"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    with hold_devices(frozenset({"cpu"}), "one", lambda *_: None):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "cpu.lock")]
    assert modes == [0o777, 0o666]


def test_a_folder_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
        with (
            pytest.raises(StoreError, match=f"{folder}: device locks cannot be kept") as caught,
            hold_devices(frozenset({"cpu"}), "one", lambda *_: None),
        ):
            pass
        assert FOLDER_VARIABLE in str(caught.value.hint)


def test_a_holder_is_known_by_its_name_whatever_it_says_behind(tmp_path: Path) -> None:
    with hold_devices(frozenset({"cpu"}), "run a (about 5m in all)", lambda *_: None, tmp_path):
        assert holds_devices("run a", tmp_path)
        assert not holds_devices("run", tmp_path)
    assert not holds_devices("run a", tmp_path)
