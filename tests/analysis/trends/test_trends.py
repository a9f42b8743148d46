"""Trends: one series for a CI whose hosts change their name, ratios by hand, candidates of steps."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.trends import trend_chart
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.trends.trends import trends_of
from orchestrator.store import Store
from runner.contract.record import Record, save_record
from tests.analysis.charts.test_charts import rows_of
from tests.support.records import a_record

EVERY = Selection(every=True)
LATENCY = METRICS["latency"]
BEGUN = datetime(2026, 11, 1, tzinfo=UTC)
MEDIANS_MS = (4.0, 4.01, 8.0)
"""Of three runs; the last one had another library and another commit."""


def measured(day: int, ms: float, **changes: Any) -> Record:
    return a_record(
        latency_median_s=ms / 1000,
        grade="A",
        recorded_at=BEGUN + timedelta(days=day),
        run_id=f"202611{day + 1:02}-120000-aaaa",
        hostname=f"runner-{day}",
        **changes,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("trends")
    newer = {"git_commit": "b" * 40, "libraries": {"torch": "2.14.0"}}
    older = {"git_commit": "a" * 40, "libraries": {"torch": "2.13.0"}}
    records = [
        measured(day, ms, **(newer if day == 2 else older)) for day, ms in enumerate(MEDIANS_MS)
    ]
    records += [measured(day, 1.0, batch_size=8, **older) for day in (0, 1)]
    records.append(measured(0, 2.0, batch_size=2, **older))
    files: list[Path] = []
    for number, record in enumerate(records):
        (folder / str(number)).mkdir()
        files.append(save_record(record, folder / str(number)))
    with Store.open(folder / "benchmarks.duckdb") as opened:
        opened.merge(files).require_complete()
    with Store.open_readonly(folder / "benchmarks.duckdb") as opened:
        yield opened


def test_hosts_that_change_their_name_stay_one_series(store: Store) -> None:
    trends = trends_of(store, EVERY, LATENCY)
    grown, steady = trends.series
    assert [value.value for value in grown.values] == pytest.approx(list(MEDIANS_MS))
    assert (grown.first.value, grown.last.value, grown.best.value) == pytest.approx((4, 8, 4))
    assert grown.ratio == pytest.approx(2)
    assert (grown.differs, grown.is_better, steady.differs) == (True, False, False)
    assert (trends.once, trends.left_out) == (1, 0)


def test_the_interval_of_the_ratio_is_that_of_its_ends(store: Store) -> None:
    series = trends_of(store, EVERY, LATENCY).series[0]
    sql = f"""
        SELECT latency_median_low_ms AS low, latency_median_high_ms AS high
        FROM benchmark_performance WHERE cell_id = '{series.cell_id}' ORDER BY measured_at
    """
    ends = store.arrow(sql).to_pylist()
    first, last = ends[0], ends[-1]
    down = ((1 - last["low"] / 8) ** 2 + (first["high"] / 4 - 1) ** 2) ** 0.5
    assert series.interval is not None
    assert series.interval.low == pytest.approx(2 * (1 - down), rel=1e-3)


def test_a_step_names_what_changed_along_with_it(store: Store) -> None:
    (step,) = trends_of(store, EVERY, LATENCY).series[0].steps
    assert step.ratio.value == pytest.approx(8 / 4.01)
    assert "torch 2.13.0, now 2.14.0" in (step.changes or ())
    assert any(change.startswith("commit aaaa") for change in step.changes or ())


def test_names_of_hosts_part_series_if_somebody_asks(store: Store) -> None:
    trends = trends_of(store, EVERY, LATENCY, per_host=True)
    assert (trends.series, trends.once) == ((), 6)


def test_several_series_are_drawn_by_their_first_values(store: Store) -> None:
    chart = trend_chart(trends_of(store, EVERY, LATENCY))
    values = sorted(row["value"] for row in rows_of(chart.spec))
    assert values == pytest.approx([1, 1, 1, 4.01 / 4, 2])
    assert sum(row["step"] for row in rows_of(chart.spec)) == 1
    assert "times 2, beyond intervals and grades" in chart.sentence
