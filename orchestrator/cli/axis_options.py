"""Options of commands that come from the table of axes, so that a new axis needs no new option."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from runner.contract.axes import AXES, Axis

Command = TypeVar("Command", bound=Callable[..., Any])
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def list_option(axis: Axis) -> dict[str, Any]:
    """The option that lists values of an axis, by the name of its parameter."""
    option = typer.Option(metavar=axis.metavar, help=axis.full_help)
    return {axis.parameter: Annotated[list[str] | None, option]}


def size_options() -> dict[str, Any]:
    """The options that name one size each, by the names of their parameters."""
    return {
        axis.name: Annotated[int | None, typer.Option(metavar="N", help=axis.full_size_help)]
        for axis in AXES
        if axis.size_help
    }


def with_options(at: int, options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Insert options at a position of a command that takes them as further keywords."""

    def decorate(command: Command) -> Command:
        own = inspect.signature(command).parameters.values()
        parameters = [p.replace(kind=_KEYWORD) for p in own if p.kind != p.VAR_KEYWORD]
        parameters[at:at] = [
            inspect.Parameter(name, _KEYWORD, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        vars(command)["__signature__"] = inspect.Signature(parameters)
        return command

    return decorate
