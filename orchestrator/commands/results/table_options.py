"""Options of commands that show a run's results: how its table looks."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.system.options import Wide

_BY_SPEED = "fastest"


def _known_order(order: str) -> str:
    """The order of that name: a wrong word must not wait for the end of a run."""
    if order == _BY_SPEED:
        return order
    from analysis.results.order import known_order

    return known_order(order)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Choices of how results are shown."""

    ids: Annotated[bool, typer.Option("--ids", help="Name cells by their ids.")] = False
    wide: Wide = False
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="ORDER",
            help="fastest, latency, memory, grade, id or an axis.",
            parser=_known_order,
        ),
    ] = _BY_SPEED
