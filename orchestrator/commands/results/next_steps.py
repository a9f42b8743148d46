"""Commands to go on with after a run, in options that these commands have."""

import shlex
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.results.row import ResultRow
from analysis.results.series import agreeing_columns
from analysis.results.synonyms import axis_called
from orchestrator.commands.results.run_report import RunReport
from orchestrator.screen.words.doubts import remedy_of
from orchestrator.system.files import database_option
from runner.contract.axes import AXIS_NAMES, AxisName
from runner.contract.cell import ProfileName
from runner.contract.record.verdict import Doubt, RemedyCode

_PROFILES: tuple[ProfileName, ...] = ("quick", "standard", "audit")
"""From the shortest to the longest."""
_PROFILE = "--profile"
_MEASURING = ("run", "bench")
_FOR_READERS = ("--json", "--quiet", "-q", "--debug", "--wide", "--ids")
_COMPARED_BY: tuple[AxisName, ...] = (
    *("backend", "runtime", "precision", "batch_size", "sequence_length", "threads", "workers"),
    *("mode", "model"),
)
"""Properties by which a run's results are compared, the likeliest question first."""
_BATCHES = "1,2,4,8"
_NO_COMMAND: Collection[RemedyCode] = ("own_host", "larger_query", "accept_lateness")
"""Remedies that the same command cannot bring."""
_BY_PROFILE: Collection[RemedyCode] = ("profile", "calibrate_or_profile")


@dataclass(frozen=True)
class Remedy:
    """Help against the cause that lowers most grades."""

    sentence: str
    """In words; ends with a colon where a command follows."""
    command: str | None
    """The words behind the program's name."""


def find_remedy(report: RunReport) -> Remedy | None:
    """The help that the leading cause asks for; None where nothing was found."""
    cause = report.grades.cause
    if cause is None:
        return None
    doubt, words = cause.doubt, measuring_words(report.command)
    if words is None or doubt.remedy in _NO_COMMAND:
        return Remedy(f"{_capital(remedy_of(doubt))}.", None)
    longer = _longer_profile(report)
    if longer is not None:
        words = [*_without(words, _PROFILE), _PROFILE, longer]
    return Remedy(_sentence(doubt, is_longer=longer is not None), shlex.join(words))


def next_commands(report: RunReport) -> tuple[str, ...]:
    """Commands that fit what was measured; none if nothing was."""
    timed = report.timed
    if not timed:
        return ()
    where = database_option(report.database)
    topic = "generation" if {row.mode for row in timed} == {"generation"} else "performance"
    quotable = any(row.grade != "D" for row in timed)
    compare = _comparison(report)
    commands = [
        [*compare, *where] if compare else None,
        _more_batches(report) if quotable else None,
        ["report", "run", report.run_id, *where],
        ["status", report.run_id, "--why", *where] if any(row.doubts for row in timed) else None,
        ["export", topic, "--output", f"{topic}.csv", *where] if quotable else None,
    ]
    return tuple(shlex.join(command) for command in commands if command)


def _comparison(report: RunReport) -> list[str] | None:
    """The comparison that fits: by what differs between results, else with the run before it."""
    by = comparable_property(report.timed)
    if by is not None:
        return ["compare", "--by", by, "--run", report.run_id]
    if report.changes:
        return ["compare", report.changes[0].then.run_id, report.run_id]
    return None


def comparable_property(rows: Sequence[ResultRow]) -> str | None:
    """The first property in which two results that may be quoted differ alone; None without one."""
    sound = [row for row in rows if row.proof == "proven" and row.correct is not False]
    for by in _COMPARED_BY:
        agreeing = [name for name in agreeing_columns(by) if name in AXIS_NAMES]
        if by != "threads":
            agreeing.append("threads")
        groups: dict[tuple[object, ...], set[object]] = defaultdict(set)
        for row in sound:
            groups[tuple(getattr(row, name) for name in agreeing)].add(getattr(row, by))
        if any(len(values - {None}) > 1 for values in groups.values()):
            return by
    return None


def measuring_words(command: str | None) -> list[str] | None:
    """The command that planned the run, behind the program's name; None if it cannot be given."""
    try:
        typed = shlex.split(command or "")[1:]
    except ValueError:  # a stranger's run may say anything
        return None
    words = [word for word in _without(typed, "--sort") if word not in _FOR_READERS]
    return words if words and words[0] in _MEASURING else None


def _sentence(doubt: Doubt, *, is_longer: bool) -> str:
    if doubt.takes_time and is_longer:
        return "Measure longer:"
    if doubt.remedy in _BY_PROFILE:
        return f"{_capital(remedy_of(doubt))}:"
    return f"{_capital(remedy_of(doubt, with_options=True))}, then:"


def _longer_profile(report: RunReport) -> ProfileName | None:
    """The profile after the shortest that was used; None if it was the longest or unknown."""
    used = {row.profile for row in report.timed}
    shortest = next((profile for profile in _PROFILES if profile in used), None)
    longer = dict(pairwise(_PROFILES))
    return longer.get(shortest) if shortest else None


def _more_batches(report: RunReport) -> list[str] | None:
    """The same bench with more batches, where nobody chose one and they can be compared."""
    words = measuring_words(report.command)
    axis = axis_called("batch_size")
    batched = all(
        row.mode in ("inference", "training") and row.scenario == "single_stream"
        for row in report.timed
    )
    if not words or words[0] != "bench" or not batched or any("batch" in word for word in words):
        return None
    return [*words, axis.option, _BATCHES]


def _without(words: Sequence[str], option: str) -> list[str]:
    """The words without an option and its value."""
    kept: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if option not in (before, word) and not word.startswith(f"{option}="):
            kept.append(word)
    return kept


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
