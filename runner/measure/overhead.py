"""What timing itself costs."""

import statistics

from runner.measure.clock import Clock, seconds
from runner.measure.phases import Query, time_once

ITERATIONS = 1000


def harness_overhead_s(query: Query, clock: Clock) -> float:
    """Median seconds that an empty query takes when it is timed as a real one is."""
    durations = [time_once(query, clock) for _ in range(ITERATIONS)]
    return seconds(round(statistics.median(durations)))
