"""Results that were measured side by side drawn: the ratio of each pair, round by round."""

import math
from collections.abc import Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    POINT_MARK,
    UPRIGHT,
    Point,
    fields,
    log_axis,
    row_names,
    span_words,
)
from analysis.charts.questions import grouped
from analysis.charts.words import file_stem, noun_count, remainder_words
from analysis.compare.values import ASKED_THREADS_COLUMN
from analysis.results.differing import WORK, fact_words, telling, varying, work_words
from analysis.results.paired import ratio_of, rounds_sql
from analysis.results.selection import Selection
from analysis.results.series import ASKED_THREADS, SETTINGS
from analysis.results.source import ArrowSource
from analysis.results.table import RowFacts
from analysis.statistics.numbers import amount
from analysis.statistics.paired import RoundRatio
from analysis.statistics.ratios import change_words

_MOST_PAIRS = 10
"""Pairs of one drawing."""
_LINE = 9
"""Height of a round, pixels."""
_NAME_LINES = 3
"""Lines above the rounds of a pair: space, and its name."""
_FACTS = ("cell_id", "result_id", "run_id", SETTINGS, *sorted({*WORK} - {ASKED_THREADS}))


def round_charts(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """The ratios within each group of the selected results, and of their run to its baseline.

    Within a group the first of a pair is the one that takes longer. A single round is not drawn.
    """
    names = ", ".join((*(f"r.{name}" for name in _FACTS), ASKED_THREADS_COLUMN))
    view = f"benchmark_performance{'_all' if selection.unquotable else ''}"
    rows = source.arrow(f"""
        WITH facts AS (
            SELECT {names}, b.side_by_side, b.interleaved_with AS baseline,
                result_id IN (SELECT result_id FROM {selection.relation}) AS chosen
            FROM {view} r JOIN benchmark_results b USING (result_id)
            WHERE b.side_by_side IS NOT NULL
        )
        SELECT * FROM (
            SELECT f AS first, s AS second, coalesce(f.baseline, f.side_by_side) AS drawing,
                f.baseline, any_value(p.looks) AS looks, {rounds_sql("p")},
                round(avg(ln(p.ratio)), 12) AS logarithm
            FROM paired_ratios p JOIN facts f USING (result_id)
            JOIN facts s ON s.result_id = p.other_id
            WHERE f.chosen AND s.chosen AND f.run_id = s.run_id
                OR f.baseline = s.run_id AND (f.chosen OR s.chosen)
            GROUP BY ALL HAVING count(*) > 1
        )
        WHERE baseline IS NOT NULL OR (logarithm, first.result_id) > (0, second.result_id)
        ORDER BY drawing, if(baseline IS NULL, logarithm, -logarithm), first.result_id
    """).to_pylist()
    return tuple(map(_chart, grouped(rows, ["drawing"])))


def _chart(rows: Sequence[RowFacts]) -> Chart:
    results = [row[side] for row in rows for side in ("first", "second")]
    baseline, run_id = rows[0]["baseline"], rows[0]["first"]["run_id"]
    pairs: list[Point] = []
    rounds: list[Point] = []
    line = 0
    for row in rows[:_MOST_PAIRS]:
        ratio = ratio_of(row).interval
        begin, line = line + _NAME_LINES, line + _NAME_LINES + len(row["rounds"])
        if baseline:
            words = f"{row['first']['cell_id']}: {change_words(ratio)}"
        else:
            span = span_words(ratio.low, ratio.high)
            words = f"{_pair_words(row, results)}: {amount(ratio.value)} ({span})"
        ends = {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
        pairs.append({"row": words, "begin": begin - 0.5, "end": line - 0.5, **ends})
        rounds += [_round(row, number, begin) for number in range(len(row["rounds"]))]
    times = "that of the run by its baseline's" if baseline else "the longer by the shorter"
    title = f"{run_id} against {baseline}" if baseline else "Side by side"
    return Chart(
        file_stem("rounds", baseline or rows[0]["drawing"]),
        f"{title}, round by round · {work_words(results, WORK)}",
        f"{noun_count(len(rows), 'ratio')} of times, {times}; the first is {pairs[0]['row']}."
        " A point is a round, its line the standard deviation of bursts within; shaded is the 95 %"
        " interval over the rounds."
        + remainder_words(len(rows) - len(pairs), "ratio", "not drawn."),
        _spec(pairs, rounds, line),
    )


def _pair_words(row: RowFacts, results: Sequence[RowFacts]) -> str:
    """Facts that the two differ by, then those that they share and others of the group do not."""
    both = (row["first"], row["second"])
    different = telling(both, (*WORK, SETTINGS))
    sides = (", ".join(fact_words({name: one[name] for name in different})) for one in both)
    sizes = [name for name in telling(results, WORK) if name not in varying(both, WORK)]
    return ", ".join(filter(None, (" : ".join(sides), work_words(both, sizes))))


def _round(row: RowFacts, number: int, begin: int) -> Point:
    one = RoundRatio(**row["rounds"][number])
    ratio, spread = math.exp(one.logarithm), one.spread
    low, high = (None if spread is None else ratio * math.exp(by * spread) for by in (-1, 1))
    ends = {"ratio": ratio, "low": low, "high": high}
    return {**ends, "round": number + 1, "line": begin + number, "bursts": one.bursts}


def _spec(pairs: Sequence[Point], rounds: Sequence[Point], lines: int) -> dict[str, Any]:
    axis = log_axis("ratio", "ratio of times", [*pairs, *rounds], "ratio", "low", "high")
    shown = [*fields(",.4~g", ratio=None), *fields(round=None, bursts=None)]
    scale = {"domain": [lines + 1, 0], "nice": False, "zero": False}
    y: Spec = {"field": "line", "type": "quantitative", "scale": scale, "axis": None}
    across = {"x": {**axis, "field": "low"}, "x2": {"field": "high"}}
    rule, end = {"type": "rule", "clip": True}, {"y2": {"field": "end"}}
    of_pairs: list[Spec] = [
        {"mark": {"type": "rect", "opacity": 0.14}, "encoding": {**across, **end}},
        {"mark": rule, "encoding": {"x": axis, **end}},
        {
            "mark": {**rule, "strokeDash": [4, 3], "opacity": 0.3},
            "encoding": {"x": {"datum": 1}, **UPRIGHT},
        },
        row_names(-8),
    ]
    of_rounds: list[Spec] = [
        {"mark": {**rule, "opacity": 0.5}, "encoding": across},
        {"mark": {**POINT_MARK, "size": 36}, "encoding": {"x": axis, "tooltip": shown}},
    ]
    layers = ((pairs, {**y, "field": "begin"}, of_pairs), (rounds, y, of_rounds))
    return {
        "height": _LINE * (lines + 1),
        "layer": [
            {"data": {"values": values}, "encoding": {"y": own}, "layer": marks}
            for values, own, marks in layers
        ],
    }
