"""Commands to go on with after verdicts, in options that these commands have."""

import shlex
from collections.abc import Iterator, Sequence

from analysis.regressions.judgements import Judgement
from orchestrator.app.measure.next_steps import database_option, measuring_words
from orchestrator.app.results.regressing import RegressionAnswer

_REASON = "TEXT"
"""The word in whose place a person writes the reason."""


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
    sides = ["--baseline", request.baseline, *([request.run] if request.run != "last" else [])]
    if counts["regression"]:
        yield ["regress", *sides, "--bisect", *where]
    if counts["regression"] or counts["inconclusive"]:
        yield from _measuring(answer)
    if counts["regression"] and run:
        yield ["regress", "--accept", run, "--because", _REASON, *where]
    if counts["inconclusive"] and run and _doubtful(answer.judged):
        yield ["status", run, "--why", *where]


def _measuring(answer: RegressionAnswer) -> Iterator[Sequence[str]]:
    """The run again: beside its baseline, and with as many launches as would decide."""
    words = measuring_words(answer.command)
    if words is None:
        return
    baselines = {str(one.before.facts["run_id"]) for one in answer.judged if one.before}
    if words[0] == "run" and len(baselines) == 1 and not {"--compare-to", "--resume"} & {*words}:
        yield [*words, "--compare-to", next(iter(baselines)), "--interleave"]
    needed = [one.launches_needed for one in answer.judged if one.launches_needed is not None]
    if needed and not any("rounds" in word for word in words):
        yield [*words, "--set", f"measure.rounds={max(needed)}"]


def _doubtful(judgements: Sequence[Judgement]) -> bool:
    return any(one.after and one.after.grade == "D" for one in judgements)
