"""Comparisons in reports: results side by side by one property, as ratios with intervals."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy, compare_by
from analysis.report.report import ReportedResults
from analysis.results.differing import fact_words, varying
from analysis.results.metrics import METRICS, Metric
from analysis.results.series import ASKED_THREADS
from analysis.results.table import Field, FieldKind, RowFacts, Table
from analysis.statistics.ratios import counted_words, equal_words
from runner.contract.axes import AXIS_NAMES

_MOST_GROUPS = 200
_MOST_SENTENCES = 3
_TELLING = frozenset({"backend", "runtime", "precision", "mode", "model", "family", "hardware"})
"""Properties whose values say what they are; a size needs its name."""
_NAMES = ("backend", "runtime", "precision")
"""Columns of their own where questions differ in them; so has the model, always."""
_WORK = tuple(
    ASKED_THREADS if name == "threads" else name
    for name in AXIS_NAMES
    if name not in ("model", *_NAMES)
)
"""Columns that tell one question from another beside these."""


def comparison_table(
    results: ReportedResults, by: str, title: str, metric: Metric = METRICS["latency"]
) -> Table:
    """Every result beside the baseline of its question."""
    metric = replace(metric, threshold=results.selection.threshold)
    compared = compare_by(results.values(metric), by, metric)
    groups = compared.groups[:_MOST_GROUPS]
    differing = {*varying([group.shared for group in groups], (*_NAMES, *_WORK))}
    baselines = {str(group.baseline) for group in groups}
    beside = baselines.pop() if len(baselines) == 1 else "the first"
    scaling = Field("scaling_efficiency", "scaling efficiency", "share")
    columns = (
        Field("model"),
        Field("work", kind="prose"),
        *(Field(name) for name in _NAMES if name in differing - {by}),
        Field("name", by.replace("_size", "").replace("_length", ""), _kind(groups)),
        Field("value", metric.heading, "number", "low", "high", measured=True),
        Field("speedup", f"times as good as {beside}", "number", "speedup_low", "speedup_high"),
        Field("outcome"),
        Field("between", "spread between rounds", "share"),
        Field("within", "spread within rounds", "share"),
        *((scaling,) if by in {"batch_size", "sequence_length"} else ()),
        Field("grade", kind="grade"),
    )
    rows = [row for group in groups for row in _rows(group, differing, metric)]
    left_out = len(compared.groups) - len(groups)
    answers = tuple(_sentences(compared))
    return Table(title, columns, rows, [*_notes(compared)], f"by_{by}", answers, left_out).filled()


def _sentences(compared: ComparisonBy) -> Iterator[str]:
    """Sentences that count the outcomes of a value beside the baseline, and what would decide."""
    pairs: dict[tuple[str, str], list[ComparedValue]] = defaultdict(list)
    for group in compared.groups:
        for row in group.rows:
            if row.name != group.baseline:
                pairs[str(row.name), str(group.baseline)].append(row)
    frequent = sorted(pairs.items(), key=lambda pair: -len(pair[1]))
    for (name, baseline), rows in frequent[:_MOST_SENTENCES]:
        prefix = "" if compared.by in _TELLING else f"{compared.by.replace('_', ' ')} "
        subject = f"{prefix}{name} beside {baseline}, {compared.metric.label}"
        words = counted_words(((row.outcome, row.speedup) for row in rows), compared.metric)
        yield f"{subject}: {words}."


def _rows(group: ComparedGroup, differing: Collection[str], metric: Metric) -> Iterator[RowFacts]:
    work = {name: group.shared.get(name) for name in _WORK if name in differing}
    for row in group.rows:
        interval, speedup = row.result.interval, row.speedup_interval
        yield {
            **group.shared,
            **{name: row.result.facts.get(name) for name in ("model", *_NAMES)},
            "work": ", ".join(fact_words(work)) or None,
            "result_id": row.result.facts["result_id"],
            "name": row.name,
            "value": row.result.value,
            "low": interval and interval.low,
            "high": interval and interval.high,
            "speedup": row.speedup,
            "speedup_low": speedup and speedup.low,
            "speedup_high": speedup and speedup.high,
            "outcome": row.outcome and row.outcome.words(metric),
            "between": row.pair and row.pair.between,
            "within": row.pair and row.pair.within,
            "scaling_efficiency": row.scaling_efficiency,
            "grade": row.result.grade,
        }


def _kind(groups: Sequence[ComparedGroup]) -> FieldKind:
    numbers = all(isinstance(group.baseline, int | float) for group in groups)
    return "number" if groups and numbers else "word"


def _notes(compared: ComparisonBy) -> Iterator[str]:
    if compared.groups:
        yield (
            "Results are compared only if they agree in everything else: model, weights, mode,"
            " sizes, machine and launcher. One is called better or worse beyond intervals and"
            f" grades alone, and {equal_words(compared.metric.threshold)} if the whole interval is;"
            " where both were measured side by side, by the ratios of their rounds."
        )
        if compared.alone:
            yield f"Without another one to be compared with: {compared.alone:,}."
        yield from compared.deciding_lines()
