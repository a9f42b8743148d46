"""Options of questions to a predictor: cells by their axes, the device and the targets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import axis_values, list_option
from orchestrator.commands.predict.axes import PREDICTED_AXES
from orchestrator.commands.program.groups import Command, with_option_group
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.text import split_list

if TYPE_CHECKING:
    from orchestrator.commands.predict.cells import CellsAsked

Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="NAMES",
        help="latency, throughput, memory, energy, or all.  [default: latency, else throughput]",
    ),
]
DeviceName = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="A machine of the database, or a device with a known data sheet."
        "  [default: that with most results of the backend]",
    ),
]
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    **{axis.name: (list_option(axis)[axis.name], None) for axis in PREDICTED_AXES},
    "device": (DeviceName, None),
    "target": (Targets, None),
    "results": (options.Results, RESULTS_FOLDER),
    "database": (options.Database, None),
}


def with_question(command: Command) -> Command:
    """Give a command options of a question, which it takes as its parameter `question`.

    It gets a `CellsAsked`.
    """
    return with_option_group(command, "question", _OPTIONS, _question)


def _question(chosen: Mapping[str, Any]) -> "CellsAsked":
    values = axis_values({axis.name: chosen[axis.name] for axis in PREDICTED_AXES})
    from orchestrator.commands.predict.cells import CellsAsked

    return CellsAsked(
        database=options.database_in(chosen["results"], chosen["database"]),
        results=chosen["results"],
        axes={name: items for name, items in values.items() if items},
        device=chosen["device"],
        targets=target_names(chosen["target"]),
    )


def target_names(given: list[str] | None) -> tuple[str, ...]:
    """The targets that an option names; empty for the usual one.

    Raises:
        UsageError: there is no such target.
    """
    if not given:
        return ()
    from analysis.predict.examples.placements import PREDICTION_TARGETS
    from orchestrator.commands.predict.questions import ALL_TARGETS
    from orchestrator.system.problems import not_one_of
    from runner.contract.errors import UsageError

    names = split_list(given)
    known = [*PREDICTION_TARGETS, ALL_TARGETS]
    for name in names:
        if name not in known:
            raise UsageError(f"--target: {not_one_of(name, known)}")
    return tuple(dict.fromkeys(names))
