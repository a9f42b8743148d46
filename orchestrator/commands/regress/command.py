"""`regress`: a run judged against a baseline, cell by cell, with an exit code for a CI."""

import getpass
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analysis.results.selection import selected_cells
from analysis.results.series import accepted_changes
from orchestrator.commands.options.common import command_line
from orchestrator.commands.options.verdict import RequireGrade
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run, complete_side
from orchestrator.commands.program.program import chosen
from orchestrator.commands.regress.judging import JUDGING, Judging
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.sheet_output import ChartFile
from orchestrator.store.health.decisions import KnownStep, accept_changes, withdraw_changes
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.store import Store
from orchestrator.system.options import Force, Json, Output, asked_format, format_choice
from orchestrator.system.text import escape_control_line, plural
from runner.contract.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionRequest

LONGEST_REASON = 500
_LONGEST_NAME = 64
_REASON_HINT = "say what changed, for example `--because 'torch 2.9 verifies its inputs'`"
_SHOWN = 3


@dataclass(frozen=True)
class Acceptance:
    """Cells of a run that were accepted, or taken back."""

    run_id: str
    cell_ids: tuple[str, ...]
    because: str | None
    """The reason; None where it was taken back."""
    updated: tuple[str, ...] = ()


def accept_step(selected: SelectionRequest, run: str, because: str) -> Acceptance:
    """Record that the selected results of a run begin a level that is known, with the reason."""
    because = _reason(because)
    with selected.open() as (store, selection):
        run_id = selected.run_of_times(run, store, selection)
        cell_ids = _cells(store, selected, run_id)
    if not cell_ids:
        raise NothingToDo(
            f"{run_id} has no result that fits, so no series has a step there",
            hint=f"`orchestrator status {run_id}` shows what it has; --all takes also what must"
            " not be quoted",
        )
    step = KnownStep(run_id, cell_ids, because, datetime.now(UTC), _user())
    return Acceptance(run_id, cell_ids, because, accept_changes(selected.database, step))


def withdraw_step(selected: SelectionRequest, run: str) -> Acceptance:
    """Take back what was accepted of a run, or of the selected cells of it."""
    database = selected.database
    with selected.open() as (store, _):
        accepted = {change.run_id for change in accepted_changes(store)}
        known = run in accepted
        run_id = run if known else resolve_run(run, store.runs(), database, accepted)
        chosen = _cells(store, selected, run_id) if selected.filters else None
    cell_ids = withdraw_changes(database, run_id, chosen)
    if not cell_ids:
        words = "of these cells " if chosen is not None else ""
        others = [name for name in sorted(accepted) if name != run_id]
        raise NothingToDo(
            f"nothing {words}was accepted of {run_id}",
            hint=f"`orchestrator query accepted_changes` lists what was of"
            f" {len(others):,} {plural(len(others), 'run')}"
            if others
            else "no change is accepted in this database",
        )
    return Acceptance(run_id, cell_ids, None)


def _cells(store: Store, selected: SelectionRequest, run_id: str) -> tuple[str, ...]:
    selection = replace(selected, run=None, every=True).selection_in(store)
    return selected_cells(store, replace(selection, run_id=run_id))


def _reason(text: str) -> str:
    reason = text.strip()
    if not reason:
        raise UsageError("--because is empty", hint=_REASON_HINT)
    if len(reason) > LONGEST_REASON:
        raise UsageError(
            f"--because has {len(reason):,} letters, and at most {LONGEST_REASON} are kept",
            hint="name the commit, or where more is written",
        )
    if escape_control_line(reason) != reason:
        raise UsageError(
            f"--because {escape_control_line(reason)!r}: is not one line of text", hint=_REASON_HINT
        )
    return reason


def _user() -> str | None:
    """The name under which the user works on this computer; None if nobody knows it."""
    with suppress(KeyError, OSError, ImportError):
        return escape_control_line(getpass.getuser())[:_LONGEST_NAME]
    return None


def acceptance_lines(acceptance: Acceptance) -> Iterator[str]:
    count = len(acceptance.cell_ids)
    cells = f"{count:,} {plural(count, 'cell')} of {acceptance.run_id}"
    named = ", ".join(acceptance.cell_ids[:_SHOWN])
    more = f" and {count - _SHOWN:,} more" if count > _SHOWN else ""
    if acceptance.because is None:
        yield f"taken back: {cells}: {named}{more}"
        yield "`regress` judges them by what they were before again."
        return
    yield f"accepted: {cells}: {named}{more}"
    yield f"because: {acceptance.because}"
    if acceptance.updated:
        replaced = len(acceptance.updated)
        yield f"{replaced:,} of them {'was' if replaced == 1 else 'were'} accepted before."
    yield (
        "`regress` judges results by the level that begins with this run; `orchestrator query"
        f" accepted_changes` lists such runs, `regress --withdraw {acceptance.run_id}` takes it"
        " back."
    )


