"""Judgements of a run: its cells against a baseline, with the history of their series."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from statistics import fmean, median
from typing import Any

import pytest

from analysis.regress.cases import RegressionQuestion
from analysis.regress.judgements import Judgement, Judgements, decider, judge
from analysis.regress.noise import SeriesNoise
from analysis.regress.verdicts import LevelShift
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection, Side
from analysis.results.series import AcceptedChange
from analysis.statistics.arrays import np
from analysis.statistics.paired import PairedRatio
from analysis.statistics.variance import ShiftSpread
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.observed import BEGUN
from tests.support.records import a_failure, a_record

RUNS = 8
LAST = RUNS - 1
SLOWER, STEADY, MOVED, NOISY, SINGLE = 1, 2, 4, 8, 16
"""Batch sizes of the cells, by what becomes of them in the last run."""
FAILED, GONE, NEW = 32, 64, 128


def run_id(number: int) -> str:
    return f"202611{number + 1:02}-120000-aaaa"


def _measured(random: np.random.Generator, run: int, batch: int, **changes: Any) -> Record:
    cv = 0.03 if batch == NOISY else 0.005
    level = 10.0 * (1.15 if (batch, run) == (SLOWER, LAST) else 1.0)
    count = 1 if batch == SINGLE else 5
    durations = [round(level * 1e6 * math.exp(random.normal(0, cv))) for _ in range(count)]
    launches = [duration / 1e9 for duration in durations]
    middle = fmean(launches)
    known = {
        "run_id": run_id(run),
        "recorded_at": BEGUN + timedelta(days=run, seconds=batch),
        "batch_size": batch,
        "durations_ns": durations,
        "rounds": len(launches),
        "round_iterations": [1] * len(launches),
        "round_medians": launches,
        "latency_median_s": middle,
        "latency_median_low_s": min(launches),
        "latency_median_high_s": max(launches),
        "latency_precision": (max(launches) - min(launches)) / 2 / middle,
        "git_commit": ("b" if run == LAST else "a") * 40,
    }
    return a_record(**known | changes)


def _records() -> Iterator[Record]:
    random = np.random.default_rng(19)
    for run in range(RUNS):
        for batch in (SLOWER, STEADY, NOISY, SINGLE):
            yield _measured(random, run, batch)
        elsewhere = {"device_name": "Other CPU", "cpu_model": "Other CPU"} if run == LAST else {}
        yield _measured(random, run, MOVED, **elsewhere)
        if run < LAST:
            yield _measured(random, run, GONE)
            yield _measured(random, run, FAILED)
    yield _measured(random, LAST, NEW)
    yield a_failure(
        "failed",
        "out of luck",
        run_id=run_id(LAST),
        recorded_at=BEGUN + timedelta(days=LAST),
        batch_size=FAILED,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("judgements")
    with Store.open_readonly(write_records(folder, _records())) as opened:
        yield opened


def question(store: Store, base: int = LAST - 1, run: int = LAST) -> RegressionQuestion:
    sides = (
        Side(run_id(number), store, Selection(run_id=run_id(number))) for number in (base, run)
    )
    return RegressionQuestion(*sides, (METRICS["latency"],))


@pytest.fixture(scope="module")
def judgements(store: Store) -> Judgements:
    return judge(question(store))


def of(judgements: Judgements, batch: int) -> Judgement:
    return next(one for one in judgements.judgements if f"-b{batch}-" in one.cell_id)


def test_each_cell_gets_the_verdict_that_it_deserves(judgements: Judgements) -> None:
    verdicts = {
        batch: of(judgements, batch).verdict for batch in (SLOWER, STEADY, NOISY, MOVED, FAILED)
    }
    assert verdicts == {
        SLOWER: "regression",
        STEADY: "no change",
        NOISY: "inconclusive",
        MOVED: "not comparable",
        FAILED: "not comparable",
    }
    assert sum(judgements.counts.values()) == len(judgements.judgements) == 6
    assert judgements.judgements[0].verdict == "regression"
    assert len(judgements.only_before) == len(judgements.only_after) == 1


def test_a_regression_has_its_ratio_its_noise_and_what_else_changed(
    store: Store, judgements: Judgements
) -> None:
    judgement = of(judgements, SLOWER)
    sql = "SELECT round_medians AS m FROM benchmark_results WHERE result_id = '{}/{}'"
    before, after = (
        store.arrow(sql.format(run_id(number), judgement.cell_id)).to_pylist()[0]["m"]
        for number in (LAST - 1, LAST)
    )
    expected = math.exp(fmean(map(math.log, after)) - fmean(map(math.log, before)))
    assert judgement.ratio is not None
    assert judgement.ratio.value == pytest.approx(expected)
    assert judgement.ratio.low > 1.1
    assert judgement.noise == f"{LAST} runs with {5 * LAST} launches"
    assert judgement.p_value is not None
    assert 0 < judgement.p_value <= 0.01
    assert any("commit" in change for change in judgement.changes or ())


def test_what_is_inconclusive_says_what_would_decide(judgements: Judgements) -> None:
    judgement = of(judgements, NOISY)
    assert judgement.launches_needed is None
    assert "more launches would not decide, measuring them side by side would" in judgement.reason


@pytest.mark.parametrize(
    ("error", "code", "number"),
    [(0.02, "rounds_would_decide", 11), (0.2, "rounds_would_not_decide", None)],
)
def test_no_more_rounds_are_said_to_decide_than_are_made(
    error: float, code: str, number: int | None
) -> None:
    noise = SeriesNoise("pairs", "", lambda n, _: ShiftSpread(error * math.sqrt(2 / n), n - 1))
    pair = PairedRatio((0.01, -0.01) * 5, (6, 12, 24))
    reason = decider(LevelShift(0.0, (10, 10), noise), 0.02, pair)
    assert (reason.code, reason.number) == (code, number)
    assert reason.facts.get("most") in (None, "24")


def test_a_series_has_its_values_in_the_order_of_time_and_its_steps(judgements: Judgements) -> None:
    judgement = of(judgements, SLOWER)
    assert len(judgement.values) == RUNS
    assert judgement.values[-1] == max(judgement.values)
    assert median(judgement.values) == pytest.approx(10, rel=0.02)
    assert [step.run_id for step in judgement.steps] == [run_id(LAST)]


def test_an_accepted_change_is_no_regression_and_a_level_of_its_own(store: Store) -> None:
    cells = frozenset({of(judge(question(store)), SLOWER).cell_id})
    accepted = AcceptedChange(run_id(LAST), cells, "a safer default")
    judgement = of(judge(replace(question(store), accepted=(accepted,))), SLOWER)
    assert (judgement.verdict, judgement.reason) == ("no change", "accepted: a safer default")
    assert [step.accepted for step in judgement.steps] == ["a safer default"]
