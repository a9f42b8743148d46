"""Bisections as sheets: a row a version, then which one brought the change, or how to find out."""

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.compare.circumstances import DIRTY
from analysis.regress.bisection import Bisection, Version, pooled
from analysis.results.metrics import Metric
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number
from orchestrator.commands.regress.bisect import Proposal, ProposedCase, checkout_commands
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.system.text import format_duration, plural

_MOST_ROWS = 20
_MOST_NAMED = 3
_LETTERS = 12
_IMAGE = "sha256:"


def bisection_sheet(proposal: Proposal, form: str) -> Sheet:
    tables = [_table(proposal, proposed, form) for proposed in proposal.cases]
    answer = proposal.answer
    judgements = answer.judged.judgements
    notes = [f"{cell_id}: {reason}" for cell_id, reason in answer.refusals.items()][:_MOST_NAMED]
    if len(answer.refusals) > len(notes):
        notes.append(f"… {len(answer.refusals) - len(notes):,} more cells have no versions between")
    title = f"What made {judgements.run} slower than {judgements.base}"
    data = {
        "baseline": judgements.base,
        "run": judgements.run,
        "searches": [_document(proposed) for proposed in proposal.cases],
        "refusals": dict(answer.refusals),
    }
    return Sheet(title, tables, notes, data)


def _table(proposal: Proposal, proposed: ProposedCase, form: str) -> Table:
    case, metric = proposed.case, proposed.case.judgement.metric
    rows = [_row(case.bisection, index) for index in range(len(case.bisection.versions))]
    kept = _kept(case.bisection) if form == ON_SCREEN else list(range(len(rows)))
    hidden = len(rows) - len(kept)
    cut = f"… {hidden:,} more {plural(hidden, 'version')}: `--format json` has them"
    notes = [
        *([cut] if hidden else []),
        *_answer(proposed),
        *_beside(proposed),
        *_next(proposed, form, _commands(proposal, proposed)),
    ]
    shown = [rows[index] for index in kept]
    heading = f"{metric.heading}, {case.cell_id}: versions from good to bad"
    return Table(heading, _fields(case.bisection, metric), shown, notes)


def _fields(bisection: Bisection, metric: Metric) -> list[Field]:
    unit = metric.unit or metric.label
    kind = "image" if bisection.versions[0].name.startswith(_IMAGE) else "commit"
    measured = [
        Field("again", f"{unit} now", essential=True),
        Field("outcome", "now", essential=True),
    ]
    turns = bool(bisection.turns)
    return [
        Field("run", "first run", essential=True),
        Field("version", kind, essential=True, shown=_short),
        Field("results", "n"),
        Field("recorded", f"{unit} then", essential=True),
        Field("recorded_outcome", "then", essential=True),
        Field("turn", essential=turns, hidden=not turns),
        *(measured if bisection.again else []),
        Field("commit", hidden=True),
        Field("refused", hidden=True),
    ]


def _row(bisection: Bisection, index: int) -> dict[str, Any]:
    version = bisection.versions[index]
    again = bisection.again.get(version.name)
    return {
        "run": version.run_id,
        "version": version.name,
        "commit": version.commit,
        "results": len(version.results),
        "recorded": pooled(version.results).value,
        "recorded_outcome": bisection.recorded_outcomes[index],
        "turn": bisection.turns.get(index),
        "again": pooled(again).value if again else None,
        "outcome": bisection.outcome_again(index),
        "refused": bisection.refused.get(version.name),
    }


def _kept(bisection: Bisection) -> list[int]:
    """The versions that a terminal shows: those of the search, the first turns before others."""
    indices = list(range(len(bisection.versions)))
    if len(indices) <= _MOST_ROWS:
        return indices
    suspects, turns = {bisection.search.good, *bisection.search.suspects}, bisection.turns
    order = sorted(
        indices,
        key=lambda index: (
            index not in bisection.ends,
            not bisection.again.get(bisection.versions[index].name),
            turns.get(index, len(indices)),
            index not in suspects,
            index,
        ),
    )
    return sorted(order[:_MOST_ROWS])


