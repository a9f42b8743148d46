"""Charts of judged series: those that changed first, then the unclear ones."""

from collections.abc import Sequence
from dataclasses import replace

from analysis.charts.chart import Chart
from analysis.charts.history.levels import levels_chart, reading_words
from analysis.regress.judgements import Judgement, Judgements

MOST_DRAWN = 12
"""Series that a report draws; others are counted."""


def regression_chart(judgements: Judgements) -> Chart | None:
    """The series with the greatest regression, else the first in the order of verdicts.

    None if no two results could be compared.
    """
    charts = regression_charts(judgements, 1)
    if not charts:
        return None
    (chart,) = charts
    return replace(chart, sentence=f"{chart.sentence} {reading_words(judgements.threshold)}")


def regression_charts(judgements: Judgements, most: int = MOST_DRAWN) -> tuple[Chart, ...]:
    """A chart for each judged series, in the order of verdicts; the last one counts the rest."""
    judged = [one for one in judgements.judgements if one.case is not None]
    charts = [
        levels_chart(one, one.case, judgements.threshold)
        for one in judged[:most]
        if one.case is not None
    ]
    return tuple(_with_rest(charts, judged[most:]))


def _with_rest(charts: Sequence[Chart], rest: Sequence[Judgement]) -> list[Chart]:
    """The charts, the last one with a sentence on the series that are not drawn."""
    if not (charts and rest):
        return [*charts]
    verdicts = [one.verdict for one in rest]
    counts = ", ".join(
        f"{verdicts.count(verdict):,} {verdict}" for verdict in dict.fromkeys(verdicts)
    )
    series = "series is" if len(rest) == 1 else "series are"
    words = f" {len(rest):,} more {series} not drawn ({counts}): choose them with `--select`."
    *others, last = charts
    return [*others, replace(last, sentence=last.sentence + words)]
