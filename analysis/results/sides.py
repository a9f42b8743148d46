"""Results of sides by SQL: what they share, what came before, what one host measured."""

from collections.abc import Iterable
from dataclasses import replace

from analysis.results.metrics import RATES_OF_SHARES, Metric
from analysis.results.selection import Selection, Side
from analysis.results.series import SERIES
from analysis.results.source import ArrowSource, text


def ids_of_results(side: Side) -> frozenset[str]:
    table = side.source.arrow(f"SELECT r.result_id FROM {side.selection.relation} r")
    return frozenset(table["result_id"].to_pylist())


def metric_of_sides(metric: Metric, before: Side, after: Side) -> Metric:
    """The metric by which the results of both sides compare.

    Shares of a peak are of the highest that a database knows, so that those of two databases are of
    different peaks: there it is the rate behind the share.
    """
    return metric if before.source is after.source else RATES_OF_SHARES.get(metric.column, metric)


def without_results(side: Side, ids: frozenset[str]) -> Side:
    named = ", ".join(map(text, sorted(ids)))
    condition = f"({side.selection.condition}) AND r.result_id NOT IN ({named})"
    return replace(side, selection=replace(side.selection, condition=condition))


def hostnames(source: ArrowSource) -> list[str]:
    """The names of the hosts whose verdicts a database holds."""
    sql = "SELECT DISTINCT hostname FROM benchmark_results WHERE hostname IS NOT NULL ORDER BY 1"
    names: list[str] = source.arrow(sql)["hostname"].to_pylist()
    return names


def side_of_host(
    source: ArrowSource, selection: Selection, hostname: str, without: Iterable[str] = ()
) -> Side:
    """The newest result of each series that a host measured, whoever shares the series.

    Args:
        source: the database.
        selection: the results that count, of all hosts.
        hostname: the name of the host.
        without: ids of results that do not count.
    """
    condition = f"({selection.condition}) AND r.hostname = {text(hostname)}"
    if ids := sorted(without):
        condition += f" AND r.result_id NOT IN ({', '.join(map(text, ids))})"
    every = replace(selection, condition=condition, run_id=None, every=True)
    series = ", ".join(f"n.{name}" for name in SERIES)
    newest = f"""
        SELECT arg_max(n.result_id, (coalesce(n.measured_at, TIMESTAMPTZ '-infinity'), n.run_id))
        FROM {every.relation} n GROUP BY {series}
    """
    chosen = f"{condition} AND (r.status <> 'ok' OR r.result_id IN ({newest}))"
    return Side(hostname, source, replace(every, condition=chosen), chosen_from=every)


def runs_before(
    source: ArrowSource, selection: Selection, side: Side, *, per_host: bool
) -> list[str]:
    """The ids of the runs before a side that share a series with it, the newest first.

    A run counts by its newest result that the side shares a series with, if it was measured before
    the newest result of the side.

    Args:
        source: the database whose runs are looked at.
        selection: the results in it that count.
        side: the side whose series are looked for, in any database.
        per_host: True if machines with different names have series of their own.
    """
    columns = (*SERIES, "hostname") if per_host else SERIES
    series = f"hash({', '.join(f'r.{name}' for name in columns)})"
    (wanted,) = side.source.arrow(f"""
        SELECT list(DISTINCT {series})::VARCHAR[] AS series, list(DISTINCT r.run_id) AS runs,
            max(r.measured_at)::VARCHAR AS newest
        FROM {side.selection.relation} r
    """).to_pylist()
    if not wanted["series"] or wanted["newest"] is None:
        return []
    every = replace(selection, run_id=None, every=True)
    table = source.arrow(f"""
        SELECT r.run_id FROM {every.relation} r
        WHERE {series} IN ({", ".join(wanted["series"])})
            AND r.run_id NOT IN ({", ".join(map(text, wanted["runs"]))})
            AND r.measured_at < {text(wanted["newest"])}::TIMESTAMPTZ
        GROUP BY r.run_id ORDER BY max(r.measured_at) DESC, r.run_id DESC
    """)
    ids: list[str] = table["run_id"].to_pylist()
    return ids
