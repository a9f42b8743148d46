"""Numbers of placements that a predictor learns from; none of them tells the peaks of a device."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from analysis.predict.examples.placements import Placement
from analysis.statistics.arrays import Values, ValueTable, np


class Amounts:
    """Counted work and sizes of many placements, each as an array (n,), NaN where there is none."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        counts = [placement.counts for placement in placements]
        self.flops = _array(one.flops for one in counts)
        self.traffic_bytes = _array(one.traffic_bytes for one in counts)
        self.activation_bytes = _array(one.activation_bytes for one in counts)
        self.parameters = _array(one.parameters for one in counts)
        self.depth = _array(one.depth for one in counts)
        self.batch_size = _array(one.batch_size for one in placements)
        self.length = _array(one.length for one in placements)
        self.new_tokens = _array(one.new_tokens for one in placements)
        self.threads = _array(one.threads for one in placements)


FEATURES: Mapping[str, Callable[[Amounts], Values]] = {
    "arithmetic": lambda a: a.flops,
    "arithmetic of a sample": lambda a: a.flops / a.batch_size,
    "traffic": lambda a: a.traffic_bytes,
    "activations": lambda a: a.activation_bytes,
    "activations of a sample": lambda a: a.activation_bytes / a.batch_size,
    "parameters": lambda a: a.parameters,
    "arithmetic by activation": lambda a: a.flops / np.maximum(a.activation_bytes, 1.0),
    "arithmetic by parameter": lambda a: a.flops / a.batch_size / np.maximum(a.parameters, 1.0),
    "intensity": lambda a: a.flops / (a.traffic_bytes + 2 * a.activation_bytes),
    "batch size": lambda a: a.batch_size,
    "length": lambda a: a.length,
    "new tokens": lambda a: a.new_tokens,
    "threads": lambda a: a.threads,
    "depth": lambda a: a.depth,
}
"""By their names in explanations; predictors learn from their logarithms."""


def features(placements: Sequence[Placement]) -> ValueTable:
    """The logarithms of the numbers of each placement; (n, len(FEATURES)).

    NaN stands where a placement has none, or it is 0.
    """
    amounts = Amounts(placements)
    table = np.column_stack([of(amounts) for of in FEATURES.values()])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(table > 0, np.log(table), np.nan)


def _array(numbers: Iterable[float | None]) -> Values:
    return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
