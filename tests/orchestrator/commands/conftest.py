"""A user's folder, finished runs, a screen and databases that tests of commands share."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.store.store import Store
from runner.contract.record.record import Record
from runner.contract.record.verdict import doubt
from tests.support.comparable import write_comparable
from tests.support.databases import write_records
from tests.support.launches import launched
from tests.support.records import RECORDED_AT, a_failure, a_record
from tests.support.runs import three_runs
from tests.support.workplace import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A user's folder with a matrix."""
    place = Workplace(tmp_path, "process")
    place.write_matrix()
    return place


@dataclass(frozen=True)
class FinishedRun:
    """A command that measured, and the folder in which it did."""

    place: Workplace
    done: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """One finished run, in which one of three cells failed, which goes before the grades of others.

    Nobody changes its folder.
    """
    place = Workplace(tmp_path_factory.mktemp("measured"), "process")
    place.write_matrix({"*-b2-*": "raise"})
    return FinishedRun(place, place.run("--require-grade", "A"))


@pytest.fixture(scope="session")
def measured(finished: FinishedRun) -> Iterator[Workplace]:
    """The folder with one finished run, its database open: opening it again takes no time."""
    assert finished.done.returncode == 1
    with Store.open_readonly(finished.place.folder / "results/benchmarks.duckdb"):
        yield finished.place


@pytest.fixture(scope="session")
def comparable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a database that is open for reading alone."""
    with Store.open_readonly(write_comparable(tmp_path_factory.mktemp("comparable"))) as store:
        yield store.path.parent


@pytest.fixture(scope="session")
def finished_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nobody changes it."""
    return three_runs(tmp_path_factory.mktemp("finished") / "results")


@pytest.fixture
def results(finished_results: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(finished_results, tmp_path / "results", symlinks=True))


MS = 1_000_000
HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\"> & <b>'\"\u202e"
"""A text that breaks out of markup, attributes and scripts where it is not escaped."""
PATHS = (("cpu", "torch", 8.0), ("cpu", "onnxruntime", 4.0), ("openvino", "openvino", 2.0))
"""Backend, runtime, and milliseconds of a query with batch 1."""
MANY = 500
"""Durations of a result, more than a page holds."""
EARLIER = {"run_id": "20261101-120000-aaaa", "recorded_at": RECORDED_AT - timedelta(days=20)}
"""The run that the other one is judged against."""
LAUNCHES = (0.99, 1.0, 1.01, 1.0, 1.0)
"""The launches of a result by its median."""


def timed(backend: str, runtime: str, batch: int, ms: float) -> Record:
    durations = [round(ms * MS * (1 + 0.01 * (step % 7))) for step in range(MANY)]
    return a_record(
        backend=backend,
        runtime=runtime,
        batch_size=batch,
        durations_ns=durations,
        warmup_durations_ns=[round(2 * ms * MS)] * 3,
        grade="B",
        doubts=[doubt("contradicted", "B", 2.0, "several_processes", run=HOSTILE)],
        hostname=HOSTILE,
    )


def judged() -> list[Record]:
    """A cell that became a quarter slower, with another library, and one that did not."""
    then, now = ([ms * launch for launch in LAUNCHES] for ms in (4.0, 5.0))
    return [
        launched(then, batch_size=256, libraries={"torch": "2.13.0"}, **EARLIER),
        launched(now, batch_size=256, libraries={"torch": HOSTILE}),
        launched(then, batch_size=512, **EARLIER),
        launched(then, batch_size=512),
        launched(then, batch_size=1024, **EARLIER),
    ]


def records() -> list[Record]:
    curves = [
        timed(backend, runtime, batch, ms * batch**0.5)
        for backend, runtime, ms in PATHS
        for batch in (1, 2, 4, 8, 16)
    ]
    remedy = "dynamic shapes failed, static shape"
    graph = a_record(runtime="onnxruntime", batch_size=32, graph_remedy=remedy, graph_attempts=2)
    wrong = a_record(batch_size=64, correct=False, correct_reason="off by far")
    failed = a_failure("out_of_memory", HOSTILE, batch_size=128)
    return [*curves, *judged(), graph, wrong, failed]


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The database, which is open; nobody changes it."""
    with Store.open_readonly(
        write_records(tmp_path_factory.mktemp("reported"), records())
    ) as store:
        yield store.path
