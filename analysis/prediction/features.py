"""Numbers of placements that a predictor learns from; none of them tells the peaks of a device."""

import math
from collections.abc import Callable, Mapping, Sequence

from analysis.prediction.placements import Placement
from analysis.statistics.arrays import Matrix, np

NAN = float("nan")


def _log(value: float | None) -> float:
    return math.log(value) if value else NAN


FEATURES: Mapping[str, Callable[[Placement], float]] = {
    "arithmetic": lambda p: _log(p.counts.flops),
    "arithmetic of a sample": lambda p: _log(p.counts.flops / p.batch_size),
    "traffic": lambda p: _log(p.counts.traffic_bytes),
    "activations": lambda p: _log(p.counts.activation_bytes),
    "activations of a sample": lambda p: _log(p.counts.activation_bytes / p.batch_size),
    "parameters": lambda p: _log(p.counts.parameters),
    "arithmetic by activation": lambda p: _log(
        p.counts.flops / max(p.counts.activation_bytes, 1.0)
    ),
    "arithmetic by parameter": lambda p: _log(
        p.counts.flops / p.batch_size / max(p.counts.parameters, 1.0)
    ),
    "intensity": lambda p: _log(
        p.counts.flops / (p.counts.traffic_bytes + 2 * p.counts.activation_bytes)
    ),
    "batch size": lambda p: _log(p.batch_size),
    "length": lambda p: _log(p.length),
    "new tokens": lambda p: _log(p.new_tokens),
    "threads": lambda p: _log(p.threads),
    "depth": lambda p: _log(p.counts.depth),
}
"""By their names in explanations; each is a logarithm."""


def features(placements: Sequence[Placement]) -> Matrix:
    """The numbers of each placement, NaN where it has none; (n, len(FEATURES))."""
    return np.array([[of(placement) for of in FEATURES.values()] for placement in placements])
