"""Comparisons drawn: the speed-up of each result over the baseline of its question."""

from collections.abc import Sequence

from analysis.charts.chart import Chart
from analysis.charts.layers import (
    UPRIGHT,
    Point,
    backends_of,
    error_bars,
    fields,
    log_axis,
    point_layers,
    point_of,
    row_chart,
    row_names,
    span_words,
    tooltip,
)
from analysis.charts.questions import richest_questions
from analysis.charts.words import (
    distinct_rows,
    file_stem,
    noun_count,
    path_words,
    remainder_words,
    size_words,
)
from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy, compare_by
from analysis.compare.values import metric_values, with_intervals
from analysis.results.selection import Selection, metrics_of
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount
from analysis.statistics.ratios import counted_words

_MOST_ROWS = 30
"""Rows of one drawing; of more, the greatest and the least ratios stay."""
_QUESTIONS = 60
"""Questions of which a report's drawing takes its rows."""
_NAMED = ("model", "precision", "mode", "scenario", "training_precision", "part")
_USUAL = frozenset({"inference", "single_stream", "mixed", "query", "step"})
_COUNTS = {"workers": "workers", "asked_threads": "threads"}
_Compared = Sequence[tuple[ComparedGroup, ComparedValue]]


def property_comparison(
    source: ArrowSource,
    selection: Selection,
    by: str,
    metric_names: Sequence[str] = ("latency", "throughput"),
) -> tuple[Chart, ...]:
    """The comparison by this property of the questions with most values; empty without one.

    It is by the first of the metrics that tells anything: others' files may hold one of them alone.
    """
    questions = richest_questions(source, selection, "run_id" if by == "run" else by, _QUESTIONS)
    if questions is None:
        return ()
    chosen, _ = questions
    for metric in metrics_of(selection, metric_names):
        complete = with_intervals(source, metric_values(source, chosen, metric), metric)
        if chart := comparison_chart(compare_by([*complete.values()], by, metric)):
            return (chart,)
    return ()


def comparison_chart(comparison: ComparisonBy) -> Chart | None:
    """The ratios of all questions; None if nothing is compared."""
    metric, by, groups = comparison.metric, comparison.by, comparison.groups
    compared = [
        (group, row)
        for group in groups
        for row in group.rows
        if row.result is not group.rows[0].result
    ]
    if not compared:
        return None
    compared.sort(key=lambda pair: -pair[1].speedup)
    half = _MOST_ROWS // 2
    shown = compared if len(compared) <= _MOST_ROWS else [*compared[:half], *compared[-half:]]
    rows = distinct_rows((_row_name(row, by), row.result.facts["hostname"]) for _, row in shown)
    points = [
        _point(name, group, row, comparison) for name, (group, row) in zip(rows, shown, strict=True)
    ]
    baselines = sorted({str(group.baseline) for group in groups})
    beside = baselines[0] if len(baselines) == 1 else "the baseline of each"
    left_out = remainder_words(
        len(compared) - len(shown), "ratio", "between the ends drawn here are in the table."
    )
    title = f"times as good as {beside}"
    axis = log_axis("speedup", title, [*points, {"speedup": 1.0}], "speedup", "low", "high")
    spec = row_chart(
        points,
        axis,
        [
            row_names(),
            {
                "mark": {"type": "rule", "strokeDash": [4, 3], "opacity": 0.6},
                "encoding": {"x": {"datum": 1}, **UPRIGHT},
            },
            *error_bars(points, "x"),
            *point_layers(points, [*_SHOWN, *tooltip(metric.label)]),
        ],
    )
    spec["encoding"]["y"]["scale"] = {"paddingOuter": 0.1}
    return Chart(
        file_stem("compare", by, metric.name),
        f"Speed-up by {by.replace('_', ' ')}: {metric.label} against that of {beside}",
        _sentence(compared, comparison) + left_out,
        spec,
        backends_of(points),
    )


_SHOWN = fields(times="speed-up", between="95 % interval of it", outcome=None)


def _row_name(row: ComparedValue, by: str) -> str:
    facts = row.result.facts
    by_path = by in {"backend", "runtime"}
    others = [str(facts[name]) for name in _NAMED if name != by and facts.get(name)]
    others = [word for word in others if word not in _USUAL]
    counts = {noun: facts.get(name) for name, noun in _COUNTS.items()}
    others += [f"{count} {noun}" for noun, count in counts.items() if count is not None]
    path = path_words(facts)
    words = filter(None, ["" if by_path else path, *others, *size_words(facts, by)])
    return f"{path if by_path else row.name} · {', '.join(words)}"


def _point(name: str, group: ComparedGroup, row: ComparedValue, comparison: ComparisonBy) -> Point:
    interval, outcome = row.speedup_interval, row.outcome
    return {
        **point_of(row.result, comparison.metric),
        "row": name,
        "speedup": row.speedup,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "times": f"{amount(row.speedup)} over {group.baseline}",
        "between": span_words(interval.low, interval.high) if interval else "not known",
        "outcome": outcome and outcome.words(comparison.metric),
        "undecided": bool(outcome and outcome.because),
    }


def _sentence(compared: _Compared, comparison: ComparisonBy) -> str:
    rows = [row for _, row in compared]
    group, best = next(
        ((group, row) for group, row in compared if row.outcome and row.outcome.is_shown),
        compared[0],
    )
    greatest = hollow = ""
    if best.outcome and best.outcome.kind == "better":
        greatest = (
            f" The greatest speed-up that is shown is {amount(best.speedup)}, of"
            f" {path_words(best.result.facts)} against {group.baseline} in {best.result.cell_id}."
        )
    if any(row.outcome and row.outcome.because for row in rows):
        hollow = " Hollow points are undecided."
    counts = counted_words(((row.outcome, row.speedup) for row in rows), comparison.metric)
    questions = noun_count(len(comparison.groups), "question")
    return f"{noun_count(len(rows), 'ratio')} in {questions}: {counts}.{greatest}{hollow}"
