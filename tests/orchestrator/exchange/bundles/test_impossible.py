"""Bundles of records that no measurement can give: whole, told, and merged without them."""

import math
from pathlib import Path

import duckdb
import pytest

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.check import open_bundle
from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.store.store import Store
from tests.support.siblings import siblings


@pytest.mark.slow
@pytest.mark.parametrize("median", siblings([1e-9, math.nan, math.inf, -1.0], keep=[math.nan]))
def test_impossible_medians_are_told_by_verify_and_left_out_by_merge(
    database: Path, tmp_path: Path, median: float
) -> None:
    with duckdb.connect(database) as connection:
        (name,) = connection.execute(
            "SELECT min(result_id) FROM benchmark_results WHERE latency_median_s > 0"
            " AND source = 'accelmatrix' AND NOT simulated"
        ).fetchone() or ("",)
        connection.execute(
            "UPDATE benchmark_results SET latency_median_s = ? WHERE result_id = ?", [median, name]
        )
    bundle = tmp_path / "impossible.zip"
    records = write_bundle(database, (), bundle, force=False).manifest.counts.records
    with open_bundle(bundle) as checked:
        assert (checked.sound, checked.faults, checked.left_out) == (False, (), 1)
        assert checked.impossible is not None
        assert name in checked.impossible.reason
    report = merge_paths([bundle], tmp_path / "elsewhere.duckdb", scratch=False)
    assert report.inserted == records - 1
    (damaged,) = report.damaged
    assert (damaged.path, damaged.records) == (bundle, 1)
    with Store.open_readonly(tmp_path / "elsewhere.duckdb") as store:
        assert store.measurement(name) is None
