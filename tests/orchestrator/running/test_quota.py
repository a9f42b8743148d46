"""A job's output folder has a quota, which is looked at rarely and never through links."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.running.launch_limits import OutputQuota, excess_of
from runner.contract.job import Limits
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.words import words_of

GIB = 1 << 30
QUOTA = OutputQuota(most_bytes=1000, most_files=20)


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def many(folder: Path) -> None:
    for number in range(21):
        (folder / str(number)).touch()


@pytest.mark.parametrize(
    ("fill", "excess"),
    [
        (lambda folder: sparse(folder / "a" / "b", 1000), None),
        (lambda folder: sparse(folder / "a" / "b", 1001), "is larger than 1000B"),
        (lambda folder: (folder / "link").symlink_to(Path(__file__)), None),
        (lambda folder: (folder / "loop").symlink_to(folder), None),
        (lambda folder: os.mkfifo(folder / "fifo"), None),
        (many, "has more than 20 files"),
        (lambda folder: (folder / ("d/" * 40)).mkdir(parents=True), "has more than 20 files"),
    ],
    ids=["at the limit", "over it", "link", "loop", "fifo", "files", "folders"],
)
def test_what_a_job_leaves_is_held_to_its_quota(
    tmp_path: Path, fill: Callable[[Path], None], excess: str | None
) -> None:
    fill(tmp_path)
    assert words_of(excess_of(tmp_path, QUOTA)) == excess


def test_what_is_allowed_follows_from_the_job_unless_it_is_set() -> None:
    model = fake_model().model_copy(update={"parameters": 7_000_000_000})
    job = a_job([fake_cell(size) for size in range(1, 33)], model)
    assert OutputQuota.of(job) == OutputQuota(8 * GIB, 10_000 + 32 * 100)
    assert OutputQuota.of(a_job(model=model)).most_bytes == 4 * GIB
    export = a_job(model=model).model_copy(update={"purpose": "prepare"})
    assert OutputQuota.of(export).most_bytes == 4 * GIB + 12 * 7_000_000_000 * 3
    limited = a_job(limits=Limits(output_bytes=5))
    assert OutputQuota.of(limited).most_bytes == 5
