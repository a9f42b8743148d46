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

from tests.support.workplace import BY_CONTAINERS, BY_PROCESSES, Workplace, wait_until

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


@BY_PROCESSES
def test_two_orchestrators_take_turns(workplace: Workplace, tmp_path: Path) -> None:
    second_folder = tmp_path / "second"
    second_folder.mkdir()
    second = Workplace(second_folder, workplace.launcher)
    workplace.write_matrix(latency_s=0.05)
    second.write_matrix()
    first_process = workplace.start(*workplace.run_arguments())
    wait_until(lambda: any(workplace.folder.glob("results/*/jobs/*")), "the first job")
    done = second.run()
    first_process.communicate()
    assert (first_process.returncode, done.returncode) == (0, 0)
    assert f"waiting for device fake, held by run {workplace.run_folder.name}" in done.stderr
    first_end = max(path.stat().st_mtime for path in workplace.records())
    second_start = min(path.stat().st_mtime for path in second.run_folder.glob("jobs/*"))
    assert first_end <= second_start


def test_a_record_damaged_before_the_merge_is_lost_then_measured_again(user: Workplace) -> None:
    user.write_matrix()
    assert user.run().returncode == 0
    victim = user.records()[0]
    victim.write_bytes(victim.read_bytes()[:200])
    (user.folder / "results/benchmarks.duckdb").unlink()
    merged = user.do("merge", "results", "--scratch")
    assert merged.returncode == 6
    assert victim.name in merged.stderr
    assert sorted(user.verdicts().values()) == ["lost", "ok", "ok"]
    assert user.has_one_verdict_each()
    assert user.resume().returncode == 0
    assert sorted(user.verdicts().values()) == ["ok", "ok", "ok"]
    assert victim.with_name(victim.name + ".damaged").exists()
    for _ in range(2):  # merging again changes nothing
        again = user.do("merge", "results", "--scratch")
        assert again.stdout.startswith("0 inserted, 0 replaced, 3 unchanged\n")


@BY_CONTAINERS
def test_a_full_disk_ends_the_run_and_resuming_finishes_it(
    workplace: Workplace, small_disk: Path
) -> None:
    workplace.write_matrix(models=2)
    (workplace.folder / "results").symlink_to(small_disk)
    filler = small_disk / "filler"
    process = workplace.start(*workplace.run_arguments())
    wait_until(lambda: any(small_disk.glob("*/jobs/*")), "the first job")
    fill(filler)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 6, stderr
    assert "No space left" in stderr
    assert workplace.unfinished() == []
    filler.unlink()
    done = workplace.resume()
    assert done.returncode == 0, done.stderr
    workplace.check("ok")


def test_a_nearly_full_disk_is_refused_before_anything_runs(
    user: Workplace, small_disk: Path
) -> None:
    user.write_matrix()
    fill(small_disk / "filler")
    done = user.run("--results", str(small_disk))
    assert done.returncode == 6
    assert "cannot be made" in done.stderr or "free" in done.stderr


def test_a_spent_budget_leaves_verdicts_that_resuming_replaces(user: Workplace) -> None:
    user.write_matrix(models=3, batch_sizes=[1])
    done = user.run("--budget", "0s")
    assert done.returncode == 3, done.stderr
    user.check("unavailable")
    assert user.resume().returncode == 0
    user.check("ok")


def test_fail_fast_stops_after_the_first_failure(user: Workplace) -> None:
    user.write_matrix({"*": "raise"}, models=3, batch_sizes=[1])
    assert user.run("--fail-fast").returncode == 1
    assert sorted(user.verdicts().values()) == ["failed", "unavailable", "unavailable"]


def test_an_unusable_database_is_found_before_anything_is_measured(user: Workplace) -> None:
    user.write_matrix()
    (user.folder / "foreign.duckdb").write_text("no database")
    done = user.run("--database", "foreign.duckdb")
    assert (done.returncode, "foreign.duckdb" in done.stderr) == (6, True)
    assert not list(user.folder.glob("results/*/run.json"))


def test_a_real_database_refuses_fake_rows(user: Workplace) -> None:
    user.write_matrix()
    refused = user.do("run", "matrix.yaml", "--launcher", user.launcher)
    assert (refused.returncode, "fake" in refused.stderr) == (6, True)
    assert not (user.folder / "results").exists()
    user.run("--database", "scratch.duckdb")
    merged = user.do("merge", *map(str, user.records()))
    assert (merged.returncode, merged.stdout.split(",")[0]) == (6, "0 inserted")
    assert "refused 3 rows that no device made" in merged.stderr


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
