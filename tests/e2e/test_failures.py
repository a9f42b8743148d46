"""Failures of cells, runs, disks and databases: right verdicts, the rest measured, nothing left."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.workplace import BY_CONTAINERS, Workplace, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]
STATUSES = {
    "fill_memory": "out_of_memory",
    "die": "lost",
    "exit": "lost",
    "raise": "failed",
    "memory_error": "out_of_memory",
    "hang": "timeout",
}
KEPT = {"process": ("raise", "hang"), "docker": ("fill_memory", "die")}
"""The faults that the gate tries with each launcher."""
MARKS: Mapping[str, Sequence[pytest.MarkDecorator]] = {
    "process": (),
    "docker": (pytest.mark.engine,),
}
FAILURES = [
    pytest.param(
        *(launcher, fault, status),
        marks=marks if fault in KEPT[launcher] else (*marks, pytest.mark.nightly),
    )
    for launcher, marks in MARKS.items()
    for fault, status in STATUSES.items()
]


@pytest.mark.parametrize(("workplace", "fault", "status"), FAILURES, indirect=["workplace"])
def test_a_cell_that_fails_gets_its_verdict_and_the_others_are_measured(
    workplace: Workplace, fault: str, status: str
) -> None:
    limits = {"cell_timeout": "3s"} if fault == "hang" else {}
    workplace.write_matrix({"*-b2-*": fault}, **limits)
    done = workplace.run()
    assert done.returncode == 1, done.stderr
    assert workplace.verdicts_by_batch() == {1: "ok", 2: status, 4: "ok"}
    workplace.check()


@BY_CONTAINERS
@pytest.mark.parametrize("interruptions", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_interruption_stops_at_once_and_resuming_finishes_the_rest(
    workplace: Workplace, interruptions: int
) -> None:
    workplace.write_matrix({"*scripted-1-*": "hang"}, models=3)
    process = workplace.start(*workplace.run_arguments())
    wait_until(lambda: workplace.is_hanging("scripted-1"), "the hang")
    for _ in range(interruptions):  # a second Ctrl-C lets the clean-up finish
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "--resume last" in stderr
    assert workplace.unfinished() == []
    measured = {path: path.stat().st_mtime_ns for path in workplace.records()}
    assert set(workplace.verdicts()) == {path.stem for path in measured}
    workplace.heal()
    resumed = workplace.resume()
    assert resumed.returncode == 0, resumed.stdout
    workplace.check("ok")
    assert {path: path.stat().st_mtime_ns for path in measured} == measured


def test_a_nearly_full_disk_is_refused_before_anything_runs(
    user: Workplace, small_disk: Path
) -> None:
    user.write_matrix()
    fill(small_disk / "filler")
    done = user.run("--results", str(small_disk))
    assert done.returncode == 6
    assert "cannot be made" in done.stderr or "free" in done.stderr


def test_an_unusable_database_is_found_before_anything_is_measured(user: Workplace) -> None:
    user.write_matrix()
    (user.folder / "foreign.duckdb").write_text("no database")
    done = user.run("--database", "foreign.duckdb")
    assert (done.returncode, "foreign.duckdb" in done.stderr) == (6, True)
    assert not list(user.folder.glob("results/*/run.json"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 100 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size=100m,uid={os.getuid()}", "tmpfs"]
    sudo = [] if os.getuid() == 0 else [shutil.which("sudo") or "sudo", "-n"]
    subprocess.run([*sudo, "mount", *options, str(folder)], check=True)
    yield folder
    subprocess.run([*sudo, "umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write until no byte is left."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    os.write(file.fileno(), b"x" * size)
        os.fsync(file.fileno())
