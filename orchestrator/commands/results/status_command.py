"""`status`: content of the database, and stale results."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

import runner
from analysis.results.table import wrapping
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.machine import this_host
from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.options.table import TableOptions
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.program import chosen
from orchestrator.commands.results.unfinished import UnfinishedRun, unfinished_runs
from orchestrator.images.image import SOURCE_LABEL
from orchestrator.images.settings import read_site_hashes
from orchestrator.images.source import OUR_FOLDERS, SourceFolders, find_source
from orchestrator.screen.lines import own_name, print_command, print_data, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.store.query.runs import RunSummary
from orchestrator.store.query.state import Covered, Installation, Stale, Verdicts, size_on_disk
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from orchestrator.system.options import Json
from orchestrator.system.text import format_size, plural
from runner.contract.axes import AXES


@dataclass(frozen=True)
class StaleResults(Stale):
    """Stale results, and the command that measures them anew."""

    command: str


@dataclass(frozen=True)
class StatusReport:
    """All that `orchestrator status` reports."""

    database: Path
    results: Path
    """The folder in which its record files were looked for."""
    scratch: bool
    database_bytes: int
    """The database file with its log."""
    parquet_files: int
    """Record files of the database's runs in the results folder, unfinished ones left out."""
    parquet_bytes: int
    rows: Mapping[str, int]
    verdicts: tuple[Verdicts, ...]
    covered: tuple[Covered, ...]
    runs: tuple[RunSummary, ...]
    contradicted: int
    """The latest results that the one before them in their series contradicts."""
    stale: tuple[StaleResults, ...]
    unfinished: tuple[UnfinishedRun, ...] = ()
    """The newest runs of the results folder with cells left."""


def report_status(results: Path, database: Path, installation: Installation) -> StatusReport:
    with Store.open_readonly(database) as store:
        runs = tuple(store.runs())
        size = size_on_disk(database, results, {run.run_id for run in runs})
        coverage = store.coverage()
        doubtful = store.doubtful(installation)
        stale = sorted(doubtful.stale, key=lambda group: -group.cells)
        return StatusReport(
            database=database,
            results=results,
            scratch=store.scratch,
            **vars(size),
            **vars(coverage),
            runs=runs,
            unfinished=tuple(islice(unfinished_runs(results, runs), _UNFINISHED)),
            contradicted=doubtful.contradicted,
            stale=tuple(
                StaleResults(**vars(group), command=remeasure_command(group)) for group in stale
            ),
        )


def remeasure_command(group: Stale) -> str:
    """The command that measures these cells anew: the one typed then, or the same by options."""
    if group.planned_by is None:
        options: Mapping[str, str] = {axis.name: axis.option for axis in AXES}
        where = ["--backend", group.backend, "--runtime", group.runtime]
        given = [*where, "--launcher", group.launcher]
        for axis, values in group.axes.items():
            texts = (f"{one:g}" if isinstance(one, float) else str(one) for one in values)
            given += [options[axis], ",".join(texts)]
        return shlex.join(["orchestrator", "bench", *given])
    words = shlex.split(group.planned_by)
    commands = [word for word in words[1:] if not word.startswith("-")]
    narrowed = any(word.startswith("--select") for word in words)
    if commands[:1] != ["run"] or narrowed:
        return group.planned_by
    return f"{group.planned_by} --select {shlex.quote(f'{group.backend}-*')}"


def current_installation(folders: SourceFolders = OUR_FOLDERS) -> Installation:
    """This machine with this AccelMatrix; images are compared with the files it has."""
    site_hashes = read_site_hashes()
    images: Mapping[str, str | None] = {name: spec.image for name, spec in CATALOGUE.items()}

    @cache
    def source(image: str) -> str | None:
        files = find_source(image, folders, site_hashes)
        return files.fingerprint() if files else None

    def is_outdated(backend: str, labels: Mapping[str, str]) -> bool:
        image, built_of = images.get(backend), labels.get(SOURCE_LABEL)
        return bool(image and built_of and source(image) not in {None, built_of})

    return Installation(this_host(), runner.__version__, is_outdated)


_SHOWN = 10
_UNFINISHED = 3
_MODELS = 50


