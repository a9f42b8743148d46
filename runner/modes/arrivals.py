"""Poisson arrivals: when the queries of the scenario `server` are due."""

from collections.abc import Iterator, Sequence

import numpy as np

from runner.measure.clock import NANOSECONDS


def arrivals_ns(rate: float, seed: int | Sequence[int]) -> Iterator[int]:
    """When queries are due, nanoseconds after the first one, in order, without end.

    The gaps are exponential with mean 1 / rate, so the arrivals are those of a Poisson process
    that is watched from one arrival on. The same seed gives the same schedule, stretched by the
    rate.
    """
    generator = np.random.default_rng(seed)
    due = 0.0
    while True:
        yield round(due)
        due += generator.standard_exponential() * NANOSECONDS / rate