_Format = Literal["table", "markdown", "json", "junit"]
_OF_JUDGEMENTS = (
    *("judged", "require_grade", "run", "output", "format_", "chart", "force", "wide"),
    *JUDGING,
)
"""Fields of a judgement, which known steps do not take."""


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """Options about steps: those that are known, and the search for what brought one."""

    accept: Annotated[
        str | None,
        typer.Option(
            metavar="RUN_ID|last",
            help="Record that a known step begins with this run's cells, those selected.",
            autocompletion=complete_run,
        ),
    ] = None
    because: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The reason for --accept, one line.")
    ] = None
    withdraw: Annotated[
        str | None,
        typer.Option(
            metavar="RUN_ID|last",
            help="Take back what --accept recorded of this run's cells.",
            autocompletion=complete_run,
        ),
    ] = None
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Propose which images or commits to measure again, to find the guilty one.",
        ),
    ] = False
    go: Annotated[
        bool,
        typer.Option("--go", help="With --bisect: measure them, in the images of the records."),
    ] = False

    def _require_agreement(self) -> None:
        if self.accept is not None and self.because is None:
            raise UsageError(
                f"--accept {self.accept} needs a reason",
                hint=f"`orchestrator regress --accept {self.accept} --because TEXT`",
            )
        if self.because is not None and self.accept is None:
            raise UsageError(
                "--because is the reason for --accept", hint="`--accept RUN_ID --because TEXT`"
            )
        if self.go and not self.bisect:
            raise UsageError(
                "--go is for --bisect", hint="`--bisect --go` measures what it proposes"
            )
        named = [name for name in ("accept", "withdraw", "bisect") if getattr(self, name)]
        if len(named) > 1:
            raise UsageError(
                f"--{named[0]}: cannot be combined with --{named[1]}", hint="leave one of them out"
            )


@dataclass(frozen=True, kw_only=True)
class _Output:
    """Options of the output of verdicts."""

    format_: Annotated[_Format | None, format_choice(_Format)] = None
    output: Output = None
    chart: ChartFile = None
    force: Force = False
    wide: Annotated[
        bool, typer.Option("--wide", help="Leave no column out, and no cell without a change.")
    ] = False
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class RegressCommand(Judging, _Steps, _Output, ResultSelection, Command):
    """Judge a run against a baseline, with an exit code for a CI."""

    judged: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run that is judged, named likewise.  [default: last]",
            show_default=False,
            autocompletion=complete_side,
        ),
    ] = None
    require_grade: RequireGrade = None

    def execute(self) -> int:
        self._require_agreement()
        form, selected = asked_format(self.format_, as_json=self.json), self.selected
        if self.accept is not None:
            self.refuse_beside("--accept", _OF_JUDGEMENTS)
            self._print(accept_step(selected, self.accept, self.because or ""))
            return 0
        if self.withdraw is not None:
            self.refuse_beside("--withdraw", _OF_JUDGEMENTS)
            self._print(withdraw_step(selected, self.withdraw))
            return 0
        from orchestrator.commands.regress.answer import judge_regressions
        from orchestrator.commands.regress.output import require_verdict_output, show_verdicts
        from orchestrator.screen.sheet_output import draw_chart

        database = selected.database
        require_verdict_output(form, self.output, self.chart, force=self.force, database=database)
        if self.judged is not None and self.run is not None:
            raise UsageError(
                f"--run {self.run}: `regress … {self.judged}` names a run already",
                hint="leave one of them out",
            )
        run = self.judged or self.run or "last"
        request = self.question("regress", selected, run, self.require_grade)
        if self.bisect:
            return self._search_causes(request, form)
        answer = judge_regressions(request)
        draw_chart(self.chart, answer.chart)
        show_verdicts(answer, form, self.output, wide=self.wide)
        return answer.exit_code

    def _print(self, acceptance: Acceptance) -> None:
        if self.json:
            print_json(asdict(acceptance))
            return
        for line in acceptance_lines(acceptance):
            print_line(line)

    def _search_causes(self, request: "RegressionRequest", form: str | None) -> int:
        from orchestrator.commands.program.progress import show_progress
        from orchestrator.commands.regress.bisect import (
            BisectRequest,
            bisect_regressions,
            propose_bisection,
        )
        from orchestrator.commands.regress.output import require_search_output, show_search

        require_search_output(form, self.output, self.chart)
        search = BisectRequest(request, request.selected.results_folder, command_line())
        if self.go:
            with show_progress(quiet=chosen.quiet) as observer:
                proposal = bisect_regressions(search, observer)
        else:
            proposal = propose_bisection(search)
        show_search(proposal, form, self.output, wide=self.wide)
        return proposal.exit_code
