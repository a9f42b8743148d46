"""Options of commands that show a run's results: how its table looks."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from orchestrator.cli.options import Wide

_Command = TypeVar("_Command", bound=Callable[..., Any])
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


def with_table_options(command: _Command) -> _Command:
    """Give a command the options of a table, which it takes as its parameter `table`."""

    @wraps(command)
    def with_table(*arguments: Any, **given: Any) -> Any:
        from orchestrator.render.results.result_table import ResultTable

        chosen = {name: given.pop(name) for name in _OPTIONS}
        if chosen["sort"] != _BY_SPEED:  # a wrong word must not wait for the end of a run
            from analysis.answers.order import known_order

            known_order(chosen["sort"])
        return command(*arguments, table=ResultTable(**chosen), **given)

    own = inspect.signature(command).parameters.values()
    kept = [parameter for parameter in own if parameter.name != "table"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in _OPTIONS.items()
    ]
    positional = [parameter for parameter in kept if parameter.kind != parameter.VAR_KEYWORD]
    keywords = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in positional]
    hints = {parameter.name: parameter.annotation for parameter in (*keywords, *added)}
    with_table.__annotations__ = hints
    vars(with_table)["__signature__"] = inspect.Signature([*keywords, *added])
    return with_table  # type: ignore[return-value]
