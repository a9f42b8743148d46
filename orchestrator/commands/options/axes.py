"""Options of axes: fields that a command declares for each, and the matrix of `bench` by them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, TypeVar

import typer

from analysis.results.synonyms import AVAILABLE, axis_called, counsel, meaning
from orchestrator.commands.options.common import EveryModel, FamilyOption, ProfileWord
from orchestrator.commands.program.completion import complete_axis
from orchestrator.system.options import choice, number_parser
from orchestrator.system.text import split_list
from runner.contract.axes import AXES, Axis, AxisName
from runner.contract.errors import UsageError, refuse_unknown

_WHOLE = ("size", "count")
_BACKENDS = (
    "Hardware paths, or available: all that run here, with precisions and batch sizes "
    "of their own.  [default: cpu, or the only one that has the runtime]"
)
SIZED_AXES: tuple[AxisName, ...] = tuple(axis.name for axis in AXES if axis.size_help)
"""Axes whose sizes change a model's tensors and needs."""
_NO_WORDS: Mapping[AxisName, str] = MappingProxyType({})
_Owner = TypeVar("_Owner")


class AxisOptions:
    """A command whose fields list values of axes."""

    axis_words: ClassVar[Mapping[AxisName, str]] = _NO_WORDS
    """Words that stand in place of an axis' values."""

    @property
    def axes(self) -> dict[AxisName, tuple[str, ...]]:
        """The values that are listed for each axis.

        Choices and numbers are checked here, where little has been imported; models, words and the
        rest are checked with the matrix that the options make.
        """
        return {axis.name: tuple(self._values(axis)) for axis in AXES}

    def _values(self, axis: Axis) -> Iterator[str]:
        texts = getattr(self, axis.name, None) or ()
        for text in split_list(texts, of_paths=axis.kind == "model"):
            item = meaning(axis, text)
            yield item if item == self.axis_words.get(axis.name) else _checked(axis, item)


def with_axes(
    names: Iterable[AxisName],
    texts: Mapping[AxisName, str] = _NO_WORDS,
    words: Mapping[AxisName, str] = _NO_WORDS,
) -> Callable[[type[_Owner]], type[_Owner]]:
    """Give a class a field for each of these axes, before its own and before it is a dataclass.

    It may have help of its own for an axis, and a word that stands in place of an axis' values.
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
        if words:
            setattr(owner, "axis_words", words)  # noqa: B010
        return owner

    return add


def _number(text: str) -> Any:
    return typer.Option(metavar="N", help=text, parser=number_parser())


def with_sizes(owner: type[_Owner]) -> type[_Owner]:
    """Give a class a field for one size of each axis that has them."""
    for axis in map(axis_called, SIZED_AXES):
        owner.__annotations__[axis.name] = Annotated[int | None, _number(axis.full_size_help)]
        setattr(owner, axis.name, None)
    return owner


def _option(axis: Axis, text: str | None, word: str | None) -> Any:
    metavar = axis.metavar or ("N" if axis.kind in _WHOLE else "NAMES")
    return typer.Option(
        metavar=metavar,
        help=text or axis.full_help,
        autocompletion=complete_axis(axis.name, word) if metavar == "NAMES" else None,
    )


def _checked(axis: Axis, item: str) -> str:
    if axis.choices and item not in axis.choices:
        offered = [choice for choice in axis.choices if choice != "fake"]
        raise UsageError(f"{axis.option}: {counsel(axis, item) or refuse_unknown(item, offered)}")
    if axis.kind in _WHOLE and not (item.isascii() and item.isdigit()):
        raise UsageError(f"{axis.option}: {item!r} is not a whole number")
    return item


@dataclass(frozen=True, kw_only=True)
@with_axes(
    [axis.name for axis in AXES if axis.name != "model"],
    {"backend": _BACKENDS},
    {"backend": AVAILABLE},
)
class _OtherAxes(AxisOptions):
    """All axes but that of models."""


@dataclass(frozen=True, kw_only=True)
class _Lengths:
    """Lengths of measurements, and limits of jobs."""

    profile: Annotated[
        ProfileWord, choice(ProfileWord, "--profile", help="How long to measure.")
    ] = "quick"
    iterations: Annotated[int | None, _number("Fewest timed iterations of a cell.")] = None
    rounds: Annotated[int | None, _number("Fewest launches of a cell.")] = None
    cell_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest a cell may take, e.g. 5m.")
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Most memory of a measured job, e.g. 8GiB.")
    ] = None


@dataclass(frozen=True, kw_only=True)
@with_axes(["model"])
class BenchOptions(_OtherAxes, _Lengths):
    """The options of `bench`; one that repeats or holds commas is a list."""

    family: FamilyOption = None
    modality: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="All models that take text, image, audio, video or several of them.",
        ),
    ] = None
    all_: EveryModel = False

    @classmethod
    def of_axes(cls, axes: Mapping[AxisName, Sequence[str]], **others: Any) -> Self:
        lists: dict[str, Any] = {name: list(values) for name, values in axes.items()}
        return cls(**lists, **others)
