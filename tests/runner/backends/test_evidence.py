"""What a watched call tells, also of one that fails."""

from runner.backends.evidence import join_distinct, observe


def test_a_call_that_ends_well_gives_its_outputs_and_its_times() -> None:
    seen = observe(lambda: 3)
    assert (seen.outputs, seen.error, seen.failure) == (3, None, {})
    assert set(seen.times) == {"wall_s", "cpu_time_s"}
    assert seen.wall_s >= 0
    assert seen.cpu_time_s >= 0


def test_what_a_call_raises_is_evidence() -> None:
    def fails() -> int:
        raise ValueError("no such shape")

    seen = observe(fails)
    assert seen.outputs is None
    assert seen.failure == {"error": "ValueError: no such shape"}


def test_words_are_told_once_each_and_in_order() -> None:
    assert join_distinct(["cuda:0", "cpu", "cuda:0"]) == "cpu+cuda:0"
    assert join_distinct([]) == "none"
