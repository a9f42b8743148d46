"""Commands to go on with after verdicts, in options that these commands have."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.regress.judgements import Judgement
from orchestrator.commands.regress.answer import RegressionAnswer, RegressionRequest
from orchestrator.commands.results.next_steps import measuring_words
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.system.files import database_option

_REASON = "TEXT"
"""The word in whose place a person writes the reason."""
_MOST_CELLS = 3
_MOST_LETTERS = 72
"""Cells that a command names one by one, and letters of an id that a line of it has room for."""
_USUAL = RegressionRequest(SelectionRequest(Path()), "")


def regression_commands(answer: RegressionAnswer) -> tuple[str, ...]:
    """The commands, without the program's name."""
    return tuple(shlex.join(words) for words in _commands(answer))


def status_command(answer: RegressionAnswer) -> str:
    """The command that tells what speaks against the numbers of the judged run."""
    where = database_option(answer.request.selected.database)
    return shlex.join(["status", _judged_run(answer) or "last", "--why", *where])


def _judged_run(answer: RegressionAnswer) -> str | None:
    """The id of the judged run; None where results of several are judged."""
    runs = {str(one.after.facts["run_id"]) for one in answer.judged if one.after}
    return next(iter(runs)) if len(runs) == 1 else None


def _commands(answer: RegressionAnswer) -> Iterator[Sequence[str]]:
    request, counts = answer.request, answer.judgements.counts
    where = database_option(request.selected.database)
    run = _judged_run(answer)
    if counts["regression"]:
        yield ["regress", *_question(request), "--bisect", *where]
    if counts["regression"] or counts["inconclusive"]:
        yield from _measuring(answer)
    if counts["regression"] and run:
        yield ["regress", "--accept", run, "--because", _REASON, *_cells(answer), *where]
    if counts["inconclusive"] and run and _doubtful(answer.judged):
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
    """The run again: beside its baseline, and with as many launches as would decide."""
    words = measuring_words(answer.command)
    if words is None or {"--interleave", "--resume"} & {*words}:
        return
    base = answer.judgements.base
    if {str(one.before.facts["run_id"]) for one in answer.judged if one.before} == {base}:
        against = [] if "--compare-to" in words else ["--compare-to", base]
        yield [*words, *against, "--interleave"]
    needed = [one.launches_needed for one in answer.judged if one.launches_needed is not None]
    if needed and not any("rounds" in word for word in words):
        yield [*words, "--set", f"measure.rounds={max(needed)}"]


def _doubtful(judgements: Sequence[Judgement]) -> bool:
    return any(one.after and one.after.grade == "D" for one in judgements)
