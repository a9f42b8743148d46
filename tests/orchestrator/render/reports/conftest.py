"""One small database for all reports, in which some words are hostile."""

from pathlib import Path

import pytest

from orchestrator.store import Store
from runner.contract.record import Record, save_record
from tests.support.records import a_failure, a_record

MS = 1_000_000
HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\"> & <b>'\"\u202e"
"""A text that breaks out of markup, attributes and scripts where it is not escaped."""
PATHS = (("cpu", "torch", 8.0), ("cpu", "onnxruntime", 4.0), ("openvino", "openvino", 2.0))
"""Backend, runtime, and milliseconds of a query with batch 1."""
MANY = 500
"""Durations of a result, more than a page holds."""


def timed(backend: str, runtime: str, batch: int, ms: float) -> Record:
    durations = [round(ms * MS * (1 + 0.01 * (step % 7))) for step in range(MANY)]
    return a_record(
        backend=backend,
        runtime=runtime,
        batch_size=batch,
        durations_ns=durations,
        warmup_durations_ns=[round(2 * ms * MS)] * 3,
        grade="B",
        grade_reasons=[f"{HOSTILE}: measure longer"],
        hostname=HOSTILE,
    )


def records() -> list[Record]:
    curves = [
        timed(backend, runtime, batch, ms * batch**0.5)
        for backend, runtime, ms in PATHS
        for batch in (1, 2, 4, 8, 16)
    ]
    graph = a_record(
        runtime="onnxruntime", batch_size=32, graph_remedy="dynamic shapes failed, static shape"
    )
    wrong = a_record(batch_size=64, correct=False, correct_reason="off by far")
    failed = a_failure("out_of_memory", HOSTILE, batch_size=128)
    return [*curves, graph, wrong, failed]


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database; nobody changes it."""
    folder = tmp_path_factory.mktemp("reported")
    files = []
    for number, record in enumerate(records()):
        (folder / str(number)).mkdir()
        files.append(save_record(record, folder / str(number)))
    database = folder / "benchmarks.duckdb"
    with Store.open(database) as store:
        store.merge(files).require_complete()
    return database
