"""Signals, deletions, a full disk in mid-run: documented exit codes, then a verdict per cell."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.place import FailingPlace
from tests.support.failpoints import COMMAND_VARIABLE, Failpoint
from tests.support.nothing_left import held_locks, processes_of, unfinished_files

pytestmark = [pytest.mark.serial, pytest.mark.nightly]

OBSERVER = "orchestrator.commands.program.progress:PlainObserver"
FIRST_CELL = (1, f"{OBSERVER}.cell_ended")
TIMING = (1, f"{OBSERVER}.phase_began", "steady")
LAST_CELL = (3, f"{OBSERVER}.cell_ended")
FILL = "head -c 300M /dev/zero > results/filler"


@dataclass(frozen=True)
class Interference:
    """A command that somebody executes while a run is under way, and what comes of it."""

    command: str
    moment: tuple[object, ...]
    code: int = 0
    """The run's exit code."""
    finished: tuple[int, ...] = (0, 3)
    """The exit codes that resuming may have."""
    repair: str = ":"
    """What the user does before resuming, as the message says."""


MEDDLERS = {
    "SIGTERM": Interference("kill -TERM $PPID", FIRST_CELL, 130),
    "SIGHUP": Interference("kill -HUP $PPID", FIRST_CELL, 130),
    "Ctrl-C": Interference("kill -INT $PPID", FIRST_CELL, 130),
    "Ctrl-C twice": Interference("kill -INT $PPID; kill -INT $PPID", FIRST_CELL, 130),
    "the runner is killed": Interference("pkill -KILL -P $PPID -f runner", TIMING, 1),
    "the device's lock is deleted": Interference("rm locks/fake.lock", FIRST_CELL),
    "the database's lock is deleted": Interference("rm results/*.duckdb.lock", FIRST_CELL),
    "the database is deleted": Interference("rm results/*.duckdb", LAST_CELL),
    "the database is cut short": Interference(
        "truncate -s 5000 results/*.duckdb", LAST_CELL, 6, repair="rm results/*.duckdb"
    ),
    "the jobs are deleted": Interference("rm -r results/2*/jobs", FIRST_CELL),
    "the records are deleted": Interference("rm -r results/2*/records/*", LAST_CELL, 1),
}


@pytest.mark.parametrize("meddler", MEDDLERS.values(), ids=MEDDLERS)
def test_a_run_that_somebody_meddles_with_is_finished(
    place: FailingPlace, meddler: Interference
) -> None:
    place.write_matrix()
    done = meddle(place, meddler.command, *meddler.moment)
    assert done.returncode == meddler.code, done.stderr
    assert "Traceback" not in done.stderr
    subprocess.run(meddler.repair, shell=True, check=True, cwd=place.folder)
    place.finish(*meddler.finished)


def meddle(
    place: FailingPlace, command: str, *moment: object
) -> "subprocess.CompletedProcess[str]":
    """A run in which a shell executes this command after that moment."""
    place.environment[COMMAND_VARIABLE] = command
    return place.fail(Failpoint("shell", "after", *moment), *place.run_arguments())


def test_a_run_whose_folder_is_deleted_says_so_and_leaves_nothing(place: FailingPlace) -> None:
    place.write_matrix()
    done = meddle(place, "rm -r results/2*", *FIRST_CELL)
    assert done.returncode == 6, done.stderr
    assert "No such file" in done.stderr
    assert "Traceback" not in done.stderr
    left = (unfinished_files(place.folder), processes_of(place.folder), held_locks(place))
    assert left == ([], [], [])


FULL = {
    "before a job is written": ("before", 1, "os:replace", "*/jobs/*"),
    "when a cell's timing began": ("after", *TIMING),
    "after the first cell": ("after", *FIRST_CELL),
    "before a log is written": ("before", 1, "os:replace", "*/logs/*"),
    "when the merge begins": ("after", 2, "duckdb:DuckDBPyConnection.begin"),
    "before the merge is committed": ("before", 2, "duckdb:DuckDBPyConnection.commit"),
}


@pytest.mark.parametrize("moment", FULL.values(), ids=FULL)
def test_a_run_on_a_disk_that_fills_up_is_finished(
    place: FailingPlace, small_disk: Path, moment: tuple[str, ...]
) -> None:
    place.write_matrix(models=2)
    place.environment[COMMAND_VARIABLE] = FILL
    done = place.fail(Failpoint("shell", *moment), *place.run_arguments())
    assert done.returncode in {0, 6}, done.stderr
    assert "Traceback" not in done.stderr
    (small_disk / "filler").unlink()
    place.finish(0, 3)


@pytest.fixture
def small_disk(place: FailingPlace) -> Iterator[Path]:
    """A file system of 100 MiB for the results."""
    folder = place.folder / "results"
    folder.mkdir()
    sudo = [] if os.getuid() == 0 else [shutil.which("sudo") or "sudo", "-n"]
    options = ["-t", "tmpfs", "-o", f"size=100m,uid={os.getuid()}", "tmpfs"]
    subprocess.run([*sudo, "mount", *options, str(folder)], check=True)
    yield folder
    subprocess.run([*sudo, "umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def shared_place() -> Iterator[FailingPlace]:
    """A place that other users may enter, which pytest's own may not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        place = FailingPlace.in_folder(Path(name), "process")
        (place.folder / "locks").mkdir(mode=0o777)
        (place.folder / "locks").chmod(0o777)
        yield place


COMMANDS = {
    "orchestrator.commands.measure.run:resume_run": ("run", "--resume", "last", "--scratch"),
    "orchestrator.commands.measure.run:begin_run": (
        *("run", "matrix.yaml", "--scratch"),
        *("--launcher", "process"),
    ),
    "orchestrator.commands.exchange.merge:merge_paths": ("merge", "results", "--scratch"),
}


@pytest.mark.parametrize(("entry", "arguments"), COMMANDS.items())
def test_results_that_may_only_be_read_stay_as_they_are(
    shared_place: FailingPlace, entry: str, arguments: tuple[str, ...]
) -> None:
    place = shared_place
    place.write_matrix()
    assert place.run("--budget", "0s").returncode == 3
    before = modified(place)
    allow(place, "a-w")
    done = place.fail(Failpoint("demote", "before", 1, entry), *arguments)
    assert done.returncode == 6, done.stderr
    assert "Permission denied" in done.stderr or "cannot be written" in done.stderr
    assert "hint: " in done.stderr
    assert modified(place) == before
    allow(place, "u+w")
    place.finish()


def modified(place: FailingPlace) -> dict[str, int]:
    """The times at which the results were written, by their paths."""
    results = place.folder / "results"
    return {str(path): path.stat().st_mtime_ns for path in results.rglob("*") if path.is_file()}


def allow(place: FailingPlace, change: str) -> None:
    """Change who may write to the results."""
    subprocess.run(["chmod", "-R", change, str(place.folder / "results")], check=True)
