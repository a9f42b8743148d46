"""`plan`: the decision on every cell; or the schema of the file that a matrix is written in."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.fleet.fleet_options import with_fleet
from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import LauncherChoice
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.refusals import refuse_all_but, refuse_beside
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice
    from orchestrator.commands.measure.request import PlanRequest


class PlanFormat(StrEnum):
    """Formats of a plan."""

    table = "table"
    json = "json"
    github = "github"
    gitlab = "gitlab"


_Format = Annotated[
    PlanFormat,
    typer.Option(
        "--format",
        metavar=options.one_of(PlanFormat),
        help="github: what strategy.matrix takes by fromJSON; gitlab: a child pipeline.",
    ),
]
_Resume = Annotated[
    str | None,
    typer.Option(
        metavar="RUN_ID|last",
        help="Show what this run has done already.",
        autocompletion=complete_run,
    ),
]
_RunsOn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BACKEND=LABEL,…",
        help="github, gitlab: labels of the runners that have a backend's device; gitlab: of the"
        " one that judges, judge=LABEL. Repeatable.",
    ),
]
_MaxJobs = Annotated[
    int | None, typer.Option(min=1, help="github, gitlab: most jobs of the pipeline.")
]

_Share = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER/SHARES",
        help="github, gitlab: only this share of the models, e.g. 3/7 on one of seven nights.",
    ),
]


_Schema = Annotated[
    bool, typer.Option("--schema", help="Print the JSON schema of the matrix file instead.")
]
_HostsSchema = Annotated[
    bool, typer.Option("--hosts-schema", help="Print that of the file with the hosts of a fleet.")
]


@with_fleet
def plan(
    fleet: "FleetChoice | None",
    context: typer.Context,
    matrix: options.MatrixIfAny = None,
    format_: _Format = PlanFormat.table,
    select: options.Select = None,
    set_: options.Set = None,
    profile: options.Profile = None,
    sustained: options.Sustained = False,
    limit: options.Limit = None,
    resume: _Resume = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    weights_seed: options.WeightsSeed = 0,
    runs_on: _RunsOn = None,
    max_jobs: _MaxJobs = None,
    share: _Share = None,
    schema: _Schema = False,
    hosts_schema: _HostsSchema = False,
) -> None:
    """Show every cell with its decision, reason and estimate."""
    if schema or hosts_schema:
        refuse_all_but(context, "--schema" if schema else "--hosts-schema", ())
        _print_schema(hosts=hosts_schema)
        return
    if matrix is None:
        raise typer.BadParameter("name a matrix file")
    from orchestrator.commands.measure.plan import report_plan
    from orchestrator.commands.measure.plan_words import PlanningNotes, print_plan
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.predict.host_forecast import find_forecast

    request = PlanRequest(
        matrix,
        overrides=options.overrides_of(set_, profile, sustained=sustained),
        select=tuple(select or ()),
        limit=limit,
        results=results,
        progress=PlanningNotes(),
        find_forecast=find_forecast,
        options=options.run_options(
            launcher=launcher, database=database, weights_seed=weights_seed
        ),
    )
    if format_ in (PlanFormat.table, PlanFormat.json):
        of_pipelines = ("runs_on", "max_jobs", "share")
        refuse_beside(context, f"--format {format_.value}", of_pipelines)
        if fleet is not None:
            refuse_beside(context, "--fleet", ("resume",))
            from orchestrator.commands.measure.fleet_plan_table import show_fleet_plan

            show_fleet_plan(request, fleet, as_json=format_ is PlanFormat.json)
            return
        print_plan(report_plan(request, resume), as_json=format_ is PlanFormat.json)
        return
    _print_pipeline(
        request, resume, runs_on or (), max_jobs, share, gitlab=format_ is PlanFormat.gitlab
    )


def _print_pipeline(
    request: "PlanRequest",
    resume: str | None,
    runs_on: Sequence[str],
    max_jobs: int | None,
    share: str | None,
    *,
    gitlab: bool,
) -> None:
    from orchestrator.commands.measure.pipelines.jobs import MAX_JOBS
    from orchestrator.commands.measure.pipelines.labels import parse_runner_labels, split_judge
    from orchestrator.commands.measure.pipelines.rotation import share_of_models
    from orchestrator.commands.measure.plan import plan_jobs
    from orchestrator.commands.measure.plan_words import print_jobs

    labelled, judge = split_judge(runs_on) if gitlab else (runs_on, ())
    jobs = plan_jobs(
        request,
        resume,
        labels=parse_runner_labels(labelled),
        most=MAX_JOBS if max_jobs is None else max_jobs,
        share=share_of_models(share),
    )
    print_jobs(jobs, str(request.matrix), gitlab=gitlab, judge=judge)


def _print_schema(*, hosts: bool) -> None:
    from orchestrator.fleet.hosts_file import hosts_json_schema
    from orchestrator.matrix import matrix_json_schema
    from orchestrator.screen.lines import print_json

    print_json(hosts_json_schema() if hosts else matrix_json_schema())
