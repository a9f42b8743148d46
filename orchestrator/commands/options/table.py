"""The options of commands that show results as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

import typer

from orchestrator.system.options import Wide
from runner.contract.axes import AXIS_NAMES
from runner.contract.errors import UsageError

_FIELDS: Mapping[str, str | None] = {
    "fastest": None,
    "id": "cell_id",
    "latency": "latency_median_ms",
    "memory": "memory_mb",
    "grade": "grade",
    **{axis: axis for axis in AXIS_NAMES},
}
"""The field of the results that an order goes by, the least first; None for speed."""


def known_order(order: str) -> str:
    """The order of that name, be it written with hyphens."""
    name = order.replace("-", "_")
    if name not in _FIELDS:
        near = get_close_matches(name, _FIELDS, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--sort: there is no order {order!r}", hint=f"{guess}Orders are {', '.join(_FIELDS)}"
        )
    return name


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of commands that show a run's results: how its table looks."""

    ids: Annotated[bool, typer.Option("--ids", help="Name cells by their ids.")] = False
    wide: Wide = False
    sort: Annotated[
        str,
        typer.Option(
            metavar="ORDER",
            help="fastest, latency, memory, grade, id or an axis.",
            parser=known_order,  # a wrong word must not wait for the end of a run
        ),
    ] = "fastest"

    @property
    def sorted_by(self) -> str | None:
        """The field of the results that they are sorted by; None for speed."""
        return _FIELDS[self.sort]
