"""Replicates and what is drawn from them: the committed launches, and noise of a named size."""

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from orchestrator.store import Store
from performance.aa_grades import grade_distances
from performance.verdicts.noise import common_ratio, replicate_noise
from performance.verdicts.replicates import REPLICATES
from runner.contract.record import save_record
from tests.support.records import a_record


def test_forty_launches_of_each_of_four_cells_are_committed() -> None:
    table = pq.read_table(REPLICATES)
    assert table.column_names == ["cell", "run", "launch", "median_s", "grade", "measured_at"]
    rows = table.to_pylist()
    assert len({row["cell"] for row in rows}) == 4
    assert len({(row["cell"], row["run"], row["launch"]) for row in rows}) == len(rows) == 160
    assert {row["launch"] for row in rows} == set(range(5))
    assert all(0 < row["median_s"] < 1 for row in rows)


@pytest.mark.parametrize("cv", [0.01, 0.05])
def test_drawn_launches_have_the_cv_that_is_named(cv: float) -> None:
    noise, random = replicate_noise(), np.random.default_rng(19)
    hours = random.integers(len(noise.cells[0].runs), size=2_000)
    values = np.concatenate([noise.series(random, cv, list(hours), 5) for _ in range(8)])
    assert values.std() == pytest.approx(cv, rel=0.1)
    runs = values.mean(axis=1).var() - values.var(axis=1, ddof=1).mean() / 5
    assert math.sqrt(runs / values.var(axis=1, ddof=1).mean()) == pytest.approx(
        noise.ratio, rel=0.2
    )


def test_the_share_of_runs_is_found_in_cells_of_any_size() -> None:
    random = np.random.default_rng(19)
    cells = [
        size * (random.normal(0, 0.7, (200, 1)) + random.normal(0, 1, (200, 5)))
        for size in (0.01, 3.0)
    ]
    assert common_ratio(cells) == pytest.approx(0.7, rel=0.1)
    assert common_ratio([random.normal(0, 1, (200, 5))]) == pytest.approx(0, abs=0.15)


def test_pairs_of_equal_cells_belong_to_their_worse_grade(tmp_path: Path) -> None:
    results = [(1, 10.0, "B"), (1, 11.0, "C"), (1, 12.0, "C"), (2, 10.0, "C"), (2, 10.0, "D")]
    for number, (batch, ms, grade) in enumerate(results):
        folder = tmp_path / str(number)
        folder.mkdir()
        columns = {"latency_median_s": ms / 1e3, "grade": grade, "batch_size": batch, "rounds": 1}
        save_record(a_record(run_id=f"run-{number}", **columns), folder)
    with Store.open(tmp_path / "x.duckdb") as store:
        store.merge([tmp_path]).require_complete()
    counts, distances = grade_distances([tmp_path / "x.duckdb"])
    assert counts == {"B": 1, "C": 3, "D": 1}
    assert distances.keys() == {"C", "D"}
    assert sorted(distances["C"]) == pytest.approx(
        sorted(math.log(ratio) for ratio in (1.1, 1.2, 12 / 11))
    )
    assert distances["D"] == [0.0]
