"""The options of axes: how they are declared, and what their values mean."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import typer

from orchestrator.commands.program.completion import complete_axis
from orchestrator.system.text import split_list
from runner.contract.axes import AXES, Axis, AxisName
from runner.contract.errors import UsageError, refuse_unknown
from runner.contract.synonyms import counsel, meaning

_WHOLE = ("size", "count")
_NO_WORDS: Mapping[AxisName, str] = MappingProxyType({})


def list_option(axis: Axis, text: str | None = None, word: str | None = None) -> dict[str, Any]:
    """The option that lists values of an axis, by the name of its parameter.

    A command that takes them otherwise, or a word in their place, says so in a help text of its
    own.
    """
    metavar = axis.metavar or ("N" if axis.kind in _WHOLE else "NAMES")
    option = typer.Option(
        metavar=metavar,
        help=text or axis.full_help,
        autocompletion=complete_axis(axis.name, word) if metavar == "NAMES" else None,
    )
    return {axis.name: Annotated[list[str] | None, option]}


def size_options() -> dict[str, Any]:
    """The options that name one size each, by the names of their parameters."""
    return {
        axis.name: Annotated[int | None, typer.Option(metavar="N", help=axis.full_size_help)]
        for axis in AXES
        if axis.size_help
    }


def axis_values(
    given: Mapping[AxisName, Sequence[str] | None],
    words: Mapping[AxisName, str] = _NO_WORDS,
) -> dict[AxisName, tuple[str, ...]]:
    """The values that options list for each axis, those of other names by their own.

    Choices and numbers are checked here, where little has been imported; models, a word that the
    command has for an axis and the rest are checked with the matrix that the options make.

    Raises:
        UsageError: a value is none of its axis; the message names the option.
    """
    texts = {axis: given.get(axis.name) or () for axis in AXES}
    return {axis.name: tuple(_values(axis, texts[axis], words.get(axis.name))) for axis in AXES}


def _values(axis: Axis, texts: Sequence[str], word: str | None) -> list[str]:
    items = [meaning(axis, item) for item in split_list(texts, of_paths=axis.kind == "model")]
    for item in items:
        if item == word:
            continue
        if axis.choices and item not in axis.choices:
            _refuse_choice(axis, item)
        elif axis.kind in _WHOLE and not (item.isascii() and item.isdigit()):
            raise UsageError(f"{axis.option}: {item!r} is not a whole number")
    return items


def _refuse_choice(axis: Axis, word: str) -> None:
    offered = [choice for choice in axis.choices if choice != "fake"]
    raise UsageError(f"{axis.option}: {counsel(axis, word) or refuse_unknown(word, offered)}")
