"""The options of commands that show results as a table."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.system.options import Wide


def _known_order(word: str) -> str:
    from analysis.results.answer import known_order  # not every table is sorted

    return known_order(word)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of commands that show a run's results: how its table looks."""

    ids: Annotated[bool, typer.Option("--ids", help="Name cells by their ids.")] = False
    wide: Wide = False
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="ORDER",
            help="fastest, latency, memory, grade, id or an axis.",
            parser=_known_order,  # a wrong word must not wait for the end of a run
        ),
    ] = "fastest"
