"""Launches of results: the value of each for every metric, against SQL and arithmetic by hand."""

from collections.abc import Iterator
from statistics import fmean, median
from typing import Any

import pytest

from analysis.regress.launches import histories, launched_results
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.statistics.arrays import np
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import RECORDED_AT, a_record

MS = 1_000_000
LAUNCHES = ((10, 12, 11), (20, 22, 24, 21))
"""Milliseconds of the iterations of two launches."""
EVERY = [one for launch in LAUNCHES for one in launch]
TOKENS = 5
FIRST = ((4, 5, 6), (8, 7, 9, 10))
"""Milliseconds to the first of five tokens."""
RUN, PLAIN, STARTS, TOLD = "run-1", "run-2", "run-3", "run-4"


def _launched(run_id: str, **changes: Any) -> Record:
    medians = [median(launch) / 1e3 for launch in LAUNCHES]
    known = {
        "run_id": run_id,
        "durations_ns": [one * MS for one in EVERY],
        "rounds": 2,
        "round_iterations": [3, 4],
        "round_medians": medians,
        "latency_median_s": fmean(medians),
        "latency_median_low_s": 0.010,
        "latency_median_high_s": 0.024,
        "latency_precision": 0.007 / fmean(medians),
        "latency_p90_s": float(np.quantile(EVERY, 0.9)) / 1e3,
        "memory_peak_bytes": 100_000_000,
    }
    return a_record(**known | changes)


def _records() -> Iterator[Record]:
    yield _launched(RUN, batch_size=2)
    first = [one * MS for launch in FIRST for one in launch]
    yield _launched(
        RUN,
        mode="generation",
        new_tokens=TOKENS,
        part_durations_ns={"first_token": first},
        time_to_first_token_median_s=fmean(median(launch) for launch in FIRST) / 1e3,
        time_per_output_token_median_s=fmean(_per_token()) / 1e3,
        token_throughput=TOKENS * len(EVERY) / (sum(EVERY) / 1e3),
    )
    yield a_record(run_id=PLAIN, latency_median_s=0.015)
    yield a_record(run_id=STARTS, mode="startup", durations_ns=[900 * MS, 950 * MS, 1000 * MS])


def _per_token() -> list[float]:
    return [
        median((one - first) / (TOKENS - 1) for one, first in zip(*launch, strict=True))
        for launch in zip(LAUNCHES, FIRST, strict=True)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("launches")
    with Store.open_readonly(write_records(folder, _records())) as opened:
        yield opened


@pytest.mark.parametrize(
    ("mode", "metric", "values"),
    [
        ("inference", "latency", [median(launch) for launch in LAUNCHES]),
        ("inference", "throughput", [2 * len(one) * 1e3 / sum(one) for one in LAUNCHES]),
        ("inference", "p90", [float(np.quantile(one, 0.9)) for one in LAUNCHES]),
        ("inference", "memory", [100.0]),
        ("generation", "latency", [median(launch) for launch in LAUNCHES]),
        ("generation", "ttft", [median(launch) for launch in FIRST]),
        ("generation", "tpot", _per_token()),
        ("generation", "tokens", [TOKENS * len(one) * 1e3 / sum(one) for one in LAUNCHES]),
    ],
)
def test_each_launch_has_a_value_of_each_metric(
    store: Store, mode: str, metric: str, values: list[float]
) -> None:
    selection = Selection(run_id=RUN, condition=f"r.mode = '{mode}'")
    (observation,) = launched_results(store, selection, METRICS[metric])
    assert observation.launches == pytest.approx(tuple(values))


def test_a_history_holds_the_results_of_one_series_alone(store: Store) -> None:
    wanted = launched_results(store, Selection(run_id=RUN), METRICS["latency"])
    known = histories(store, Selection(every=True), METRICS["latency"], wanted, per_host=False)
    assert len(known) == 2
    for one in wanted:
        (past,) = known[one.key(per_host=False)]
        assert (past.run_id, past.logarithms) == (RUN, pytest.approx(one.logarithms))
        assert past.measured_at == RECORDED_AT
