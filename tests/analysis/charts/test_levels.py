"""Judged series drawn: bands as arithmetic by hand has them, steps before their first run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from analysis.charts.chart import PAPER, Chart
from analysis.charts.levels import levels_chart
from analysis.charts.regressions import regression_chart, regression_charts
from analysis.regress.cases import Case
from analysis.regress.judgements import Judgement, Judgements
from analysis.regress.launches import LaunchedResult, PastResult
from analysis.regress.noise import RUN_PRIOR
from analysis.regress.steps import levels_of
from analysis.regress.verdicts import RegressionVerdict
from analysis.results.metrics import METRICS
from analysis.statistics.significance import student_quantile
from analysis.statistics.variance import variance_components
from tests.analysis.charts.test_charts import rows_of

CELL = "cpu-bert-tiny-fp32-b1-s128-inference"
BEGUN = datetime(2026, 11, 1, 12, tzinfo=UTC)
THRESHOLD = 0.05
LAUNCHES = (-0.01, 0.0, 0.01, 0.004, -0.004)
"""The logarithms of a run's launches, by that of its level."""


def past(day: int, ms: float, launches: Sequence[float] = LAUNCHES) -> PastResult:
    return PastResult(
        result_id=f"result-{day}",
        run_id=f"run-{day}",
        measured_at=BEGUN + timedelta(days=day),
        git_commit=f"{day:040x}",
        grade="A",
        logarithms=tuple(math.log(ms) + launch for launch in launches),
    )


def observed(one: PastResult) -> LaunchedResult:
    names = ("result_id", "run_id", "measured_at", "git_commit", "grade")
    facts = {name: getattr(one, name) for name in names}
    launches = tuple(map(math.exp, one.logarithms))
    return LaunchedResult({**facts, "cell_id": CELL, "backend": "cpu"}, launches[0], launches)


def judged(
    history: Sequence[PastResult],
    accepted: Mapping[str, str] | None = None,
    verdict: RegressionVerdict = "regression",
    baseline: PastResult | None = None,
) -> Judgement:
    """The verdict on the last result of a series against the one before."""
    before, after = observed(baseline or history[-2]), observed(history[-1])
    case = Case(before, after, levels_of(history, accepted or {}, THRESHOLD), None)
    return Judgement(CELL, METRICS["latency"], verdict, None, before, after, case)


def drawn(judgement: Judgement) -> Chart:
    assert judgement.case is not None
    return levels_chart(judgement, judgement.case, THRESHOLD)


def rows(chart: Chart, name: str) -> list[dict[str, Any]]:
    """The distinct rows of the layers whose rows have this field."""
    known = {str(row): row for row in rows_of(chart.spec) if name in row}
    return list(known.values())


def test_a_band_is_the_range_of_one_more_run() -> None:
    launches = (-0.01, 0.01)
    history = [past(day, 10, launches) for day in range(3)]
    (band,) = rows(drawn(judged(history)), "start")
    components = variance_components([[launches] * 3])
    assert components is not None
    spread = components.difference([2, 2, 2], [2], RUN_PRIOR)
    margin = student_quantile(0.95, spread.degrees) * spread.error
    assert band["level"] == pytest.approx(10)
    assert band["low"] == pytest.approx(10 * math.exp(-margin))
    assert band["high"] == pytest.approx(10 * math.exp(margin))
    assert (band["start"], band["end"]) == (-0.5, 2.5)


def test_a_step_stands_before_its_first_run_and_tells_whose_it_is() -> None:
    history = [past(day, 10 if day < 4 else 12) for day in range(7)]
    chart = drawn(judged(history))
    (step,) = rows(chart, "at")
    assert (step["at"], step["run"], step["accepted"]) == (3.5, "run-4", False)
    assert step["date"] == "2026-11-05 12:00"
    assert step["commit"] == f"{4:040x}"[:12]
    assert step["change"].startswith("+20 % (")
    bands = rows(chart, "start")
    assert [(band["start"], band["end"]) for band in bands] == [(-0.5, 3.5), (3.5, 6.5)]
    assert [band["level"] for band in bands] == pytest.approx([10, 12])
    assert "+20 %" in chart.sentence
    assert "run-4" in chart.sentence


def test_an_accepted_step_has_another_look_and_its_reason() -> None:
    history = [past(day, 10 if day < 4 else 12) for day in range(7)]
    chart = drawn(judged(history, {"run-4": "checks its input"}, "no change"))
    (step,) = rows(chart, "at")
    assert step["accepted"]
    assert step["reason"] == "checks its input"
    assert step["label"] == "+20 %, accepted"
    assert "accepted: checks its input" in chart.sentence
    assert '"strokeDash": [5, 4]' in str(chart.spec).replace("'", '"')


def test_series_are_drawn_in_the_order_of_verdicts_and_the_rest_is_counted() -> None:
    history = [past(0, 10), past(1, 10)]
    verdicts: tuple[RegressionVerdict, ...] = ("regression", "inconclusive", "no change")
    several = tuple(judged(history, verdict=verdict) for verdict in verdicts)
    refused = replace(several[0], verdict="not comparable", case=None)
    judgements = Judgements("base", "run", THRESHOLD, (refused, *several), (), ())
    charts = regression_charts(judgements, most=2)
    assert [chart.title.partition(":")[0] for chart in charts] == ["Regression", "Inconclusive"]
    assert "1 more series is not drawn (1 no change)" in charts[-1].sentence
    alone = regression_chart(judgements)
    assert alone is not None
    assert "2 more series are not drawn (1 inconclusive, 1 no change)" in alone.sentence
    assert regression_chart(replace(judgements, judgements=(refused,))) is None


@pytest.mark.slow
def test_descriptions_of_series_compile() -> None:
    import vl_convert

    levels = (10, 12, 11.4)
    history = [past(day, ms) for day, ms in enumerate(ms for ms in levels for _ in range(5))]
    assert all(before.measured_at < after.measured_at for before, after in pairwise(history))
    chart = drawn(judged(history, {"run-5": "checks its input"}))
    svg = vl_convert.vegalite_to_svg(chart.drawn(PAPER), allowed_base_urls=[])
    assert "NaN" not in svg
    assert "accepted" in svg
