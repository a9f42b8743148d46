"""Options of questions to a predictor: cells by their axes, the device and the targets."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.system.options import choice
from orchestrator.system.text import split_list
from runner.contract.axes import AXES, Axis, AxisName
from runner.contract.errors import UsageError, refuse_unknown

if TYPE_CHECKING:
    from orchestrator.commands.predict.cells import CellsAsked

_NOT_PREDICTED = ("scenario", "target_qps", "slo_ms", "workers")
"""Axes of arrival patterns and of starts, of which counted work says nothing."""
PREDICTED_AXES: tuple[Axis, ...] = tuple(axis for axis in AXES if axis.name not in _NOT_PREDICTED)
PREDICTED_NAMES: tuple[AxisName, ...] = tuple(axis.name for axis in PREDICTED_AXES)

ALL_TARGETS = "all"
SourceChoice = Literal["ours", "all"]
SourceOption = Annotated[
    SourceChoice,
    choice(SourceChoice, "--source", help="all: imported results too, simulated ones never."),
]


def target_names(texts: list[str] | None, *others: str) -> list[str]:
    """The targets that an option names, each once; these other words are allowed too."""
    if not texts:
        return []
    from analysis.predict.examples.placements import PREDICTION_TARGETS

    names, known = split_list(texts), [*PREDICTION_TARGETS, *others]
    for name in names:
        if name not in known:
            raise UsageError(f"--target: {refuse_unknown(name, known)}")
    return list(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True)
class PredictionOptions(DatabaseChoice):
    """The device and the targets of a question."""

    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A machine of the database, or a device with a known data sheet."
            "  [default: that with most results of the backend]",
        ),
    ] = None
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="latency, throughput, memory, energy, or all."
            "  [default: latency, else throughput]",
            callback=lambda texts: target_names(texts, ALL_TARGETS),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
@with_axes(PREDICTED_NAMES)
class CellQuestion(AxisOptions, PredictionOptions):
    """A question about cells that options name."""

    @property
    def cells_asked(self) -> "CellsAsked":
        from orchestrator.commands.predict.cells import CellsAsked

        return CellsAsked(
            database=self.database_file,
            results=self.results,
            axes={name: values for name, values in self.axes.items() if values},
            device=self.device,
            targets=tuple(self.target or ()),
        )
