"""Ratios of results that were measured side by side, as a database has them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from analysis.results.metrics import Metric
from analysis.results.source import ArrowSource, text
from analysis.statistics.paired import PairedRatio, RoundRatio

_AT_ONCE = 5_000
_BESIDE = """
    SELECT result_id FROM benchmark_results WHERE side_by_side IN (
        SELECT side_by_side FROM benchmark_results WHERE result_id IN ({}))
"""
PairedRatios = Mapping[tuple[str, str], PairedRatio]
"""The times of results by those of others, by both ids."""
NO_PAIRS: PairedRatios = MappingProxyType({})


def paired_ratios(source: ArrowSource, result_ids: Iterable[str]) -> PairedRatios:
    """The ratios between these results, of both directions, over two rounds at least.

    A single round tells nothing of what rounds differ by.
    """
    ids = sorted(set(result_ids))
    known: dict[tuple[str, str], PairedRatio] = {}
    for start in range(0, len(ids), _AT_ONCE):
        listed = ", ".join(map(text, ids[start : start + _AT_ONCE]))
        others = source.arrow(_BESIDE.format(listed)).to_pylist()
        if not others:
            continue
        # naming both sides spares reading the durations of all others
        beside = ", ".join(text(row["result_id"]) for row in others)
        sql = f"""
            SELECT result_id, other_id, any_value(looks) AS looks, {rounds_sql()}
            FROM paired_ratios WHERE result_id IN ({listed}) AND other_id IN ({beside})
            GROUP BY ALL HAVING count(*) > 1
        """
        for row in source.arrow(sql).to_pylist():
            known[row["result_id"], row["other_id"]] = ratio_of(row)
    return known


def paired_values(source: ArrowSource, result_ids: Iterable[str], metric: Metric) -> PairedRatios:
    """The ratios between the results' values of a metric; none if bursts do not tell it."""
    if not metric.is_of_iterations:
        return NO_PAIRS
    times = paired_ratios(source, result_ids)
    return {names: pair.inverse if metric.more_is_better else pair for names, pair in times.items()}


def rounds_sql(row: str = "paired_ratios") -> str:
    """The column of all rounds of a group of rows of the view, for `ratio_of`."""
    fields = f"'logarithm': ln({row}.ratio), 'bursts': {row}.bursts, 'spread': {row}.spread"
    return f"list({{{fields}}} ORDER BY {row}.round) AS rounds"


def ratio_of(row: Mapping[str, Any]) -> PairedRatio:
    """The ratio of a row with `rounds` and `looks`."""
    return PairedRatio.of([RoundRatio(**one) for one in row["rounds"]], row["looks"])
