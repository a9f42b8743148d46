"""`run` and `bench`: measure a matrix, or what options say in its place."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.measure.measuring import Measuring
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.common import (
    MatrixChanges,
    MatrixIfAny,
    Profile,
    command_line,
    note,
)
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.program import chosen
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.measure.request import PlanRequest


_OF_EXPORTS = ("matrix", "select", "set_", "limit", "launcher", "results", "weights_seed", "json")
"""Fields that exports use."""
_PLANNED = (
    *("select", "set_", "profile", "sustained", "seed", "weights_seed", "verify_only", "no_verify"),
    *("trace", "inherit_environ", "image", "label", "limit", "dry_run", "compare_to"),
)
"""Fields that would change what a resumed run has planned."""


@dataclass(frozen=True, kw_only=True)
class _Exports:
    """Options of what else there is to do with a matrix."""

    prepare_only: Annotated[
        bool,
        typer.Option("--prepare-only", help="Export every graph that the matrix needs, and stop."),
    ] = False
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="With --prepare-only: list graphs, references and counts of other versions, and"
            " past preparations.",
        ),
    ] = False
    yes: Annotated[bool, typer.Option("--yes", help="Remove what --prune lists.")] = False


@dataclass(frozen=True, kw_only=True)
class RunCommand(MatrixChanges, Measuring, _Exports):
    """Measure the cells of a matrix, or finish an earlier run."""

    matrix: MatrixIfAny = None
    profile: Profile = None
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN_ID|last", help="Finish an earlier run.", autocompletion=complete_run
        ),
    ] = None

    def execute(self) -> int:
        self.refuse_without("--prepare-only", ("prune", "yes"))
        if self.prune or self.yes:
            return self._clear_artifacts()
        if self.prepare_only:
            self.refuse_all_but("--prepare-only", _OF_EXPORTS)
        self.require_sense()
        if self.resume is not None:
            return self._resume(self.resume)
        if self.matrix is None:
            raise typer.BadParameter("name a matrix file, or an earlier run with --resume")
        request = _request(self, self.matrix, self.profile)
        return self._export(request) if self.prepare_only else self.measure(request)

    def _resume(self, run_id: str) -> int:
        given = self.given()
        named = [given[name] for name in _PLANNED if name in given]
        if named:
            raise UsageError(
                f"--resume finishes what was planned, so {', '.join(named)} cannot change it",
                hint="leave them out, or start a new run without --resume",
            )
        from orchestrator.commands.measure.run import ResumeRequest

        request = ResumeRequest(run_id, self.results, self.matrix, self.alone())
        if self.on_fleet:
            from orchestrator.commands.measure.fleet.progress import show_fleet_progress
            from orchestrator.commands.measure.fleet.runs import resume_on_fleet

            with show_fleet_progress(quiet=chosen.quiet) as observer_of_hosts:
                runs = resume_on_fleet(request, self, observer_of_hosts)
            return self.show_all(runs)
        from orchestrator.commands.measure.against import judge_pairs
        from orchestrator.commands.measure.run import resume_run
        from orchestrator.commands.program.progress import show_progress

        with show_progress(quiet=chosen.quiet) as observer:
            result = resume_run(request, observer)
            if result.turns is not None:
                result = judge_pairs(result, result.turns, observer)
        return self.show(result)

    def _export(self, request: "PlanRequest") -> int:
        from orchestrator.commands.measure.prepare import prepare_matrix, print_prepared
        from orchestrator.commands.program.progress import show_progress
        from orchestrator.screen.streams import after_work

        request = replace(request, prepares=True, command=command_line())
        with show_progress(quiet=chosen.quiet) as observer:
            graphs = prepare_matrix(request, observer)
        with after_work():
            print_prepared(graphs, as_json=self.json)
        return int(any(graph.failure is not None for graph in graphs))

    def _clear_artifacts(self) -> int:
        """List what other versions left in the results folder, or remove it."""
        self.refuse_without("--prune", ("yes",))
        self.refuse_all_but("--prune", ("prepare_only", "yes", "results", "json"))
        from orchestrator.commands.database.retention import find_stale_files, remove_stale_files
        from orchestrator.commands.database.table import print_stale_files

        results = self.results
        files = remove_stale_files(results, note) if self.yes else find_stale_files(results)
        print_stale_files(files, removed=self.yes, as_json=self.json)
        return 0


@dataclass(frozen=True, kw_only=True)
class BenchCommand(BenchOptions, MatrixChanges, Measuring):
    """Measure without a file: the options are the matrix. Lists take commas or repeat."""

    def execute(self) -> int:
        _ = self.axes  # a wrong value is refused before much is imported
        self.require_sense()
        return self.measure(_request(self, self))


def _request(
    command: RunCommand | BenchCommand, matrix: Path | BenchOptions, profile: str | None = None
) -> "PlanRequest":
    from orchestrator.commands.measure.request import PlanRequest

    return PlanRequest(
        matrix,
        overrides=command.overrides(profile),
        select=tuple(command.select or ()),
        limit=command.limit,
        results=command.results,
        options=command.alone(),
    )
