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
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

_MOST_ROWS = 30
"""Rows of one drawing; of more, the greatest and the least ratios stay."""
_QUESTIONS = 60
"""Questions of which a report's drawing takes its rows."""
_NAMED = ("model", "precision", "mode", "scenario", "training_precision", "part")
_USUAL = frozenset({"inference", "single_stream", "mixed", "query", "step"})
_COUNTS = {"workers": "workers", "asked_threads": "threads"}
_DIFFERS = {True: "yes", False: "no", None: "not known"}
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
    for metric in map(METRICS.__getitem__, metric_names):
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
    with_one = [*points, {"speedup": 1.0}]
    axis = log_axis("speedup", title, with_one, "speedup", "low", "high")
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
        _sentence(compared, len(groups)) + left_out,
        spec,
        backends_of(points),
    )


_SHOWN = fields(
    times="speed-up", between="95 % interval of it", differs="beyond interval and grades"
)


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
    interval = row.speedup_interval
    return {
        **point_of(row.result, comparison.metric),
        "row": name,
        "speedup": row.speedup,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "times": f"{amount(row.speedup)} over {group.baseline}",
        "between": span_words(interval.low, interval.high) if interval else "not known",
        "differs": _DIFFERS[row.differs],
    }


def _sentence(compared: _Compared, questions: int) -> str:
    group, best = compared[0]
    shown = sum(row.differs is True for _, row in compared)
    unknown = sum(row.differs is None for _, row in compared)
    without = f", {unknown} without an interval that could show one" if unknown else ""
    return (
        f"Of {noun_count(len(compared), 'ratio')} in {noun_count(questions, 'question')}, {shown}"
        f" {'differs' if shown == 1 else 'differ'} from 1 beyond intervals and grades{without}."
        f" The greatest speed-up is {amount(best.speedup)}, of {path_words(best.result.facts)}"
        f" against {group.baseline} in {best.result.cell_id}."
    )
