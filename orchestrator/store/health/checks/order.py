"""Statistics of one distribution that stand in the wrong order."""

from itertools import combinations

from orchestrator.store.health.checks.check import Check
from orchestrator.store.health.checks.rounding import Pair, disorder
from orchestrator.store.schema.tables import RESULTS

_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_REMEDY = "`--fix` takes from raw durations what they tell, and takes out the rest"


def _above(lower: str, upper: str) -> Pair:
    return Pair(lower, f"r.{lower}", f"r.{upper}", upper)


def _rising(*columns: str) -> list[Pair]:
    """Every pair, since those between may be null."""
    return [_above(lower, upper) for lower, upper in combinations(columns, 2)]


ORDER = (
    Check(
        "percentiles out of order",
        disorder(
            [
                *_rising(
                    "latency_min_s",
                    *(f"latency_{each}_s" for each in _PERCENTILES),
                    "latency_max_s",
                ),
                *_rising(*(f"time_to_first_token_{each}_s" for each in _PERCENTILES)),
                *_rising(*(f"time_per_output_token_{each}_s" for each in _PERCENTILES)),
            ]
        ),
        _REMEDY,
        table=RESULTS,
    ),
    Check(
        "middle outside its range",
        disorder(
            [
                *_rising("latency_min_s", "latency_median_s", "latency_max_s"),
                _above("latency_min_s", "latency_mean_s"),
                _above("latency_mean_s", "latency_max_s"),
            ]
        ),
        _REMEDY,
        table=RESULTS,
    ),
    Check(
        "interval out of order",
        disorder(_rising("latency_median_low_s", "latency_median_s", "latency_median_high_s")),
        _REMEDY,
        table=RESULTS,
    ),
)
