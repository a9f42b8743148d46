"""The binomial distribution."""

import math

import numpy as np

from runner.measure.statistics.spread import Floats

_WINDOW_DEVIATIONS = 12
"""Beyond so many deviations from its mean a binomial's probabilities are zero in floats."""


def chance_of_at_most(successes: int, count: int, probability: float) -> float:
    """The chance of at most so many successes in `count` independent tries."""
    first, at_most = binomial(count, probability)
    position = successes - first
    return 0.0 if position < 0 else float(at_most[min(position, len(at_most) - 1)])


def binomial(count: int, probability: float) -> tuple[int, Floats]:
    """A number of successes, and the chances of at most so many, one more, and so on."""
    mean, deviation = count * probability, math.sqrt(count * probability * (1 - probability))
    reach = _WINDOW_DEVIATIONS * (deviation + 1)
    first, last = max(0, math.floor(mean - reach)), min(count, math.ceil(mean + reach))
    successes = np.arange(first, last)
    odds = probability / (1 - probability)
    steps = np.log((count - successes) / (successes + 1) * odds)
    logarithms = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(logarithms - np.max(logarithms))
    at_most: Floats = np.cumsum(chances) / np.sum(chances)
    return first, at_most
