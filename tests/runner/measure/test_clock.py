import threading
from itertools import count

from runner.measure.clock import Sampler


def test_there_is_always_a_sample_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with Sampler(lambda: 7, interval_s=3600) as sampler:
        assert threading.active_count() == before + 1
    assert sampler.samples == [7]
    assert threading.active_count() == before


def test_it_reads_on_until_it_is_left() -> None:
    numbers, enough = count(), threading.Event()

    def read() -> int:
        number = next(numbers)
        if number == 5:
            enough.set()
        return number

    with Sampler(read) as sampler:
        assert enough.wait(10)
    assert sampler.samples == list(range(len(sampler.samples)))
    assert len(sampler.samples) >= 6
