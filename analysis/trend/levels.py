"""Steps of long series: the change points of their launches, as verdicts on regressions take them.

The extra `analysis` finds them.
"""

from collections.abc import Sequence

from analysis.compare.values import MetricValue
from analysis.regress.judgements import THRESHOLD
from analysis.regress.launches import PastResult
from analysis.regress.steps import levels_of
from analysis.trend.series import TrendStep, greatest_first


def level_steps(
    values: Sequence[MetricValue], history: Sequence[PastResult]
) -> tuple[TrendStep, ...]:
    """The steps of a series, the greatest first.

    Args:
        values: its results in the order of time.
        history: the launches of each of them.
    """
    indices = {past.result_id: index for index, past in enumerate(history)}
    firsts = [
        (indices[step.first.result_id], step.ratio)
        for step in levels_of(history, {}, THRESHOLD).steps
    ]
    return greatest_first(
        TrendStep(values[index - 1], values[index], ratio) for index, ratio in firsts
    )
