"""A bisection finds the guilty version with few measurements, and rather widens than lies."""

import math
import random
from collections import Counter
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import strategies as st

from analysis.regress.bisection import Bisection, Search, Version, VersionOutcome, grouped_versions
from analysis.regress.launches import LaunchedResult
from tests.support.properties import property_test

LAUNCHES = 5
NOW = datetime(2026, 11, 21, tzinfo=UTC)
indices = st.integers(1, 60).flatmap(lambda last: st.tuples(st.just(last), st.integers(1, last)))


def observed(index: int, value: float = 1.0, noise: float = 0.0, seed: int = 0) -> LaunchedResult:
    """A result of the version at that index."""
    drawn = random.Random(f"{index} {value} {seed}")
    launches = tuple(value * math.exp(drawn.gauss(0, noise)) for _ in range(LAUNCHES))
    facts = {
        "run_id": f"run-{index}",
        "result_id": f"run-{index}/cell/{seed}",
        "interleaved_with": None,
        "process_spread_processes": None,
        "process_spread_degrees": None,
        "process_spread_queue": None,
        "process_spread": None,
        "grade": "B",
        "image_digest": f"sha256:{index:064}",
        "git_commit": f"{index:040}",
        "measured_at": NOW + timedelta(hours=index),
    }
    return LaunchedResult(facts, value, launches)


def a_bisection(values: Collection[float], noise: float = 0.001) -> Bisection:
    """One version for each value, with this noise of what is recorded between the ends."""
    ends = {0, len(values) - 1}
    recorded = [
        observed(index, value, 0.001 if index in ends else noise)
        for index, value in enumerate(values)
    ]
    return Bisection(grouped_versions(recorded), more_is_better=False)


def finished(
    bisection: Bisection, measure: Callable[[Version], LaunchedResult | None]
) -> tuple[Bisection, int]:
    """The bisection when nothing is left to measure, and how many measurements that took."""
    count = 0
    while (version := bisection.next) is not None:
        result, count = measure(version), count + 1
        bisection = (
            bisection.refusing(version, "gone")
            if result is None
            else bisection.knowing(version, result)
        )
        assert count < 1000
    return bisection, count


@property_test(300, indices)
def test_the_guilty_one_of_n_is_found_by_log_n_measurements(sizes: tuple[int, int]) -> None:
    last, guilty = sizes
    search, count = Search(0, last), 0
    while (index := search.next) is not None:
        count += 1
        assert count <= math.ceil(math.log2(last))
        assert search.most_left + count <= math.ceil(math.log2(last)) + 1
        search = search.knowing(index, "bad" if index >= guilty else "good")
    assert list(search.suspects) == [guilty]
    assert search.most_left == 0


@property_test(300, indices, st.sets(st.integers(1, 60)))
def test_unclear_ones_widen_the_answer_by_themselves_alone(
    sizes: tuple[int, int], unclear: set[int]
) -> None:
    last, guilty = sizes
    search = Search(0, last)
    while (index := search.next) is not None:
        side: VersionOutcome = "bad" if index >= guilty else "good"
        search = search.knowing(index, "unclear" if index in unclear else side)
    assert guilty in search.suspects
    assert set(search.suspects) - {search.bad} <= unclear


def test_both_ends_are_measured_first_and_then_the_middle() -> None:
    bisection = a_bisection([1.0] * 8 + [1.1], noise=0.2)  # recorded results tell nothing
    assert bisection.turns == {0: 1, 8: 2, 4: 3, 2: 4, 6: 4, 1: 5, 3: 5, 5: 5, 7: 5}
    assert bisection.most_left == 5
    bisection, count = finished(bisection, lambda version: now(version, guilty=3))
    assert [version.run_id for version in bisection.suspects] == ["run-3"]
    assert bisection.before_suspects.run_id == "run-2"
    assert (count, bisection.most_left, bisection.next) == (5, 0, None)
    assert bisection.outcome_again(8) == bisection.outcome_again(4) == "bad"
    assert bisection.outcome_again(5) is None


def now(version: Version, guilty: int, change: float = 0.1, noise: float = 0.004) -> LaunchedResult:
    index = int(version.run_id.removeprefix("run-"))
    value = 1 + change * (index >= guilty)
    return observed(index, value, noise, seed=1)


def test_recorded_results_narrow_the_search() -> None:
    bisection = a_bisection([1.0] * 5 + [1.1] * 4)
    assert set(bisection.recorded_outcomes.values()) == {"good", "bad"}
    assert bisection.turns == {4: 1, 5: 2}
    bisection, count = finished(bisection, lambda version: now(version, guilty=5))
    assert ([version.run_id for version in bisection.suspects], count) == (["run-5"], 2)


def test_recorded_results_that_mislead_are_not_believed() -> None:
    """The machine was slow for some time; the version that is slow came later."""
    bisection = a_bisection([1.0] * 3 + [1.1] * 6)
    bisection, _ = finished(bisection, lambda version: now(version, guilty=7))
    assert [version.run_id for version in bisection.suspects] == ["run-7"]


def test_what_the_machine_brought_no_version_is_blamed_for() -> None:
    bisection = a_bisection([1.0, 1.0, 1.1])
    bisection, count = finished(bisection, lambda version: now(version, guilty=99))
    assert bisection.is_shown_again is False
    assert bisection.next is None
    assert count == 3  # the ends that the records tell, then the oldest


def test_a_version_with_the_greater_part_of_the_change_is_bad() -> None:
    bisection = a_bisection([1.0, 1.0, 1.0, 1.0, 1.1], noise=0.2)
    steps = {0: 1.0, 1: 1.0, 2: 1.08, 3: 1.08, 4: 1.1}

    def measure(version: Version) -> LaunchedResult:
        index = int(version.run_id.removeprefix("run-"))
        return observed(index, steps[index], 0.002, seed=2)

    bisection, _ = finished(bisection, measure)
    assert [version.run_id for version in bisection.suspects] == ["run-2"]


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_noise_widens_rather_than_accuses_another(noise: float) -> None:
    """A tenth slower, launches half and 2 % apart: whoever is blamed is guilty."""
    found = 0
    for seed in range(40):
        guilty = 1 + seed % 8
        bisection = a_bisection([1.0] * 8 + [1.1], noise=0.3)

        tries = Counter[str]()

        def measure(
            version: Version, guilty: int = guilty, tries: Counter[str] = tries, seed: int = seed
        ) -> LaunchedResult:
            index = int(version.run_id.removeprefix("run-"))
            tries[version.name] += 1
            value = 1 + 0.1 * (index >= guilty)
            return observed(index, value, noise, seed=2 * seed + tries[version.name])

        bisection, count = finished(bisection, measure)
        assert count <= 2 * 9
        if bisection.is_shown_again:
            suspects = [version.run_id for version in bisection.suspects]
            assert f"run-{guilty}" in suspects
            found += len(suspects) == 1
    assert found == 40 if noise == 0.005 else found > 0


def test_versions_are_runs_of_one_image_or_commit() -> None:
    results = [observed(index) for index in (1, 1, 2, 1)]
    nameless = LaunchedResult(
        {**observed(3).facts, "image_digest": None, "git_commit": None}, 1, (1,)
    )
    process = LaunchedResult({**observed(4).facts, "image_digest": None}, 1.0, (1.0,))
    versions = grouped_versions([*results, nameless, process])
    assert [len(version.results) for version in versions] == [2, 1, 1, 1]
    assert versions[-1].name == versions[-1].commit == f"{4:040}"
