"""Our own results, committed as records: unseen shapes, unseen models, and memory.

Shapes between those that were measured have a bar. Those beyond them are extrapolations: their
errors and the coverage of their intervals stand beside, without a bar.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.predict.examples.example_rows import example_rows
from analysis.predict.examples.placements import PREDICTION_TARGETS, ExampleRows
from analysis.predict.trials import PredictionTrial, cross_validated, joined, run_trial
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.store.store import Store
from performance.prediction.bars import Bar, SplitRow
from performance.prediction.timm import folds_by
from runner.contract.record.record import SCHEMA_VERSION, Record

ROWS = Path(__file__).parents[1] / "data" / "own_rows.parquet"
SHAPE, MODEL, MEMORY = 0.12, 0.30, 0.12
"""The most MAPE: of an unseen shape of a seen model, of an unseen model, and of memory."""


def own_splits() -> Iterator[SplitRow]:
    """The rows of the evaluation."""
    with _database() as store:
        rows = example_rows(store, imported=False)
        spread = _process_spread(store)
    count = len(rows.rows)
    print(f"\nown rows: {count:,} results; processes differ by {spread:.1%} (median of cv)")
    latency, memory = PREDICTION_TARGETS["latency"], PREDICTION_TARGETS["memory"]
    shapes = cross_validated(latency, rows.examples(latency), "shape")
    yield _row("own_shape", "own rows: unseen shape", shapes.trial, max(SHAPE, 2 * spread))
    ends = cross_validated(latency, rows.examples(latency), "range")
    if ends.trial.answered:
        yield _row("own_range", "own rows: largest and smallest shapes", ends.trial, None)
    yield _row("own_model", "own rows: unseen model", _unseen_models(rows), MODEL)
    sizes = cross_validated(memory, rows.examples(memory), "shape")
    yield _row("own_memory", "own rows: memory of an unseen shape", sizes.trial, MEMORY)


def _unseen_models(rows: ExampleRows) -> PredictionTrial:
    """Models of which nothing is known, whether others of their architecture are or not."""
    target = PREDICTION_TARGETS["latency"]
    folds = folds_by(rows.examples(target), lambda example: example.placement.model)
    return joined(run_trial(target, known, hidden) for _, known, hidden in folds)


def _row(name: str, title: str, trial: PredictionTrial, most: float | None) -> SplitRow:
    paths = sorted({"/".join(one.example.placement.path) for one in trial.answered})
    parts = {
        path: trial.part(lambda one, path=path: "/".join(one.example.placement.path) == path)
        for path in paths
    }
    return SplitRow(name, title, Bar(most, covers=False), {"all": trial}, parts)


@contextmanager
def _database() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        records, database = Path(folder, "rows.parquet"), Path(folder, "benchmarks.duckdb")
        pq.write_table(_as_records(pq.read_table(ROWS)), records)
        merge_paths([records], database, scratch=False)
        with Store.open_readonly(database) as store:
            yield store


def _as_records(rows: pa.Table) -> pa.Table:
    """The same measurements by today's schema, whose newer columns are null."""
    known = [name for name in rows.column_names if name in Record.model_fields]
    version = pa.array([SCHEMA_VERSION] * len(rows), pa.int64())
    return rows.select(known).drop("schema_version").append_column("schema_version", version)


def _process_spread(store: Store) -> float:
    """The median coefficient of variation of the medians of processes; 0 where none tells it."""
    (row,) = store.arrow("""
        SELECT coalesce(median(coalesce(latency_between_process_cv, process_spread)), 0) AS spread
        FROM benchmark_performance
    """).to_pylist()
    return float(row["spread"])
