"""The view of ratios between results that were measured side by side, round by round."""

from orchestrator.store.schema.tables import SqlColumn
from orchestrator.store.schema.view import OWN_ROWS, View
from runner.contract.axes import QUESTION_AXES

_QUESTION = ", ".join(
    f"CASE WHEN r.scenario <> 'offline' THEN r.{axis} END" if axis == "batch_size" else f"r.{axis}"
    for axis in QUESTION_AXES
)
"""The columns that agree; a batch that `offline` found is an answer and no part of them."""


def _parts(values: str, lengths: str, element: str) -> str:
    """A list with one element for each of these lengths, of that many values of another list."""
    begin, end = (f"list_sum({lengths}[:number{less}])" for less in (" - 1", ""))
    part = f"list_slice({values}, coalesce({begin}, 0)::BIGINT + 1, {end}::BIGINT)"
    return f"list_transform(range(1, len({lengths}) + 1), lambda number: {element.format(part)})"


_TAKEN = f"""
    SELECT r.result_id, r.side_by_side, r.looks, r.batch_size, w.durations_ns,
        hash({_QUESTION}) AS question,
        coalesce(r.burst_iterations, r.round_iterations) AS iterations,
        coalesce(r.round_bursts, list_transform(r.round_iterations, lambda number: 1)) AS bursts
    FROM benchmark_results r JOIN raw_benchmark_data w USING (result_id)
    WHERE r.side_by_side IS NOT NULL AND {OWN_ROWS} AND r.status = 'ok'
        AND list_sum(coalesce(r.burst_iterations, r.round_iterations)) = len(w.durations_ns)
"""
_MEDIANS = f"""
    SELECT *, {_parts("durations_ns", "iterations", "list_median({}) / batch_size")} AS medians
    FROM ({_TAKEN})
"""
_ROUNDS = f"""
    SELECT result_id, side_by_side, looks, question, unnest(range(1, len(bursts) + 1)) AS round,
        unnest({_parts("medians", "bursts", "{}")}) AS medians
    FROM ({_MEDIANS})
"""
_PAIRS = f"""
    SELECT f.result_id, s.result_id AS other_id, f.round, f.looks, list_transform(
        list_zip(f.medians, s.medians, true), lambda pair: ln(pair[1] / pair[2])) AS logarithms
    FROM ({_ROUNDS}) f JOIN ({_ROUNDS}) s
        ON f.side_by_side = s.side_by_side AND f.question = s.question AND f.round = s.round
    WHERE f.result_id <> s.result_id
"""
PAIRED = View(
    "paired_ratios",
    "How long one result took by another that was measured side by side with it, in one round."
    " Join `benchmark_performance` for what may be quoted alone.",
    (
        SqlColumn("result_id", "VARCHAR", "The result."),
        SqlColumn("other_id", "VARCHAR", "The result that it is compared with."),
        SqlColumn("round", "BIGINT", "The round: fresh launches of both, from 1."),
        SqlColumn(
            *("ratio", "DOUBLE"),
            "The time of a sample by the other's: the median over neighbouring bursts, or of the"
            " round's medians where launches took turns.",
        ),
        SqlColumn("bursts", "BIGINT", "Neighbouring bursts; 1 where launches took turns."),
        SqlColumn(
            *("spread", "DOUBLE"),
            "Standard deviation of the logarithms of the bursts' ratios; null with one.",
        ),
        SqlColumn(
            *("looks", "BIGINT[]"),
            "Numbers of rounds, planned beforehand, after which the comparison might end.",
        ),
    ),
    f"""SELECT result_id, other_id, round, exp(list_median(logarithms)) AS ratio,
        len(logarithms) AS bursts,
        CASE WHEN len(logarithms) > 1 THEN list_stddev_samp(logarithms) END AS spread, looks
    FROM ({_PAIRS})""",
)
