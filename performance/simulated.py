"""Simulated processes and durations, for measurements of the runner's own statistics."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from runner.contract.rounds import Energy, MemoryUse, Noise, RoundResult
from runner.measure.statistics.serial_correlation import SHARED, STATE_S

SECOND = 1_000_000_000
SPACING_S = 9.0
"""Seconds from one process to the next: 3 s of iterations of one cell, its load and warm-up."""
_SILENT = Noise(
    steal=None,
    other_load=None,
    kernel_spread_before=0.0,
    kernel_spread_after=0.0,
    kernel_shift=0.0,
)


def chance(share: float, count: int) -> float:
    """Two standard errors of a share that is found in so many simulations."""
    return 2 * math.sqrt(share * (1 - share) / count)


def levels(random: np.random.Generator, between: float, spacing_s: float | None) -> Iterator[float]:
    """Levels of processes one behind the other, around 1; independent without a spacing."""
    kept = 0.0 if spacing_s is None else math.exp(-spacing_s / STATE_S)
    own = math.sqrt(1 - SHARED)
    state = random.standard_normal()
    while True:
        deviation = math.sqrt(SHARED) * state + own * random.standard_normal()
        yield math.exp(between * deviation)
        state = kept * state + math.sqrt(1 - kept**2) * random.standard_normal()


def durations_of(
    random: np.random.Generator, level: float = 1.0, cv: float = 0.02, memory: float = 0.0
) -> Callable[[], int]:
    """An endless series of durations in nanoseconds: lognormal, each as AR(1) of the one before."""
    scale = math.sqrt(math.log(1 + cv**2))
    state = random.standard_normal()

    def next_duration() -> int:
        nonlocal state
        state = memory * state + math.sqrt(1 - memory**2) * random.standard_normal()
        return max(1, round(level * SECOND * math.exp(scale * state)))

    return next_duration


def series(
    random: np.random.Generator, count: int, cv: float, memory: float
) -> NDArray[np.float64]:
    """So many of these durations around 1."""
    draw = durations_of(random, 1.0, cv, memory)
    return np.array([draw() / SECOND for _ in range(count)])


def service_times(random: np.random.Generator, count: int, cv: float) -> NDArray[np.float64]:
    """Independent lognormal service times around 1."""
    sigma = math.sqrt(math.log(1 + cv**2))
    return np.exp(sigma * random.standard_normal(count) - sigma**2 / 2)


def waiting_times(service: NDArray[np.float64], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times in line before services, one at a time, with these gaps between arrivals (Lindley)."""
    surplus = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps)])
    return np.asarray(surplus - np.minimum.accumulate(surplus))


def a_result(durations_ns: Sequence[int]) -> RoundResult:
    """The result of a round with these durations, on a host where nothing else happens."""
    return RoundResult(
        samples=len(durations_ns),
        steady_ns=sum(durations_ns),
        durations_ns=list(durations_ns),
        noise=_SILENT,
        energy=Energy(joules=None, window_s=None, method="unavailable: simulated"),
        memory=MemoryUse(peak_bytes=None, steady_peak_bytes=None, average_bytes=None),
        load_average_1m=0.0,
    )
