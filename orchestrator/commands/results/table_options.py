"""Options of commands that show a run's results: how its table looks."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options.common import Wide
from orchestrator.commands.program.groups import Command, with_option_group

if TYPE_CHECKING:
    from orchestrator.commands.results.result_table import ResultTable

_BY_SPEED = "fastest"
_OPTIONS: dict[str, tuple[Any, object]] = {
    "ids": (Annotated[bool, typer.Option("--ids", help="Name cells by their ids.")], False),
    "wide": (Wide, False),
    "sort": (
        Annotated[
            str,
            typer.Option(
                "--sort", metavar="ORDER", help="fastest, latency, memory, grade, id or an axis."
            ),
        ],
        _BY_SPEED,
    ),
}


def with_table_options(command: Command) -> Command:
    """Give a command the options of a table, which it takes as its parameter `table`."""
    return with_option_group(command, "table", _OPTIONS, _table)


def _table(chosen: dict[str, Any]) -> "ResultTable":
    from orchestrator.commands.results.result_table import ResultTable

    if chosen["sort"] != _BY_SPEED:  # a wrong word must not wait for the end of a run
        from analysis.results.order import known_order

        known_order(chosen["sort"])
    return ResultTable(**chosen)
