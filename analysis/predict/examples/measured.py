"""Measured values of cells, to stand beside what is predicted of them."""

from collections.abc import Iterable, Mapping

from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.results.source import ArrowSource, text

_MOST_NAMED = 500
"""Cells that a question names; of more, all that the machines measured are read."""
MeasuredValues = Mapping[tuple[str, str], Mapping[str, float]]
"""Values by target, by machine and cell id."""


def measured_models(source: ArrowSource, machines: Iterable[str]) -> frozenset[str]:
    """The models of which these machines have results that may be quoted."""
    table = source.arrow(f"""
        SELECT DISTINCT model FROM benchmark_performance
        WHERE hardware_id IN ({_listing(machines)})
    """)
    return frozenset(table["model"].to_pylist())


def values_of_cells(
    source: ArrowSource, machines: Iterable[str], cell_ids: Iterable[str]
) -> MeasuredValues:
    """The newest results of these cells on these machines, as far as they may be quoted.

    Args:
        source: the database.
        machines: ids of machines.
        cell_ids: ids of cells.
    """
    wanted = list(cell_ids)
    if not wanted:
        return {}
    columns = {name: target.column for name, target in PREDICTION_TARGETS.items()}
    named = f"AND p.cell_id IN ({_listing(wanted)})" if len(wanted) <= _MOST_NAMED else ""
    rows = source.arrow(f"""
        SELECT p.hardware_id, p.cell_id, {", ".join(f"r.{one}" for one in columns.values())}
        FROM benchmark_performance p JOIN benchmark_results r USING (result_id)
        WHERE p.hardware_id IN ({_listing(machines)}) {named}
        ORDER BY p.measured_at, p.result_id
    """).to_pylist()
    return {
        (row["hardware_id"], row["cell_id"]): {
            name: value for name, column in columns.items() if (value := row[column]) is not None
        }
        for row in rows
    }


def _listing(words: Iterable[str]) -> str:
    return ", ".join(map(text, words)) or "NULL"
