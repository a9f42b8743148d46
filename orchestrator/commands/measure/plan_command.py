"""`plan`: the decision on every cell; or the schema of the file that a matrix is written in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.commands.options.common import DatabaseChoice, MatrixChanges, MatrixIfAny, Profile
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.fleet.choice import FleetChoice
from orchestrator.running.options import LauncherOption, RunOptions, WeightsSeed
from orchestrator.system.options import choice, number_parser

if TYPE_CHECKING:
    from orchestrator.commands.measure.request import PlanRequest

_Format = Literal["table", "json", "github", "gitlab"]
_OF_PIPELINES = ("runs_on", "max_jobs", "share")


@dataclass(frozen=True, kw_only=True)
class PlanCommand(MatrixChanges, FleetChoice, DatabaseChoice, Command):
    """Show every cell with its decision, reason and estimate."""

    matrix: MatrixIfAny = None
    format_: Annotated[
        _Format,
        choice(
            _Format,
            "--format",
            help="github: what strategy.matrix takes by fromJSON; gitlab: a child pipeline.",
        ),
    ] = "table"
    profile: Profile = None
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN_ID|last",
            help="Show what this run has done already.",
            autocompletion=complete_run,
        ),
    ] = None
    launcher: LauncherOption = "auto"
    weights_seed: WeightsSeed = 0
    runs_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BACKEND=LABEL,…",
            help="github, gitlab: labels of the runners that have a backend's device; gitlab: of"
            " the one that judges, judge=LABEL. Repeatable.",
        ),
    ] = None
    max_jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="github, gitlab: most jobs of the pipeline.", parser=number_parser()
        ),
    ] = None
    share: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER/SHARES",
            help="github, gitlab: only this share of the models, e.g. 3/7 on one of seven nights.",
        ),
    ] = None
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the matrix file instead.")
    ] = False
    hosts_schema: Annotated[
        bool,
        typer.Option("--hosts-schema", help="Print that of the file with the hosts of a fleet."),
    ] = False

    def execute(self) -> None:
        if self.schema or self.hosts_schema:
            self.refuse_all_but("--schema" if self.schema else "--hosts-schema", ())
            from orchestrator.fleet.hosts_file import hosts_json_schema
            from orchestrator.matrix import matrix_json_schema
            from orchestrator.screen.lines import print_json

            print_json(hosts_json_schema() if self.hosts_schema else matrix_json_schema())
            return
        request = self._request()
        if self.format_ in {"github", "gitlab"}:
            self._print_pipeline(request)
            return
        self.refuse_beside(f"--format {self.format_}", _OF_PIPELINES)
        as_json = self.format_ == "json"
        if self.on_fleet:
            self.refuse_beside("--fleet", ("resume",))
            from orchestrator.commands.measure.fleet.plan import show_fleet_plan

            show_fleet_plan(request, self, as_json=as_json)
            return
        from orchestrator.commands.measure.plan import print_plan, report_plan

        print_plan(report_plan(request, self.resume), as_json=as_json)

    def _request(self) -> "PlanRequest":
        if self.matrix is None:
            raise typer.BadParameter("name a matrix file")
        from orchestrator.commands.measure.plan import PlanningNotes
        from orchestrator.commands.measure.request import PlanRequest
        from orchestrator.commands.predict.host_forecast import find_forecast

        return PlanRequest(
            self.matrix,
            overrides=self.overrides(self.profile),
            select=tuple(self.select or ()),
            limit=self.limit,
            results=self.results,
            progress=PlanningNotes(),
            find_forecast=find_forecast,
            options=RunOptions(
                launcher=self.launcher, database=self.database, weights_seed=self.weights_seed
            ),
        )

    def _print_pipeline(self, request: "PlanRequest") -> None:
        from orchestrator.commands.measure.pipelines.files import github_matrix, gitlab_pipeline
        from orchestrator.commands.measure.pipelines.jobs import (
            MAX_JOBS,
            parse_runner_labels,
            share_of_models,
            split_judge,
        )
        from orchestrator.commands.measure.plan import plan_jobs
        from orchestrator.screen.lines import print_content, print_json

        gitlab, runs_on = self.format_ == "gitlab", self.runs_on or ()
        labelled, judge = split_judge(runs_on) if gitlab else (runs_on, ())
        jobs = plan_jobs(
            request,
            self.resume,
            labels=parse_runner_labels(labelled),
            most=self.max_jobs or MAX_JOBS,
            share=share_of_models(self.share),
        )
        if gitlab:
            print_content(gitlab_pipeline(jobs, str(request.matrix), judge).encode())
        else:
            print_json(github_matrix(jobs), indent=None)
