"""Work is shared so that the longest group is about as short as it can be."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.commands.measure.pipelines.jobs import balanced, shared_groups

SECONDS = st.lists(st.floats(0.1, 1e4), min_size=1, max_size=40)


@given(SECONDS, st.integers(1, 8))
def test_every_work_is_in_one_group_and_none_is_much_longer(
    seconds: list[float], groups: int
) -> None:
    found = balanced(seconds, groups)
    assert sorted(index for group in found for index in group) == [*range(len(seconds))]
    longest = max(sum(seconds[index] for index in group) for group in found)
    bound = max(sum(seconds) / groups, *seconds)
    assert longest <= (2 - 1 / groups) * bound * (1 + 1e-9)
    if len(seconds) >= groups:
        assert all(found)


@given(st.dictionaries(st.text(max_size=3), SECONDS, min_size=1, max_size=6), st.integers(6, 30))
def test_each_key_has_a_group_and_none_has_more_than_its_work(
    seconds: dict[str, list[float]], most: int
) -> None:
    groups = shared_groups(seconds, most)
    assert all(1 <= groups[key] <= len(work) for key, work in seconds.items())
    assert sum(groups.values()) == min(most, sum(map(len, seconds.values())))


def test_longer_work_gets_more_groups() -> None:
    assert shared_groups({"slow": [60.0] * 9, "fast": [1.0] * 9}, 8) == {"slow": 7, "fast": 1}
