"""A scratch database of a thousand cells with a hundred launches each, judged as users judge it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from analysis.regress.cases import RegressionQuestion
from analysis.regress.judgements import judge
from analysis.regress.verdicts import RegressionVerdict
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection, Side
from orchestrator.store.store import Store
from performance.regressions.noise import replicate_noise
from performance.scratch import merged

CELLS = 1_000
LAUNCHES = 100
"""Of each cell, over all runs."""
CV, STEP = 0.01, 1.10
ROWS = 20_000
"""Synthetic results from which the cells are taken."""
_SEED = 19
_RUN_ID = "'20250101-200000-' || printf('%04d', run)"
_RECORDED = "TIMESTAMPTZ '2025-01-01 20:00:00+00' + to_days(run::INTEGER) + to_seconds(cell)"
_REPEAT = f"""
    CREATE TEMP TABLE templates AS
    SELECT row_number() OVER (ORDER BY cell_id) - 1 AS cell, * FROM (
        SELECT DISTINCT ON (cell_id) * FROM benchmark_results
        WHERE status = 'ok' AND proof = 'proven' AND correct AND grade = 'A'
            AND mode = 'inference' AND scenario = 'single_stream'
        ORDER BY cell_id, result_id
    ) LIMIT {CELLS};
    CREATE TEMP TABLE run_templates AS SELECT * FROM benchmark_runs LIMIT 1;
    CREATE TEMP TABLE raw AS SELECT * FROM raw_benchmark_data;
    DELETE FROM benchmark_results;
    DELETE FROM raw_benchmark_data;
    DELETE FROM replay_jobs;
    DELETE FROM benchmark_runs;
    INSERT INTO benchmark_runs BY NAME SELECT t.* REPLACE ({_RUN_ID} AS run_id)
    FROM run_templates t, range({{runs}}) runs(run);
    INSERT INTO benchmark_results BY NAME
    SELECT t.* EXCLUDE (cell) REPLACE (
        {_RUN_ID} || '/' || cell_id AS result_id, {_RUN_ID} AS run_id, {_RECORDED} AS recorded_at,
        {{launches}} AS rounds, list_transform(d.factors, lambda factor: factor * latency_median_s)
            AS round_medians,
        latency_median_s * list_avg(d.factors) AS latency_median_s,
        latency_median_low_s * list_min(d.factors) AS latency_median_low_s,
        latency_median_high_s * list_max(d.factors) AS latency_median_high_s
    )
    FROM templates t JOIN drawn d USING (cell);
    INSERT INTO raw_benchmark_data BY NAME
    SELECT raw.* REPLACE ({_RUN_ID} || '/' || cell_id AS result_id)
    FROM raw JOIN templates t USING (result_id), range({{runs}}) runs(run);
"""


def judge_many(stepped: float, launches: int) -> tuple[float, Mapping[RegressionVerdict, int]]:
    """Seconds to judge the newest run, and the verdicts; `stepped` is the share with a step."""
    with _database(stepped, launches) as database, Store.open_readonly(database) as store:
        base, run = sorted(run.run_id for run in store.runs())[-2:]
        sides = (Side(name, store, Selection(run_id=name)) for name in (base, run))
        question = RegressionQuestion(*sides, (METRICS["latency"],))
        started = time.perf_counter()
        judgements = judge(question)
        taken_s = time.perf_counter() - started
    if len(judgements.judgements) != CELLS:
        raise SystemExit(f"judged {len(judgements.judgements)} cells instead of {CELLS}")
    return taken_s, judgements.counts


@contextmanager
def _database(stepped: float, launches: int) -> Iterator[Path]:
    """A database with the runs, for a while."""
    with merged(ROWS) as database:
        with duckdb.connect(database) as connection:
            runs = LAUNCHES // launches
            connection.register("drawn", _drawn(stepped, runs, launches))
            connection.execute(_REPEAT.format(runs=runs, launches=launches))
        yield database


def _drawn(stepped: float, runs: int, launches: int) -> pa.Table:
    """What each launch of each cell takes by the cell's usual time."""
    random, noise = np.random.default_rng(_SEED), replicate_noise()
    rows = []
    hours = random.integers(len(noise.cells[0].runs), size=runs)
    for cell in range(CELLS):
        factors = np.exp(noise.series(random, CV, list(hours), launches))
        if random.random() < stepped:
            factors[int(random.integers(3, runs - 2)) :] *= STEP
        rows += [
            {"cell": cell, "run": run, "factors": list(values)}
            for run, values in enumerate(factors)
        ]
    return pa.Table.from_pylist(rows)
