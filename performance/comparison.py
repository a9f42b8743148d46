"""Comparison of two actions that take turns in one run, as a ratio of medians."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Action = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Ours against a baseline, seconds of each round."""

    name: str
    ours: list[float]
    baseline: list[float]
    limit: float | None = None
    """The highest ratio of the medians that is promised; None: it is reported, not promised."""

    @property
    def ratio(self) -> float:
        """Median of ours by the median of the baseline."""
        return statistics.median(self.ours) / statistics.median(self.baseline)

    def report(self, ours: str, baseline: str) -> None:
        """Print plain lines, then one line of JSON."""
        rounds = len(self.ours)
        promise = f" (at most {self.limit:g})" if self.limit is not None else ""
        width = max(len(ours), len(baseline), len("ratio"))
        print(f"{baseline:<{width}}  {statistics.median(self.baseline):.3f} s, median of {rounds}")
        print(f"{ours:<{width}}  {statistics.median(self.ours):.3f} s, median of {rounds}")
        print(f"{'ratio':<{width}}  {self.ratio:.2f}{promise}")
        data = {
            "measurement": self.name,
            "ratio": round(self.ratio, 3),
            "limit": self.limit,
            "ours_s": [round(value, 4) for value in self.ours],
            "baseline_s": [round(value, 4) for value in self.baseline],
        }
        print(json.dumps(data), flush=True)


def compare(
    name: str,
    ours: Action,
    baseline: Action,
    rounds: int,
    limit: float | None = None,
    *,
    thrown_away: int = 1,
) -> Comparison:
    """Measure both in turn; the first rounds are thrown away."""
    pairs = [(seconds(ours), seconds(baseline)) for _ in range(thrown_away + rounds)][thrown_away:]
    return Comparison(name, [pair[0] for pair in pairs], [pair[1] for pair in pairs], limit)


def seconds(action: Action) -> float:
    """Wall seconds of one action."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
