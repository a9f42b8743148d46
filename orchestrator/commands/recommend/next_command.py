"""`next`: the cells of a matrix whose measurement helps predictions most."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.system.files import RESULTS_FOLDER


class NextFormat(StrEnum):
    """Formats of the answer; `matrix` is what `run` takes."""

    table = "table"
    markdown = "markdown"
    csv = "csv"
    json = "json"
    matrix = "matrix"


class NarrowingUnit(StrEnum):
    """The unit by which the narrowing of intervals is counted."""

    cell = "cell"
    second = "second"


def next_(
    matrix: options.MatrixArgument,
    limit: Annotated[
        int,
        typer.Option(metavar="N", help="Propose so many cells.", callback=options.require_positive),
    ] = 6,
    per: Annotated[
        NarrowingUnit,
        typer.Option(
            metavar=options.one_of(NarrowingUnit),
            help="Prefer what narrows most by cell, or by second of measuring.",
        ),
    ] = NarrowingUnit.cell,
    format_: Annotated[
        NextFormat | None,
        typer.Option(
            "--format",
            metavar=options.one_of(NextFormat),
            help="matrix: a file for run.  [default: what FILE's name says, else table]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it there; a name with .yaml gets the matrix."),
    ] = None,
    force: options.Force = False,
    select: options.Select = None,
    set_: options.Set = None,
    profile: options.Profile = None,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    wide: options.Wide = False,
    json: options.Json = False,
) -> None:
    """Choose the cells whose measurement helps predictions most."""
    from orchestrator.commands.measure.plan_words import PlanningNotes
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.recommend.next_cells import NextRequest, propose_next
    from orchestrator.commands.recommend.next_words import NextOutput

    path = options.database_in(results, database)
    form = options.answer_format(format_, as_json=json)
    shown = NextOutput(form, output, force=force, wide=wide)
    shown.require(path)
    run_options = options.run_options(launcher=options.LauncherChoice.auto, database=database)
    plan = PlanRequest(
        matrix,
        overrides=options.overrides_of(set_, profile),
        select=tuple(select or ()),
        results=results,
        options=run_options,
        progress=PlanningNotes(),
    )
    request = NextRequest(
        matrix, plan, limit, per_second=per is NarrowingUnit.second, folder=shown.folder
    )
    shown.show(propose_next(request))
