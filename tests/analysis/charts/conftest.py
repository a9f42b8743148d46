"""One small database for all charts."""

from collections.abc import Iterator

import pytest

from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import a_record

MS = 1_000_000
PATHS = (("cpu", "torch", 8.0), ("cpu", "onnxruntime", 4.0), ("openvino", "openvino", 2.0))
"""Backend, runtime, and milliseconds of a query with batch 1."""
LONG_RUN = 5_000
"""Durations of the result that has more than a drawing holds."""


def timed(backend: str, runtime: str, batch: int, ms: float) -> Record:
    durations = [round(ms * MS * (1 + 0.01 * (step % 7))) for step in range(20)]
    return a_record(
        backend=backend, runtime=runtime, batch_size=batch, durations_ns=durations, grade="A"
    )


def trained() -> Record:
    return a_record(
        mode="training",
        batch_size=1,
        durations_ns=[30 * MS] * 20,
        forward_median_s=0.010,
        loss_median_s=0.001,
        backward_median_s=0.012,
        optimizer_median_s=0.006,
        training_precision=None,
    )


def long_run() -> Record:
    durations = [(90 if step == 4_321 else 5) * MS + step for step in range(LONG_RUN)]
    return a_record(batch_size=16, durations_ns=durations, steady_change=0.5)


@pytest.fixture(scope="session")
def charted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Curves of three runtimes, a training step, a long run, open for reading."""
    folder = tmp_path_factory.mktemp("charted")
    records = [
        timed(backend, runtime, batch, ms * batch**0.5)
        for backend, runtime, ms in PATHS
        for batch in (1, 2, 4)
    ]
    database = write_records(folder, [*records, trained(), long_run()])
    with Store.open_readonly(database) as store:
        yield store
