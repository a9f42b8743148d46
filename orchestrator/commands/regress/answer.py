"""Regression verdicts: a run judged against a baseline, a CI's view of it, and what to do next."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from analysis.charts.chart import Chart
from analysis.regress.bisection import grouped_versions
from analysis.regress.cases import RegressionQuestion
from analysis.regress.judgements import Judgement, Judgements, judge
from analysis.results.metrics import metric_of
from analysis.results.selection import usual_metrics
from analysis.statistics.ratios import THRESHOLD
from orchestrator.commands.results.remedies import measuring_words
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import Sides, open_sides
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from runner.contract.errors import Inconclusive, NothingToDo
from runner.contract.record.verdict import Grade

REGRESSION_CODE = 7
_REASON = "TEXT"
"""The word in whose place a person writes the reason."""
_MOST_CELLS = 3
_MOST_LETTERS = 72
"""Cells that a command names one by one, and letters of an id that a line of it has room for."""


@dataclass(frozen=True)
class RegressionRequest:
    """A run that shall be judged, as options name it."""

    selected: SelectionRequest
    baseline: str
    """A word that `open_sides` takes: a run's id, `last~2`, a snapshot, a host, a path."""
    run: str = "last"
    """The same for the side that is judged; `last` is the newest run."""
    metrics: tuple[str, ...] = ()
    """None for the usual one of each scenario."""
    threshold: float = THRESHOLD
    per_host: bool = False
    by_name: bool = False
    """True if a model that has changed is compared with what it was: `run --compare-to`."""
    require_grade: Grade | None = None


_USUAL = RegressionRequest(SelectionRequest(Path()), "")


@dataclass(frozen=True)
class RegressionAnswer:
    """The verdicts on a run."""

    request: RegressionRequest
    judgements: Judgements
    command: str | None = None
    """The command line that planned the judged run; None if nobody knows."""
    of_one_database: bool = False
    """True if the results of both sides lie in the question's database."""

    @property
    def judged(self) -> tuple[Judgement, ...]:
        """Verdicts on results that can be compared."""
        return tuple(one for one in self.judgements.judgements if one.verdict != "not comparable")

    @cached_property
    def below_grade(self) -> tuple[tuple[str, Grade], ...]:
        """Judged cells of which a result has a worse grade than the one required, with that."""
        required = self.request.require_grade
        grades: dict[str, Grade] = {}
        for one in self.judged:
            known = [side.grade for side in (one.before, one.after) if side]
            grades[one.cell_id] = max([*known, grades.get(one.cell_id, "A")])
        return tuple(
            (cell, grade) for cell, grade in grades.items() if required and grade > required
        )

    @property
    def exit_code(self) -> int:
        """7 if anything became worse; 3 if nothing could be judged; 8 if any is open; else 0."""
        counts = self.judgements.counts
        if counts["regression"]:
            return REGRESSION_CODE
        if not self.judged:
            return NothingToDo.exit_code
        unclear = counts["inconclusive"] or counts["not comparable"] or self.below_grade
        return Inconclusive.exit_code if unclear else 0

    def can_be_bisected(self, one: Judgement) -> bool:
        """True for a regression of one series whose ends name two versions."""
        if one.verdict != "regression" or one.before is None or one.after is None:
            return False
        before, after = (end.key(per_host=self.request.per_host) for end in (one.before, one.after))
        return before == after and len(grouped_versions((one.before, one.after))) > 1

    def chart(self) -> Chart | None:
        """The drawing of the series that changed most; None if nothing could be compared."""
        from analysis.charts.regressions import regression_chart

        return regression_chart(self.judgements)


def judge_regressions(request: RegressionRequest) -> RegressionAnswer:
    words = (request.baseline, request.run)
    opened = open_sides(
        request.selected, *words, per_host=request.per_host, by_name=request.by_name
    )
    with opened as sides:
        return judge_sides(sides, request)


