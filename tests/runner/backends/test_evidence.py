"""Observed calls, also one that fails."""

from runner.backends.evidence import join_distinct, observe


def test_a_call_that_ends_well_gives_its_outputs_and_its_times() -> None:
    observed = observe(lambda: 3)
    assert (observed.outputs, observed.error, observed.failure) == (3, None, {})
    assert set(observed.times) == {"wall_s", "cpu_time_s"}
    assert observed.wall_s >= 0
    assert observed.cpu_time_s >= 0


def test_what_a_call_raises_is_evidence() -> None:
    observed = observe(lambda: int("no number"))
    assert observed.outputs is None
    assert observed.failure["error"].startswith("ValueError: invalid literal")


def test_words_are_told_once_each_and_in_order() -> None:
    assert join_distinct(["cuda:0", "cpu", "cuda:0"]) == "cpu+cuda:0"
    assert join_distinct([]) == "none"
