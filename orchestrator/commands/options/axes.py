"""Options of axes: fields that a command declares for each of them, and what their values mean."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import typer

from orchestrator.commands.program.completion import complete_axis
from orchestrator.system.options import number_parser
from orchestrator.system.text import split_list
from runner.contract.axes import AXES, Axis, AxisName
from runner.contract.errors import UsageError, refuse_unknown
from runner.contract.synonyms import axis_called, counsel, meaning

_WHOLE = ("size", "count")
SIZED_AXES: tuple[AxisName, ...] = tuple(axis.name for axis in AXES if axis.size_help)
"""Axes whose sizes change a model's tensors and needs."""
_NO_WORDS: Mapping[AxisName, str] = MappingProxyType({})
_Owner = TypeVar("_Owner")


class AxisOptions:
    """A command whose fields list values of axes."""

    @property
    def axes(self) -> dict[AxisName, tuple[str, ...]]:
        """The values that are listed for each axis."""
        return {axis.name: tuple(getattr(self, axis.name, None) or ()) for axis in AXES}


def with_axes(
    names: Iterable[AxisName],
    texts: Mapping[AxisName, str] = _NO_WORDS,
    words: Mapping[AxisName, str] = _NO_WORDS,
) -> Callable[[type[_Owner]], type[_Owner]]:
    """Give a class a field for each of these axes, before its own and before it is a dataclass.

    Args:
        names: the axes.
        texts: help for those of which the class says something of its own.
        words: a word that stands in place of an axis' values.
    """

    def add(owner: type[_Owner]) -> type[_Owner]:
        own = dict(owner.__annotations__)
        owner.__annotations__.clear()
        for axis in AXES:
            if axis.name in names:
                option = _option(axis, texts.get(axis.name), words.get(axis.name))
                owner.__annotations__[axis.name] = Annotated[list[str] | None, option]
                setattr(owner, axis.name, None)
        owner.__annotations__.update(own)
        return owner

    return add


def with_sizes(owner: type[_Owner]) -> type[_Owner]:
    """Give a class a field for one size of each axis that has them."""
    for axis in map(axis_called, SIZED_AXES):
        option = typer.Option(metavar="N", help=axis.full_size_help, parser=number_parser())
        owner.__annotations__[axis.name] = Annotated[int | None, option]
        setattr(owner, axis.name, None)
    return owner


def _option(axis: Axis, text: str | None, word: str | None) -> Any:
    metavar = axis.metavar or ("N" if axis.kind in _WHOLE else "NAMES")
    return typer.Option(
        metavar=metavar,
        help=text or axis.full_help,
        callback=_check(axis, word),
        autocompletion=complete_axis(axis.name, word) if metavar == "NAMES" else None,
    )


def _check(axis: Axis, word: str | None) -> Callable[[list[str] | None], list[str]]:
    """A reader of the values of an axis.

    Choices and numbers are checked here, where little has been imported; models, a word that the
    command has for an axis and the rest are checked with the matrix that the options make.
    """

    def check(texts: list[str] | None) -> list[str]:
        items = split_list(texts or (), of_paths=axis.kind == "model")
        return [
            item if item == word else _checked(axis, item)
            for item in (meaning(axis, text) for text in items)
        ]

    return check


def _checked(axis: Axis, item: str) -> str:
    if axis.choices and item not in axis.choices:
        offered = [choice for choice in axis.choices if choice != "fake"]
        raise UsageError(f"{axis.option}: {counsel(axis, item) or refuse_unknown(item, offered)}")
    if axis.kind in _WHOLE and not (item.isascii() and item.isdigit()):
        raise UsageError(f"{axis.option}: {item!r} is not a whole number")
    return item
