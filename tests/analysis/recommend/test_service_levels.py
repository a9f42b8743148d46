"""The chance to keep a service level: shares that are known by counting, and honest refusals."""

import math
import random
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.recommend.candidates import Figure, Objection, is_no_faster
from analysis.recommend.choices import objection_by_level
from analysis.recommend.service_levels import (
    FRACTIONS,
    MeasuredDurations,
    ServiceLevel,
    SloChance,
    at_least_chance,
    measured_chance,
    parse_service_level,
    predicted_chance,
)
from analysis.statistics.ratios import Estimate
from tests.analysis.recommend.test_ranking import figure, ranked

MS = 1_000_000
P95 = ServiceLevel("p95", 0.050)


def measured(*launches: list[int], **changes: object) -> MeasuredDurations:
    known: dict[str, object] = {
        "effective": sum(map(len, launches)),
        "process_spread": None,
        "percentile_s": 0.04,
    }
    return MeasuredDurations(launches, **known | changes)  # type: ignore[arg-type]


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
    assert share == pytest.approx(NormalDist(0, 0.1).cdf(math.log(50 / 45)), abs=0.05)


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


def test_a_prediction_whose_median_is_beyond_the_limit_is_too_slow() -> None:
    latency = Figure(400.0, Estimate(400.0, 300.0, 500.0), "predicted")
    refused = objection_by_level(P95, predicted_chance(P95, latency, []), 0.9)
    assert refused == Objection(
        "too_slow", "median 400 ms, 8 times the limit, and p95 is no shorter"
    )


@pytest.mark.parametrize(
    ("count", "least", "probability", "chance"),
    [
        (2, 2, 0.05, 0.0025),
        (59, 1, 0.05, 1 - 0.95**59),
        (10, 0, 0.05, 1.0),
        (10, 11, 0.05, 0.0),
        (3, 2, 0.5, 0.5),
        (5000, 300, 0.05, 0.000878),
    ],
)
def test_binomial_tails(count: int, least: int, probability: float, chance: float) -> None:
    assert at_least_chance(count, least, probability) == pytest.approx(chance, rel=0.01)


Ends = tuple[float, float | None, float | None]
SLOW: Ends = (0.319, 0.310, 0.330)
ALONE: Ends = (0.319, None, None)


@pytest.mark.parametrize(
    ("words", "launch", "percentiles", "kind"),
    [
        pytest.param("p95<30ms", [23674 * MS] * 2, {}, "too_slow", id="2 of 2 are longer"),
        pytest.param("p50<30ms", [23674 * MS] * 2, {}, "slo_unknown", id="2 tell no median"),
        pytest.param("p95<30ms", [], {"p50": SLOW}, "too_slow", id="the median is longer"),
        pytest.param("p50<30ms", [], {"p50": SLOW}, "too_slow", id="its own interval"),
        pytest.param("p99.9<30ms", [], {"p90": SLOW}, "too_slow", id="a lower percentile"),
        pytest.param("p50<30ms", [], {"p90": SLOW}, "slo_unknown", id="a higher one says nothing"),
        pytest.param("p95<30ms", [], {"p50": ALONE}, "too_slow", id="an import's median"),
        pytest.param("p95<30ms", [], {}, "slo_unknown", id="nothing is known"),
        pytest.param("p90<400ms", [], {"p95": SLOW}, None, id="a higher percentile keeps it"),
        pytest.param("p99<400ms", [], {"p95": SLOW}, "slo_unknown", id="a lower one does not"),
        pytest.param("p95<400ms", [], {"p95": ALONE}, "slo_unknown", id="without an interval"),
        pytest.param("p95<30ms", [20 * MS] * 59, {}, None, id="none of 59 is longer"),
        pytest.param("p95<30ms", [20 * MS] * 30, {}, "slo_unknown", id="none of 30 is longer"),
        pytest.param("p99<30ms", [20 * MS] * 59, {}, "slo_unknown", id="59 for p99"),
        pytest.param("p90<30ms", [20 * MS] * 22 + [40 * MS], {}, "slo_unknown", id="1 of 23"),
        pytest.param("p90<30ms", [20 * MS, 40 * MS] * 5, {}, "too_slow", id="5 of 10 for p90"),
    ],
)
def test_order_statistics_decide_where_samples_support_no_percentile(
    words: str, launch: list[int], percentiles: dict[str, Ends], kind: str | None
) -> None:
    durations = MeasuredDurations(
        (launch,) if launch else (), float(len(launch)), None, None, percentiles
    )
    level = parse_service_level(words)
    objection = objection_by_level(level, measured_chance(level, durations), 0.9)
    assert (objection and objection.kind) == kind


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=80),
    st.integers(1, 100),
    st.sampled_from([1.0, 0.3]),
    st.sampled_from([None, 0.1]),
    st.sets(st.sampled_from(["p50", "p90", "p95", "p99"])),
)
def test_who_keeps_a_percentile_keeps_all_below_it(
    times: list[int], limit: int, share: float, spread: float | None, supported: set[str]
) -> None:
    kinds = []
    for name in [*FRACTIONS][:4]:
        ordered = sorted(times)
        known: dict[str, Ends] = {
            one: (ordered[int(FRACTIONS[one] * (len(times) - 1))] / 1e3, None, None)
            for one in supported
        }
        own = known[name][0] if name in known else None
        launches = ([time * MS for time in times],)
        durations = MeasuredDurations(launches, share * len(times), spread, own, known)
        level = ServiceLevel(name, limit / 1e3)
        objection = objection_by_level(level, measured_chance(level, durations), 0.9)
        kinds.append(objection.kind if objection else "kept")
    order = ["kept", "slo_unknown", "too_slow"]
    ranks = [order.index(kind) for kind in kinds]
    assert not any((lower, higher) in {(2, 0), (1, 0)} for lower, higher in pairwise(ranks)), (
        "a higher percentile is kept"
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4.52, "p95 4,520 ms, 151 times the limit; "),
        (0.06, "p95 60 ms, 2 times the limit; "),
        (0.0336, "p95 33.6 ms, 12 % over the limit; "),
        (0.029, "p95 29 ms; "),
    ],
)
def test_words_of_what_is_too_slow(seconds: float, words: str) -> None:
    level = ServiceLevel("p95", 0.03)
    objection = objection_by_level(level, SloChance(0.2, "200 durations", seconds), 0.9)
    assert objection is not None
    assert objection.reason == f"{words}the chance of p95 < 30 ms is 20 %, less than 90 %"


def test_a_larger_batch_is_no_faster() -> None:
    one, two, three = (row.candidate for row in ranked(*[figure(10.0)] * 3))
    assert is_no_faster(three, one)
    assert not is_no_faster(one, two)
    other = replace(three, cell=three.cell.model_copy(update={"precision": "int8"}))
    assert not is_no_faster(other, one)
