"""Training beside inference: a step with its parts, and a query of the same model and sizes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import backends_of
from analysis.charts.questions import MOST_CHARTS
from analysis.charts.stacks import Bar, stacked_spec
from analysis.charts.words import file_stem, in_order, path_words, size_words
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

PARTS = ("forward", "loss", "backward", "optimizer")
"""The parts of a step, in their order."""
_INFERENCE = "inference"
_MOST_STEPS = 12
"""Steps of one drawing; more are noun_count."""
_SHARED = (
    *("model", "backend", "runtime", "precision", "batch_size", "sequence_length", "image_size"),
    *("audio_seconds", "host", "launcher", "threads"),
)


def training_steps(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """A chart for each model that was trained; empty if none was."""
    parts = ", ".join(f"t.{part}_median_ms AS {part}" for part in PARTS)
    same = " AND ".join(f"i.{name} IS NOT DISTINCT FROM s.{name}" for name in _SHARED)
    sql = f"""
        WITH selected AS (SELECT * FROM {selection.relation}),
        steps AS (
            SELECT r.*, {parts} FROM selected r JOIN training_results t USING (result_id)
            WHERE r.mode = 'training' AND r.latency_median_ms > 0
        )
        SELECT s.cell_id, {", ".join(f"s.{name}" for name in _SHARED)}, {", ".join(PARTS)},
            s.training_precision, s.hostname, s.latency_median_ms AS step, s.result_id,
            arg_max(i.latency_median_ms, i.measured_at) AS query,
            arg_max(i.cell_id, i.measured_at) AS query_cell
        FROM steps s LEFT JOIN selected i ON i.mode = 'inference'
            AND i.scenario = 'single_stream' AND {same}
        GROUP BY ALL ORDER BY s.cell_id, s.result_id
    """
    models: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in source.arrow(sql).to_pylist():
        models[row["model"]].append(row)
    largest = sorted(models.values(), key=lambda rows: -len(rows))[:limit]
    return tuple(_chart(rows) for rows in largest)


def _chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    shown = rows[:_MOST_STEPS]
    bars = [bar for row in shown for bar in _bars(row)]
    known = {name for bar in bars for name, _ in bar.parts}
    names = in_order(known, (_INFERENCE, *PARTS))
    model = str(rows[0]["model"])
    more = f" {len(rows) - len(shown)} more steps are not drawn." if len(rows) > len(shown) else ""
    return Chart(
        file_stem("training", model),
        f"Training steps by part, beside inference · {model}",
        f"{_sentence(rows)} Upright marks are the medians of whole steps, which those of the parts"
        f" need not add up to.{more}",
        stacked_spec(bars, names, "median, ms", "ms"),
        backends_of({"backend": bar.backend} for bar in bars),
    )


def _bars(row: Mapping[str, Any]) -> list[Bar]:
    words = ", ".join([path_words(row), str(row["precision"]), *size_words(row)])
    parts = tuple((name, row[name]) for name in PARTS if row[name])
    step = Bar(
        f"training · {words}", row["backend"], row["cell_id"], parts, row["hostname"], row["step"]
    )
    if row["query"] is None:
        return [step]
    query = row["query"]
    beside = Bar(
        f"inference · {words}",
        row["backend"],
        row["query_cell"],
        ((_INFERENCE, query),),
        row["hostname"],
        query,
    )
    return [step, beside]


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    pairs = [row for row in rows if row["query"]]
    longest = max(rows, key=lambda row: float(row["step"]))
    first = f"The longest step takes {amount(longest['step'], 'ms')} ({longest['cell_id']})."
    if not pairs:
        return f"{first} No inference of the same sizes was measured beside it."
    ratios = sorted(row["step"] / row["query"] for row in pairs)
    span = amount(ratios[0])
    span = span if len(ratios) == 1 else f"{span} to {amount(ratios[-1])}"
    return f"{first} A step takes {span} times as long as an inference of the same sizes."