def _answer(proposed: ProposedCase) -> Iterator[str]:
    case, bisection = proposed.case, proposed.case.bisection
    suspects = bisection.suspects
    if bisection.is_shown_again is False and bisection.next is None:
        unit = case.judgement.metric.unit
        ends = (pooled(bisection.again[bisection.versions[end].name]) for end in bisection.ends)
        values = " and ".join(f"{format_number(end.value)} {unit}".strip() for end in ends)
        yield (
            "Measured again, the oldest and the newest version do not differ as they did:"
            f" {values}. So no version brought it."
        )
        if case.judgement.changes:
            yield f"What else changed between both runs: {_few(case.judgement.changes)}."
        return
    if bisection.next is not None:
        yield _open(proposed)
    elif len(suspects) == 1:
        yield f"The change came with {_named(suspects[0])}."
    else:
        yield (
            f"The change came with one of {len(suspects):,} versions, from"
            f" {_named(suspects[0])} to {_named(suspects[-1])}: what lies between stayed unclear."
        )
        for name, reason in list(bisection.refused.items())[:_MOST_NAMED]:
            yield f"{_short(name)} could not be measured again: {reason}"
    if case.changes and len(suspects) == 1:
        yield f"What changed there: {_few(case.changes)}."


def _open(proposed: ProposedCase) -> str:
    bisection = proposed.case.bisection
    left = bisection.most_left
    measurements = f"{left:,} {plural(left, 'measurement')}"
    time = f"about {format_duration(round(proposed.estimate_s))}"
    if len(bisection.suspects) == 1:
        suspect = _named(bisection.suspects[0])
        return (
            f"By the recorded results it came with {suspect}; {measurements}, {time}, tell whether"
            " the software or the machine brought it."
        )
    return (
        f"It came with one of {len(bisection.suspects):,} versions: {measurements} at most, {time},"
        " find it, in the order of `turn`."
    )


def _beside(proposed: ProposedCase) -> Iterator[str]:
    own = proposed.case.cell_id
    beside = dict.fromkeys(one.cell_id for one in proposed.case.beside if one.cell_id != own)
    if beside:
        count = len(beside)
        yield (
            f"{count:,} more {plural(count, 'cell')} became worse, perhaps by the same version:"
            f" {_few(tuple(beside))}."
        )


def _next(proposed: ProposedCase, form: str, commands: Sequence[str]) -> Iterator[str]:
    """The next commands where none are printed below, and what they may not show."""
    if commands and form != ON_SCREEN:
        yield f"Next: {', then '.join(f'`{command}`' for command in commands)}."
    version = proposed.case.bisection.next
    if proposed.needs_checkouts and version and (version.commit or "").endswith(DIRTY):
        yield "That checkout had changes that no commit holds: it may not show what was measured."


def bisection_commands(proposal: Proposal) -> tuple[str, ...]:
    open_cases = [proposed for proposed in proposal.cases if proposed.case.bisection.next]
    return _commands(proposal, open_cases[0]) if open_cases else ()


def _commands(proposal: Proposal, proposed: ProposedCase) -> tuple[str, ...]:
    """Commands that measure what is next, and then ask the same question."""
    request, version = proposal.request, proposed.case.bisection.next
    command = request.command or "orchestrator regress … --bisect"
    if version is None:
        return ()
    if not proposed.needs_checkouts:
        return (f"{command} --go",)
    after = proposed.case.judgement.after
    run = f" --run {after.run_id}" if after and request.judged.run == "last" else ""
    return (*checkout_commands(version, request.database), f"{command}{run}")


def _named(version: Version) -> str:
    image = f", image {_short(version.name)}" if version.name.startswith(_IMAGE) else ""
    commit = f", commit {_short(version.commit)}" if version.commit else ""
    return f"run {version.run_id}{image}{commit}"


def _short(name: str) -> str:
    return name.removeprefix(_IMAGE)[:_LETTERS]


def _few(words: tuple[str, ...]) -> str:
    more = len(words) - _MOST_NAMED
    return "; ".join(words[:_MOST_NAMED]) + (f"; {more:,} more" if more > 0 else "")


def _document(proposed: ProposedCase) -> dict[str, Any]:
    case, bisection = proposed.case, proposed.case.bisection
    decided = bisection.next is None and bisection.is_shown_again
    return {
        "cell": case.cell_id,
        "metric": case.judgement.metric.name,
        "unit": case.judgement.metric.unit,
        "versions": [_row(bisection, index) for index in range(len(bisection.versions))],
        "shown_again": bisection.is_shown_again,
        "decided": bool(decided),
        "suspects": [version.run_id for version in bisection.suspects],
        "measurements_left": bisection.most_left,
        "estimate_s": proposed.estimate_s,
        "changes": list(case.changes),
        "beside": [judgement.cell_id for judgement in case.beside],
    }
