"""`bench`: measures without a file."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.fleet.fleet_options import with_fleet
from orchestrator.commands.measure.against_options import with_against
from orchestrator.commands.measure.run_command import (
    MeasuredOutput,
    measure,
    measure_on_fleet,
    refuse_baseline,
)
from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import axis_values, list_option
from orchestrator.commands.options.common import (
    LauncherChoice,
    ProfileChoice,
)
from orchestrator.commands.options.verdict import RequireGrade
from orchestrator.commands.options.work import WorkOptions, with_work_options
from orchestrator.commands.program.completion import complete_family
from orchestrator.commands.program.groups import with_options
from orchestrator.commands.results.table_options import with_table_options
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import AXES, Axis, AxisName
from runner.contract.synonyms import AVAILABLE

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice
    from orchestrator.commands.measure.against import Against
    from orchestrator.commands.results.result_table import ResultTable

_Family = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="All models of a family.",
        autocompletion=complete_family,
    ),
]
_Modality = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="All models that take text, image, audio, video or several of them."
    ),
]
_All = Annotated[bool, typer.Option("--all", help="All models of the catalogue.")]
_Profile = Annotated[
    ProfileChoice, typer.Option(metavar=options.one_of(ProfileChoice), help="How long to measure.")
]
_Rounds = Annotated[
    int | None,
    typer.Option(metavar="N", help="Fewest launches of a cell.", callback=options.require_positive),
]
_Iterations = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Fewest timed iterations of a cell.", callback=options.require_positive
    ),
]
_CellTimeout = Annotated[
    str | None, typer.Option(metavar="TIME", help="Longest a cell may take, e.g. 5m.")
]
_Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Most memory of a job, e.g. 8GiB.")
]
_HELP: Mapping[AxisName, str] = {
    "backend": "Hardware paths, or available: all that run here, with precisions and batch sizes "
    "of their own.  [default: cpu, or the only one that has the runtime]"
}


def _option(axis: Axis) -> dict[str, Any]:
    word = AVAILABLE if axis.name == "backend" else None
    return list_option(axis, _HELP.get(axis.name), word)


@with_options(0, list_option(AXES[0]))
@with_options(2, {name: hint for axis in AXES[1:] for name, hint in _option(axis).items()})
@with_table_options
@with_against
@with_fleet
@with_work_options
def bench(
    table: "ResultTable",
    against: "Against | None",
    fleet: "FleetChoice | None",
    work: WorkOptions,
    family: _Family = None,
    modality: _Modality = None,
    all_: _All = False,
    profile: _Profile = ProfileChoice.quick,
    iterations: _Iterations = None,
    rounds: _Rounds = None,
    sustained: options.Sustained = False,
    cell_timeout: _CellTimeout = None,
    memory: _Memory = None,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    dry_run: options.DryRun = False,
    grade: RequireGrade = None,
    json: options.Json = False,
    output: options.JsonFile = None,
    force: options.Force = False,
    **axes: list[str] | None,
) -> int:
    """Measure without a file: the options are the matrix. Lists take commas or repeat."""
    values = axis_values({axis.name: axes[axis.name] for axis in AXES}, {"backend": AVAILABLE})
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.matrix.from_options import BenchOptions

    request = PlanRequest(
        BenchOptions(
            values,
            family or (),
            modality or (),
            every_model=all_,
            profile=profile.value,
            iterations=iterations,
            cell_timeout=cell_timeout,
            memory=memory,
            rounds=rounds,
        ),
        overrides=options.overrides_of(set_, sustained=sustained),
        select=tuple(select or ()),
        limit=limit,
        results=results,
        options=work.run_options(launcher, database),
    )
    shown = MeasuredOutput(table, grade, output, as_json=json)
    shown.require(request.database, force=force)
    if fleet is not None:
        refuse_baseline(against)
        return measure_on_fleet(request, fleet, shown, dry_run=dry_run)
    return measure(request, against, shown, dry_run=dry_run)
