"""Bisections: what a judgement found to be slower, and the versions between good and bad."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from analysis.compare.circumstances import circumstance_changes, circumstances_of
from analysis.regress.bisection import Bisection, grouped_versions, measured_again, results_by_cell
from analysis.regress.judgements import Judgement
from analysis.regress.launches import LaunchedResult
from analysis.regress.steps import LevelStep
from orchestrator.commands.regress.answer import (
    RegressionAnswer,
    RegressionRequest,
    judge_regressions,
)
from orchestrator.running.run_file import BISECTIONS_FOLDER
from orchestrator.screen.words.reasons import error_hint, error_text
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME
from runner.contract.errors import NothingToDo


@dataclass(frozen=True)
class BisectionCase:
    """One change of a series, and the versions of the software among which its cause may be."""

    judgement: Judgement
    bisection: Bisection
    results: tuple[LaunchedResult, ...]
    """The results from the last good one to the first bad one, in the order of time."""
    beside: tuple[Judgement, ...] = ()
    changes: tuple[str, ...] = ()
    """Other differences that are known between the versions at which the search stands."""

    @property
    def cell_id(self) -> str:
        return self.judgement.cell_id


@dataclass(frozen=True)
class BisectionAnswer:
    """The changes that can be searched for, and how far the search is."""

    judged: RegressionAnswer
    cases: tuple[BisectionCase, ...]
    refusals: Mapping[str, str]


def find_bisections(request: RegressionRequest, results: Path) -> BisectionAnswer:
    """The regressions, else the newest steps that nobody accepted, with the versions between."""
    judged = judge_regressions(request)
    refusals: dict[str, NothingToDo] = {}
    cases: list[BisectionCase] = []
    with ExitStack() as closing:
        store, selection = closing.enter_context(request.selected.open())
        earlier = results / BISECTIONS_FOLDER / DATABASE_NAME
        stores = [store]
        if earlier.exists():
            stores.append(closing.enter_context(Store.open_readonly(earlier)))
        worse = _worse(judged.judgements.judgements)
        for metric in dict.fromkeys(judgement.metric for judgement in worse):
            alike = [judgement for judgement in worse if judgement.metric == metric]
            cells = {judgement.cell_id for judgement in alike}
            known = [results_by_cell(one, selection, metric, cells) for one in stores]
            for judgement in alike:
                own, *others = (by_cell.get(judgement.cell_id, []) for by_cell in known)
                every = [*own, *chain(*others)]
                try:
                    cases.append(_case(judgement, own, every, per_host=request.per_host))
                except NothingToDo as nothing:
                    refusals.setdefault(judgement.cell_id, nothing)
    if not cases:
        raise _nothing(judged, refusals)
    reasons = {cell_id: str(nothing) for cell_id, nothing in refusals.items()}
    return BisectionAnswer(judged, tuple(_together(cases)), reasons)


def explain_suspects(case: BisectionCase, database: Path) -> BisectionCase:
    """The case with what differs between the last good version and the first suspect."""
    bisection = case.bisection
    ends = (bisection.before_suspects.results[-1], bisection.suspects[0].first)
    with Store.open_readonly(database) as store:
        known = circumstances_of(store, [end.result_id for end in ends])
    then, now = (known.get(end.result_id) for end in ends)
    return replace(case, changes=circumstance_changes(then, now)) if then and now else case


def _worse(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The regressions; without any, judgements of series with a step for the worse."""
    measured = [one for one in judgements if one.before and one.after]
    regressions = [one for one in measured if one.verdict == "regression"]
    return regressions or [one for one in measured if _last_step(one) is not None]


def _last_step(judgement: Judgement) -> LevelStep | None:
    """The newest step for the worse that nobody accepted."""
    more_is_better = judgement.metric.more_is_better
    steps = [step for step in judgement.steps if (step.ratio.value < 1) == more_is_better]
    return steps[-1] if steps and steps[-1].accepted is None else None


def _case(
    judgement: Judgement,
    own: Sequence[LaunchedResult],
    every: Sequence[LaunchedResult],
    *,
    per_host: bool,
) -> BisectionCase:
    """The versions between the ends of a change; `every` has those of earlier bisections too."""
    after = judgement.after
    assert after is not None
    key = after.key(per_host=per_host)
    ids = {one.result_id for one in own}
    between = _between(judgement, [one for one in own if one.key(per_host=per_host) == key], ids)
    versions = grouped_versions(between)
    names_both_ends = (
        versions and versions[0].first is between[0] and versions[-1].results[-1] is between[-1]
    )
    if not names_both_ends:
        raise NothingToDo(
            "its results name neither an image nor a commit",
            hint="containers leave an image, and a git checkout leaves its commit",
        )
    if len(versions) == 1:
        kind = "image" if versions[0].name.startswith("sha256:") else "commit"
        changes = "; ".join(judgement.changes or ())
        known = f"; what changed: {changes}" if changes else ""
        raise NothingToDo(
            f"both ends have the same {kind}, so no version brought it{known}",
            hint="the machine is left; an older `--baseline` has more versions between",
        )
    again = measured_again(every, versions, after)
    more_is_better = judgement.metric.more_is_better
    bisection = Bisection(versions, more_is_better, judgement.levels.results, again)
    return BisectionCase(judgement, bisection, tuple(between))


def _between(
    judgement: Judgement, series: Sequence[LaunchedResult], known: Collection[str]
) -> list[LaunchedResult]:
    indices = {result.result_id: index for index, result in enumerate(series)}
    step = _last_step(judgement) if judgement.verdict != "regression" else None
    if step is not None:
        index = indices[step.first.result_id]
        return list(series[max(0, index - 2) : index + 2])
    ids = [end.result_id for end in (judgement.before, judgement.after) if end]
    absent = [name for name in ids if name not in indices]
    if absent and absent[0] in known:
        raise NothingToDo(f"{absent[0]} is of another series, so no version lies between them")
    if absent:
        raise NothingToDo(
            f"{absent[0]} is not in this database",
            hint="`orchestrator merge RESULTS` brings it here",
        )
    return list(series[indices[ids[0]] : indices[ids[1]] + 1])


def _together(cases: Sequence[BisectionCase]) -> Iterator[BisectionCase]:
    """One case for all whose cause may be the same version: the one that shows most clearly."""

    def clearness(case: BisectionCase) -> float:
        """The size of the change by its error."""
        difference = case.judgement.difference
        return abs(difference.shift) / difference.spread.error if difference else 0.0

    left = sorted(cases, key=clearness, reverse=True)
    while left:
        clearest, *others = left
        suspects = _suspects(clearest)
        beside = [case for case in others if suspects <= _suspects(case)]
        left = [case for case in others if case not in beside]
        yield replace(clearest, beside=tuple(case.judgement for case in beside))


def _suspects(case: BisectionCase) -> set[str]:
    return {version.name for version in case.bisection.suspects}


def _nothing(judged: RegressionAnswer, refusals: Mapping[str, NothingToDo]) -> NothingToDo:
    if not refusals:
        judgements = judged.judgements
        counts = (f"{count:,} {verdict}" for verdict, count in judgements.counts.items() if count)
        return NothingToDo(
            f"nothing became worse from {judgements.base} to {judgements.run}: {', '.join(counts)}",
            hint="`--bisect` searches for the cause of a regression, or of a step of a series",
        )
    (cell_id, reason), *others = refusals.items()
    more = f", and {len(others):,} more cells" if others else ""
    return NothingToDo(f"{cell_id}: {error_text(reason)}{more}", hint=error_hint(reason))