def judge_sides(sides: Sides, request: RegressionRequest) -> RegressionAnswer:
    source = sides.run.source
    question = RegressionQuestion(
        base=sides.base,
        run=sides.run,
        metrics=tuple(metric_of(name, source) for name in request.metrics)
        or usual_metrics(source, sides.run.selection),
        threshold=request.threshold,
        per_host=request.per_host,
        by_name=request.by_name or sides.base.source is not source,
        accepted=sides.accepted,
    )
    judgements = judge(question)
    if not judgements.judgements:
        base, run = judgements.base, judgements.run
        counts = (len(judgements.only_before), len(judgements.only_after))
        raise NothingToDo(
            f"{run} shares no cell with {base}: {counts[0]:,} only in {base}, {counts[1]:,} only in"
            f" {run}",
            hint="`orchestrator status RUN` shows what a run has; or leave out a filter",
        )
    runs = {one.after.run_id for one in judgements.judgements if one.after}
    command = None
    if len(runs) == 1 and isinstance(source, Store):
        command = source.command_of(runs.pop())
    own = isinstance(source, Store) and source.path == request.selected.database
    return RegressionAnswer(request, judgements, command, own and sides.base.source is source)


def status_command(answer: RegressionAnswer) -> str:
    """The command that tells what speaks against the numbers of the judged run."""
    where = database_option(answer.request.selected.database)
    return shlex.join(["status", _judged_run(answer) or "last", "--why", *where])


def regression_commands(answer: RegressionAnswer) -> tuple[str, ...]:
    """Commands to go on with, in options that these have, without the program's name."""
    return tuple(map(shlex.join, _commands(answer)))


def _judged_run(answer: RegressionAnswer) -> str | None:
    """The id of the judged run; None where results of several are judged."""
    runs = {one.after.run_id for one in answer.judged if one.after}
    return next(iter(runs)) if len(runs) == 1 else None


def _commands(answer: RegressionAnswer) -> Iterator[Sequence[str]]:
    request, counts = answer.request, answer.judgements.counts
    where = database_option(request.selected.database)
    run = _judged_run(answer)
    if answer.of_one_database and any(map(answer.can_be_bisected, answer.judged)):
        yield ["regress", *_question(request), "--bisect", *where]
    if counts["regression"] or counts["inconclusive"]:
        yield from _measuring(answer)
    if counts["regression"] and run:
        yield ["regress", "--accept", run, "--because", _REASON, *_cells(answer), *where]
    doubtful = any(one.after and one.after.grade == "D" for one in answer.judged)
    if counts["inconclusive"] and run and doubtful:
        yield ["status", run, "--why", *where]


def _question(request: RegressionRequest) -> Iterator[str]:
    """The sides and what is asked of them, as far as it is not the usual."""
    yield from ("--baseline", request.baseline)
    if request.run != "last":
        yield request.run
    if request.metrics != _USUAL.metrics:
        yield from ("--metric", ",".join(request.metrics))
    if request.threshold != _USUAL.threshold:
        yield from ("--threshold", f"{request.threshold:g}")
    if request.per_host:
        yield "--per-host"


def _cells(answer: RegressionAnswer) -> Sequence[str]:
    """Options that choose the cells that became worse, where others did not and these are few."""
    worse = {one.cell_id for one in answer.judged if one.verdict == "regression"}
    if len(worse) > _MOST_CELLS or worse == {one.cell_id for one in answer.judged}:
        return ()
    if max(map(len, worse)) > _MOST_LETTERS:
        return ()
    return [word for cell in sorted(worse) for word in ("--select", cell)]


def _measuring(answer: RegressionAnswer) -> Iterator[Sequence[str]]:
    words = measuring_words(answer.command)
    if words is None or {"--interleave", "--resume"} & {*words}:
        return
    base = answer.judgements.base
    ends = [end for one in answer.judged for end in (one.before, one.after) if end]
    has_images = all(end.facts.get("image_digest") for end in ends)
    is_run = {one.before.run_id for one in answer.judged if one.before} == {base}
    if has_images and is_run and answer.of_one_database:
        against = [] if "--compare-to" in words else ["--compare-to", base]
        yield [*words, *against, "--interleave"]
    needed = [one.launches_needed for one in answer.judged if one.launches_needed is not None]
    if needed and not any("rounds" in word for word in words):
        yield [*words, "--set", f"measure.rounds={max(needed)}"]
