"""The chance to keep a service level: shares that are known by counting, and honest refusals."""

import math
import random
from statistics import NormalDist
from typing import Any

import pytest

from analysis.recommend.candidates import Figure
from analysis.recommend.service_levels import (
    MeasuredDurations,
    ServiceLevel,
    measured_chance,
    parse_service_level,
    predicted_chance,
)
from analysis.statistics.ratios import Estimate

MS = 1_000_000
P95 = ServiceLevel("p95", 0.050)


def measured(*launches: list[int], **changes: object) -> MeasuredDurations:
    known: dict[str, object] = {
        "effective": sum(map(len, launches)),
        "process_spread": None,
        "percentile_s": 0.04,
        "needed": 130,
    }
    return MeasuredDurations(launches, **known | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "basis"),
    [
        ({"effective": 90.4}, "and the 194 measured ones tell as much as 90"),
        ({"effective": 150}, "of which the 194 measured ones hold too few"),
        ({"effective": None}, "of which the 194 measured ones hold too few"),
    ],
)
def test_too_few_samples_are_named_by_what_they_tell(changes: dict[str, Any], basis: str) -> None:
    chance = measured_chance(P95, measured([MS] * 194, percentile_s=None, **changes))
    assert chance.basis == f"p95 takes 130 independent iterations, {basis}"


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("p95<50ms", ServiceLevel("p95", 0.05)),
        (" P99.9 < 0.2s ", ServiceLevel("p99.9", 0.2)),
        ("p999<=7us", ServiceLevel("p99.9", 7e-6)),
    ],
)
def test_levels_are_read(words: str, level: ServiceLevel) -> None:
    read = parse_service_level(words)
    assert (read.percentile, read.limit_s) == (level.percentile, pytest.approx(level.limit_s))


def test_the_chance_near_the_limit_is_that_of_the_binomial_distribution() -> None:
    """A twentieth of independent durations is beyond: Binomial(400, 0.05) is at most 20 in 56 %."""
    durations = [60 * MS] * 20 + [40 * MS] * 380
    random.Random(0).shuffle(durations)
    assert measured_chance(P95, measured(durations)).share == pytest.approx(0.56, abs=0.12)


def test_durations_that_depend_on_each_other_count_for_fewer() -> None:
    """A tenth in one stretch is beyond: of 40 independent blocks at most two may be, in 22 %."""
    durations = [60 * MS] * 40 + [40 * MS] * 360
    share = measured_chance(P95, measured(durations, effective=40)).share
    assert share == pytest.approx(0.22, abs=0.08)


def test_launches_that_differ_make_the_chance_uncertain() -> None:
    alike = measured([40 * MS] * 100, [40 * MS] * 100, [40 * MS] * 100)
    one_slow = measured([40 * MS] * 100, [40 * MS] * 100, [60 * MS] * 100)
    assert measured_chance(P95, alike).share == 1.0
    share = measured_chance(P95, one_slow).share
    assert share == pytest.approx((2 / 3) ** 3, abs=0.08), "no draw of three has the slow one"


def test_one_launch_is_scaled_by_what_processes_differ_by() -> None:
    durations = [45 * MS] * 200
    share = measured_chance(P95, measured(durations, process_spread=0.1)).share
    below = NormalDist(0, 0.1).cdf(math.log(50 / 45))
    assert share == pytest.approx(below, abs=0.05)


def test_predicted_chances_follow_from_median_interval_and_variation() -> None:
    latency = Figure(40.0, Estimate(40.0, 32.0, 50.0), "predicted")
    no_spread = predicted_chance(P95, latency, [1e-9] * 3).share
    assert no_spread == pytest.approx(0.95, abs=0.01), "the limit is the upper end of 90 %"
    wide = predicted_chance(P95, latency, [0.2] * 3).share
    assert wide is not None
    assert wide < 0.5, "p95 of a wide distribution lies beyond"


@pytest.mark.parametrize(
    ("outside", "variations", "reason"),
    [
        ((), [0.1, 0.1], "at least 3 measured cells"),
        (("batch size 64 is above 8",), [0.1] * 9, "extrapolates: batch size 64"),
    ],
)
def test_unknown_chances_say_why(
    outside: tuple[str, ...], variations: list[float], reason: str
) -> None:
    latency = Figure(40.0, Estimate(40.0, 32.0, 50.0), "predicted", outside=outside)
    chance = predicted_chance(P95, latency, variations)
    assert chance.share is None
    assert reason in chance.basis
