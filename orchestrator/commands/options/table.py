"""The options of commands that show results as a table."""

from dataclasses import dataclass
from typing import Annotated

import typer

from analysis.results.answer import BY_SPEED, known_order
from orchestrator.system.options import Wide


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
    ] = BY_SPEED
