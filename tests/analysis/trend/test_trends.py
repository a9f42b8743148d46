"""Trends: one series for a CI whose hosts change their name, ratios by hand, and candidates."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.trend.trends import trends_of
from orchestrator.commands.trend.command import trend_sheet
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from runner.contract.record.files import save_record
from tests.support.databases import write_records
from tests.support.launches import launched
from tests.support.records import a_record
from tests.support.repeated import BEGUN, MEDIANS_MS, write_repeated

EVERY = Selection(every=True)
LATENCY = METRICS["latency"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open_readonly(write_repeated(tmp_path_factory.mktemp("trends"))) as opened:
        yield opened


def test_hosts_that_change_their_name_stay_one_series(store: Store) -> None:
    trends = trends_of(store, EVERY, LATENCY)
    grown, steady = trends.series
    assert [value.value for value in grown.values] == pytest.approx(list(MEDIANS_MS))
    assert (grown.first.value, grown.last.value, grown.best.value) == pytest.approx((4, 8, 4))
    assert grown.ratio == pytest.approx(2)
    assert (grown.outcome.kind, steady.outcome.kind) == ("worse", "equal")
    assert (trends.once, trends.left_out) == (1, 0)


def a_long_series(folder: Path) -> Path:
    """A database of seven runs of three launches; from the fifth on they take a fifth longer."""
    files = []
    for day in range(7):
        level = 4.0 if day < 4 else 4.8
        record = launched(
            [level * launch for launch in (0.99, 1.0, 1.01)],
            recorded_at=BEGUN + timedelta(days=day),
            run_id=f"202611{day + 1:02}-120000-aaaa",
        )
        (folder / str(day)).mkdir()
        files.append(save_record(record, folder / str(day)))
    with Store.open(folder / DATABASE_NAME) as store:
        store.merge(files).require_complete()
    return folder / DATABASE_NAME


def test_steps_of_a_long_series_are_its_change_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open_readonly(a_long_series(tmp_path)) as store:
        trends = trends_of(store, EVERY, LATENCY)
        monkeypatch.setattr("analysis.trend.trends.level_steps", lambda *_: None)
        plain = trends_of(store, EVERY, LATENCY)
    (series,) = trends.series
    (step,) = series.steps
    assert step.ratio.value == pytest.approx(1.2)
    ends = (step.before.facts["run_id"], step.after.facts["run_id"])
    assert ends == ("20261104-120000-aaaa", "20261105-120000-aaaa")
    assert (trends.without_levels, plain.without_levels) == (0, 1)
    notes = trend_sheet(plain, "table", blocks=False).notes
    assert any("the extra `analysis` finds them" in note for note in notes)


def test_latencies_of_another_batch_that_offline_found_are_of_another_series(
    tmp_path: Path,
) -> None:
    records = [
        a_record(
            run_id=str(day),
            recorded_at=BEGUN + timedelta(days=day),
            scenario="offline",
            sequence_length=length,
            batch_size=batch,
            latency_median_s=0.001 * batch,
        )
        for length, batches in ((128, (32, 32)), (64, (32, 64)))
        for day, batch in enumerate(batches)
    ]
    with Store.open_readonly(write_records(tmp_path, records)) as opened:
        (same,) = trends_of(opened, EVERY, LATENCY).series
        samples = trends_of(opened, EVERY, METRICS["throughput"]).series
    assert "-s128-" in same.cell_id
    assert [series.ratio for series in samples] == pytest.approx([1, 1])
