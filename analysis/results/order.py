"""Orders of results: what a table shows first."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from analysis.results.answer import comparisons
from analysis.results.row import ResultRow
from runner.contract.axes import AXIS_NAMES
from runner.contract.errors import UsageError

BY_SPEED = "fastest"
_MEASURES: Mapping[str, Callable[[ResultRow], float | str | None]] = {
    "id": lambda row: row.cell_id,
    "latency": lambda row: row.latency_median_ms,
    "memory": lambda row: row.memory_mb,
    "grade": lambda row: row.grade,
}
ORDERS: tuple[str, ...] = (BY_SPEED, *_MEASURES, *AXIS_NAMES)
"""Names of orders: by an axis, or by what was measured, the least first."""


def known_order(order: str) -> str:
    """The order of that name, be it written with hyphens.

    Raises:
        UsageError: there is no such order.
    """
    name = order.replace("-", "_")
    if name not in ORDERS:
        near = get_close_matches(name, ORDERS, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--sort: there is no order {order!r}", hint=f"{guess}Orders are {', '.join(ORDERS)}"
        )
    return name


def order_results(rows: Sequence[ResultRow], order: str = BY_SPEED) -> list[ResultRow]:
    """The results in this order; those without the value come last.

    `fastest` keeps results together that answer one question, the fastest of each first and those
    that cannot be compared behind them.

    Raises:
        UsageError: there is no such order.
    """
    name = known_order(order)
    fastest = [row for comparison in comparisons(rows) for row in comparison.rows]
    fastest += [row for row in rows if row.latency_median_ms is None]
    if name == BY_SPEED:
        return fastest
    keys = {id(row): _value(row, name) for row in fastest}
    known = [row for row in fastest if keys[id(row)] is not None]
    unknown = [row for row in fastest if keys[id(row)] is None]
    return [*sorted(known, key=lambda row: keys[id(row)]), *unknown]  # type: ignore[arg-type,return-value]


def _value(row: ResultRow, name: str) -> float | str | None:
    measure = _MEASURES.get(name)
    value: float | str | None = measure(row) if measure else getattr(row, name)
    return value
