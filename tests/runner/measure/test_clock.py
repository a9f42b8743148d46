import threading

from runner.measure.clock import Sampler


def test_there_is_always_a_sample_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with Sampler(lambda: 7, interval_s=3600) as sampler:
        assert threading.active_count() == before + 1
    assert sampler.samples == [7]
    assert threading.active_count() == before
