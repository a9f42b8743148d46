"""The report on regressions: verdicts, series with their steps, and what could not be judged."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import distinctly_named
from analysis.charts.levels import reading_words
from analysis.charts.regressions import change_chart, regression_charts
from analysis.charts.rounds import round_charts
from analysis.regress.judgements import Judgement, Judgements
from analysis.regress.launches import LEAST_HISTORY
from analysis.report.report import (
    RememberedAnswers,
    Report,
    ReportSection,
    reported_results,
    table_section,
)
from analysis.report.shared import report_on
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.results.table import Field, RowFacts, Table
from analysis.statistics.ratios import Estimate
from analysis.statistics.significance import LEVEL

REGRESSION_TOPIC = "regression"
_MOST_ROWS = 500
_LETTERS = 12
"""Letters of a commit that are shown."""
_OPEN = ("regression", "improvement", "inconclusive")
"""Verdicts whose causes are sought."""
_PLURALS: Mapping[str, str] = {"regression": "regressions", "improvement": "improvements"}
_CHANGE = Field("ratio", "change", "change", "ratio_low", "ratio_high")
_CELL = (Field("cell_id", "cell", "id"), Field("metric"))
_VERDICTS = (
    Field("verdict"),
    *_CELL,
    Field("before", kind="number"),
    Field("after", kind="number", measured=True),
    _CHANGE,
    Field("reason", kind="prose"),
    Field("changes", "changed beside", "prose"),
    Field("launches"),
    Field("p_value", "p", "number"),
    Field("noise", "noise from", "prose"),
    Field("base_run", "baseline's run", "id"),
)
_BESIDE = (
    Field("changes", "changed beside", "prose"),
    *(Field(verdict, _PLURALS.get(verdict, verdict), "number") for verdict in _OPEN),
    Field("cell_id", "for example", "id"),
)
_STEPS = (
    *_CELL,
    Field("date", "since", "moment"),
    Field("run_id", "first run", "id"),
    Field("commit", "its commit", "id"),
    _CHANGE,
    Field("accepted"),
    Field("reason", "because", "prose"),
)
_REFUSED = (*_CELL, Field("reason", kind="prose"))
_METHOD = (
    "A verdict compares launches, each a fresh process: a change exceeds the noise of its series"
    f" at {100 * LEVEL:g} %, is confirmed by a permutation test over all comparisons with"
    f" {100 * LEVEL:g} % of false discoveries, and is not shown to be below the threshold; no"
    " change means that the whole 95 % interval lies within the threshold, and all else is"
    " inconclusive.",
    f"Series of {LEAST_HISTORY} launches or more are divided into levels at change points"
    " (E-divisive) and where somebody accepted a change: `docs/regressions.md` tells the method"
    " with its sources.",
)


def regression_report(judgements: Judgements, source: ArrowSource, selection: Selection) -> Report:
    """The report on the verdicts of a run, from the database and the results of the judged side.

    Raises:
        BenchError: the database cannot be read.
    """
    results = reported_results(RememberedAnswers(source), selection)
    rounds = round_charts(source, selection)
    verdicts = judgements.judgements
    overview = change_chart(judgements)
    charts = distinctly_named([*([overview] if overview else []), *regression_charts(judgements)])
    notes = [reading_words(judgements.threshold)] if charts else []
    changes = _verdict_table("changes", "Changes", judgements, _OPEN)
    unchanged = _verdict_table("unchanged", "No change", judgements, ("no change",))
    beside = "Changed beside: candidates for the cause"
    sections = (
        table_section("changes", "Changes", changes),
        table_section("beside", beside, _beside_table(verdicts)),
        ReportSection("rounds", "Round by round", charts=rounds),
        ReportSection("series", "Series over time", notes=notes, charts=charts),
        table_section("steps", "Steps of the series", _step_table(verdicts)),
        table_section("unchanged", "No change", unchanged),
        table_section("refused", "Not compared", _refusal_table(judgements)),
        ReportSection("method", "Method", notes=_METHOD),
    )
    title = f"{judgements.run} against {judgements.base}"
    return report_on(results, REGRESSION_TOPIC, title, sections, facts=_facts(judgements))


def _facts(judgements: Judgements) -> dict[str, str]:
    """The threshold, and the metric where there is one alone."""
    headings = {one.metric.heading for one in judgements.judgements}
    metric = {"metric": headings.pop()} if len(headings) == 1 else {}
    return {**metric, "threshold": f"{100 * judgements.threshold:g} %"}


def _bounded(
    name: str, title: str, columns: Sequence[Field], rows: Sequence[RowFacts], *notes: str
) -> Table:
    """A table of the first rows, without the metric that all share; rows beyond are counted."""
    shown, left_out = rows[:_MOST_ROWS], max(len(rows) - _MOST_ROWS, 0)
    if len({row["metric"] for row in rows if row.get("metric")}) == 1:
        columns = [column for column in columns if column.name != "metric"]
    return Table(title, columns, shown, notes, name, left_out=left_out).filled()


def _verdict_table(name: str, title: str, judgements: Judgements, verdicts: Sequence[str]) -> Table:
    rows = [
        _verdict_row(one, judgements.base)
        for one in judgements.judgements
        if one.verdict in verdicts
    ]
    notes = [
        "Before and after are the geometric means of a result's launches, and the change is their"
        " ratio with its 95 % interval; p is adjusted for all comparisons."
    ]
    if any(step.accepted for one in judgements.judgements for step in one.steps):
        notes.append("Where a change was accepted, the first run at the new level is the baseline.")
    return _bounded(name, title, _VERDICTS, rows, *notes)


def _verdict_row(judgement: Judgement, base: str) -> RowFacts:
    """A row; its run is that of the earlier result, unless the whole report is about that one."""
    before, after = judgement.before, judgement.after
    run_id = str(before.facts["run_id"]) if before else base
    return {
        "result_id": after and after.facts["result_id"],
        "verdict": judgement.verdict,
        **_cell(judgement),
        "before": before and before.geometric_mean,
        "after": after and after.geometric_mean,
        **_ratio(judgement.ratio),
        "launches": f"{len(before.launches)}, {len(after.launches)}" if before and after else None,
        "p_value": judgement.p_value,
        "noise": judgement.noise,
        "reason": judgement.reason or None,
        "changes": "; ".join(judgement.changes or ()) or None,
        "base_run": None if run_id == base else run_id,
    }


def _cell(judgement: Judgement) -> dict[str, str]:
    return {"cell_id": judgement.cell_id, "metric": judgement.metric.heading}


def _ratio(ratio: Estimate | None) -> dict[str, float]:
    if ratio is None:
        return {}
    is_bounded = ratio.low > 0 and ratio.high < math.inf
    ends = {"ratio_low": ratio.low, "ratio_high": ratio.high} if is_bounded else {}
    return {"ratio": ratio.value, **ends}


def _beside_table(judgements: Sequence[Judgement]) -> Table:
    """Differences between both sides of open verdicts, the most frequent first."""
    counts: Counter[str] = Counter()
    rows: dict[str, dict[str, Any]] = {}
    for judgement in judgements:
        if judgement.verdict not in _OPEN:
            continue
        for words in judgement.changes or ():
            counts[words] += 1
            row = rows.setdefault(words, {"changes": words, "cell_id": judgement.cell_id})
            row[judgement.verdict] = row.get(judgement.verdict, 0) + 1
    note = "They differ between both sides; that alone makes none of them the cause."
    ordered = [rows[words] for words, _ in counts.most_common()]
    return _bounded("beside", "Changed beside", _BESIDE, ordered, note)


def _step_table(judgements: Sequence[Judgement]) -> Table:
    rows = [
        {
            **_cell(judgement),
            "result_id": step.first.result_id,
            "date": step.date,
            "run_id": step.run_id,
            "commit": step.first.git_commit and step.first.git_commit[:_LETTERS],
            **_ratio(step.ratio),
            "accepted": "yes" if step.accepted else "no",
            "reason": step.accepted,
        }
        for judgement in judgements
        for step in judgement.steps
    ]
    return _bounded("steps", "Steps", _STEPS, rows)


def _refusal_table(judgements: Judgements) -> Table:
    """Cells that cannot be compared, with the reason, and those of one side alone."""
    refused = [one for one in judgements.judgements if one.verdict == "not comparable"]
    rows = [{**_cell(one), "reason": one.reason} for one in refused]
    sides = ((judgements.base, judgements.only_before), (judgements.run, judgements.only_after))
    rows += [
        {"cell_id": cell_id, "reason": f"only in {side}"}
        for side, cells in sides
        for cell_id in cells
    ]
    return _bounded("refused", "Not compared", _REFUSED, rows)
