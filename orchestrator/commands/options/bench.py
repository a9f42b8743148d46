"""The options of `bench`, which stand for a matrix: models, axes, lengths and limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import typer

from analysis.results.synonyms import AVAILABLE
from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import EveryModel, FamilyOption, ProfileWord
from orchestrator.system.options import choice, number_parser
from runner.contract.axes import AXES, AxisName

_HELP: Mapping[AxisName, str] = {
    "backend": "Hardware paths, or available: all that run here, with precisions and batch sizes "
    "of their own.  [default: cpu, or the only one that has the runtime]"
}


@dataclass(frozen=True, kw_only=True)
@with_axes([axis.name for axis in AXES if axis.name != "model"], _HELP, {"backend": AVAILABLE})
class _OtherAxes(AxisOptions):
    """All axes but that of models."""


@dataclass(frozen=True, kw_only=True)
class _Lengths:
    """Lengths of measurements, and limits of jobs."""

    profile: Annotated[
        ProfileWord, choice(ProfileWord, "--profile", help="How long to measure.")
    ] = "quick"
    iterations: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Fewest timed iterations of a cell.", parser=number_parser()
        ),
    ] = None
    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Fewest launches of a cell.", parser=number_parser()),
    ] = None
    cell_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest a cell may take, e.g. 5m.")
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Most memory of a job, e.g. 8GiB.")
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
        """Options that list these values."""
        lists: dict[str, Any] = {name: list(values) for name, values in axes.items()}
        return cls(**lists, **others)
