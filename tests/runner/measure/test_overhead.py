from runner.measure.clock import NANOSECONDS
from runner.measure.overhead import ITERATIONS, harness_overhead_s
from tests.fakes import FakeClock


def test_overhead_is_the_median_of_what_timing_an_empty_query_takes() -> None:
    clock, calls = FakeClock(), []

    def query() -> None:
        calls.append(1)
        clock.pass_by(1_000_000 if len(calls) % 3 == 0 else 200)

    assert harness_overhead_s(query, clock) == 201 / NANOSECONDS
    assert len(calls) == ITERATIONS