def print_status(status: StatusReport, *, as_json: bool) -> None:
    if as_json:
        print_data(json.dumps(asdict(status), indent=2, default=str))
        return
    kind = "scratch database" if status.scratch else "database"
    print_line(f"{kind}: {status.database}, {format_size(status.database_bytes)}")
    files = f"{status.parquet_files:,} {plural(status.parquet_files, 'file')} of its runs"
    print_line(f"Parquet: {files} in {status.results}, {format_size(status.parquet_bytes)}")
    counts = (f"{count:,} in {table}" for table, count in status.rows.items() if count)
    print_line(f"rows: {', '.join(counts) or 'none'}")
    print_line()
    _print_verdicts(status.verdicts)
    print_line()
    _print_runs(status.runs)
    print_line()
    for run in status.unfinished:
        print_unfinished(run)
        print_line()
    if status.covered:
        _print_covered(status.covered)
        print_line()
    elif imported := sum(map(_total, status.verdicts)):
        others = "ask `imported_results` for theirs"
        print_line(f"models: all {imported:,} results are imported; {others}")
        print_line()
    if count := status.contradicted:
        print_line(
            f"contradictions: {count:,} of the latest results of their series: the one"
            " before, with the same software, differs by more than both grades promise"
        )
        option = database_option(status.database)
        print_command(shlex.join([own_name(), "query", "contradictions", *option]))
        print_line()
    _print_stale(status.stale)


def _print_verdicts(verdicts: Sequence[Verdicts]) -> None:
    known = {status for source in verdicts for status in source.counts}
    statuses = sorted(known, key=lambda status: (status != "ok", status))
    lines = [
        (
            f"{row.source} (simulated)" if row.simulated else row.source,
            _total(row),
            *(row.counts.get(status) for status in statuses),
        )
        for row in verdicts
    ]
    print_lines((*wrapping("source"), "results", *statuses), lines)


def _total(verdicts: Verdicts) -> int:
    return sum(verdicts.counts.values())


def _print_runs(runs: Sequence[RunSummary]) -> None:
    lines = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.planned,
            run.hostname,
            ", ".join(f"{count:,} {status}" for status, count in run.counts.items()),
        )
        for run in sorted(runs, key=lambda run: not run.is_ours)[:_SHOWN]
    ]
    print_lines(("run", "started", "planned", "host", *wrapping("verdicts")), lines)
    _print_more(len(runs), "runs", _SHOWN)


def print_unfinished(run: UnfinishedRun) -> None:
    print_line(run.sentence)
    if not run.measuring:
        print_command(run.command)


def _print_covered(covered: Sequence[Covered]) -> None:
    best: dict[str, dict[str, str]] = {}
    for row in covered:
        best.setdefault(row.model, {})[row.backend] = row.best
    backends = sorted({row.backend for row in covered})
    lines = [(model, *map(verdicts.get, backends)) for model, verdicts in best.items()]
    print_lines((*wrapping("model"), *backends), lines[:_MODELS])
    _print_more(len(lines), "models", _MODELS)


def _print_stale(groups: Sequence[StaleResults]) -> None:
    if not groups:
        print_line("stale: nothing, as far as can be told without measuring")
        return
    print_line(f"stale: {sum(group.cells for group in groups):,} cells")
    for group in groups[:_SHOWN]:
        many = f"{group.cells:,} cells such as " if group.cells > 1 else ""
        where = f"{group.runtime} on {group.hostname}, launcher {group.launcher}"
        changes = "; ".join(group.changes)
        print_line(f"{many}{group.example} ({where}; {group.since:%Y-%m-%d}): {changes}")
        print_command(group.command)
    _print_more(len(groups), "stale groups", _SHOWN)


def _print_more(count: int, noun: str, shown: int) -> None:
    if count > shown:
        print_line(f"… and {count - shown:,} more {noun}; --json has them all")


@dataclass(frozen=True, kw_only=True)
class StatusCommand(DatabaseChoice, TableOptions, Command):
    """Show what the database holds, or the verdicts of one run."""

    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|GROUP_ID|last",
            help="One run, or the runs of a group.  [default: the database]",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None
    findings: Annotated[
        bool, typer.Option("--why", help="Name what speaks most against the run's numbers.")
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --why: everything that speaks against them.")
    ] = False
    json: Json = False

    def execute(self) -> None:
        self.refuse_without("--why", ("verbose",))
        if self.run is None and not self.findings:
            status = report_status(self.results, self.database_file, current_installation())
            print_status(status, as_json=self.json)
            return
        from orchestrator.commands.results.run_report import report_runs
        from orchestrator.commands.results.run_words import print_findings, print_runs

        with Store.open_readonly(self.database_file) as store:
            runs = store.runs()
        if self.run and not self.json and self.run not in {run.run_id for run in runs}:
            for run in unfinished_runs(self.results, runs, only={self.run}):
                print_unfinished(run)
                return
        report = report_runs(self.run or "last", self.database_file)
        if self.findings:
            print_findings(report, as_json=self.json, verbose=self.verbose)
        else:
            print_runs(report, as_json=self.json, table=self, quiet=chosen.quiet)
            shown = set() if self.json else {run.run_id for run in report.runs}
            for run in unfinished_runs(self.results, runs, only=shown):
                print_unfinished(run)
