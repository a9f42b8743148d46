"""Scratch matrices, and scratch databases of synthetic results."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from orchestrator.system.parquet import read_table
from performance.synthetic import DURATIONS, synthesise
from runner.contract.record.files import record_of, rows, save_record
from runner.contract.record.ids import ENVIRONMENT_FACTS, MACHINE_FACTS, environment_id, hardware_id
from runner.contract.record.record import Record

SEED = 7


def seconds(action: Callable[[], object]) -> float:
    """Wall seconds of one action."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def make_results(folder: Path, count: int, first: int = 0) -> Path:
    """The folder, with that many results from the `first` that the seed makes on."""
    print(f"making {count:,} results with {DURATIONS} raw durations each", flush=True)
    for _ in synthesise(folder, count, SEED, first=first):
        pass
    return folder


def merge(records: Path, database: Path, count: int) -> None:
    """Merge so many new results into a scratch database, which is opened and closed."""
    with Store.open(database, scratch=True) as store:
        report = store.merge([records], words=record_words)
    if report.inserted != count:
        raise SystemExit(f"merged {report.inserted} records instead of {count}")


@contextmanager
def merged(count: int) -> Iterator[Path]:
    """A scratch database with that many results, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "scratch.duckdb")
        merge(make_results(Path(folder, "records"), count), database, count)
        yield database


def write_records(folder: Path, count: int) -> None:
    """Write synthetic results as if they were measured here, each into a file and folder."""
    with tempfile.TemporaryDirectory() as scratch:
        for path, _ in synthesise(Path(scratch), count, SEED):
            for number, row in enumerate(rows(read_table(path))):
                job = folder / str(number)
                job.mkdir()
                save_record(_as_ours(record_of(row)), job)


def _as_ours(record: Record) -> Record:
    """The record with ids that are the hashes of what they stand for."""
    facts = record.model_dump(include={*MACHINE_FACTS, *ENVIRONMENT_FACTS})
    ids = {"hardware_id": hardware_id(facts), "environment_id": environment_id(facts)}
    return record.model_copy(update=ids)


def write_matrix(folder: Path, axes: dict[str, Any], **rest: Any) -> Path:
    """A matrix file; its model `scripted` is for the fake backend."""
    scripted = {"name": "scripted", "family": "embedding", "size": "tiny", "modality": "text"}
    (folder / "models.yaml").write_text(yaml.safe_dump([{**scripted, "config": {}}]))
    path = folder / "matrix.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "axes": axes, **rest}))
    return path
