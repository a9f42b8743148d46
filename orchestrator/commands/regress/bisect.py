"""Bisection: versions between a good and a bad result are measured again in their images."""

import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from analysis.compare.circumstances import DIRTY
from analysis.compare.values import PART
from analysis.regress.bisection import Bisection, Version
from analysis.regress.launches import LaunchedResult, launched_results
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from orchestrator.backends.catalogue import LauncherName
from orchestrator.commands.regress.answer import RegressionRequest
from orchestrator.commands.regress.bisections import (
    BisectionAnswer,
    BisectionCase,
    explain_suspects,
    find_bisections,
)
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import LAUNCHERS, Note, Pinned, make_launcher
from orchestrator.planning.estimate import iteration_estimate, launch_estimate, timed_estimate
from orchestrator.running.execution import execute_run
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.replay import (
    Original,
    ReplayRequest,
    begin_replay,
    describe_choices,
    find_original,
    is_own,
    require_consent,
)
from orchestrator.running.run_file import BISECTIONS_FOLDER
from orchestrator.screen.words.reasons import error_text
from orchestrator.store.store import Store
from orchestrator.system.files import database_option
from orchestrator.system.text import format_duration
from runner.contract.errors import ImageError, UsageError
from runner.contract.job import Measure

REPLAY_LAUNCHES = 5
"""Launches of each measurement: with fewer, they alone tell nothing."""
LauncherMaker: TypeAlias = Callable[[LauncherName, Note, Collection[Pinned]], Launcher]


@dataclass(frozen=True)
class BisectRequest:
    """A judgement whose regressions shall be traced to a version."""

    judged: RegressionRequest
    results: Path
    command: str | None = None

    @property
    def database(self) -> Path:
        return self.judged.selected.database

    @property
    def folder(self) -> Path:
        """The folder of what bisections measure: results of older software are no series' own."""
        return self.results / BISECTIONS_FOLDER


@dataclass(frozen=True)
class ProposedCase:
    """A change, with what it takes to find its cause."""

    case: BisectionCase
    original: Original
    """The bad result, whose job is repeated in the image of each version."""
    replay_s: float

    @property
    def needs_checkouts(self) -> bool:
        """True if no image holds the software, so that commits must be checked out."""
        return not LAUNCHERS[self.original.launcher].needs_images

    @property
    def estimate_s(self) -> float:
        return self.case.bisection.most_left * self.replay_s


@dataclass(frozen=True)
class Proposal:
    """The changes of a judgement, and how their causes can be found."""

    request: BisectRequest
    answer: BisectionAnswer
    cases: tuple[ProposedCase, ...]

    @property
    def exit_code(self) -> int:
        """That of the verdicts: who searches has not mended anything."""
        return self.answer.judged.exit_code


def propose_bisection(request: BisectRequest) -> Proposal:
    answer = find_bisections(request.judged, request.results)
    return Proposal(request, answer, tuple(_proposed(case, request) for case in answer.cases))


def bisect_regressions(
    request: BisectRequest, observer: Observer, make: LauncherMaker = make_launcher
) -> Proposal:
    """Measure versions again in their images until two neighbours are left, for each change."""
    proposal = propose_bisection(request)
    for proposed in proposal.cases:
        version = proposed.case.bisection.next
        if proposed.needs_checkouts and version is not None:
            checkout, command = checkout_commands(version, request.database)
            raise ImageError(
                f"{proposed.case.cell_id}: was measured by processes of this machine, and no image"
                " holds their software",
                hint=f"check out each commit and measure it: `{checkout} && {command}`; `--bisect`"
                " without `--go` then tells the next one",
            )
    count = sum(proposed.case.bisection.most_left for proposed in proposal.cases)
    if count:
        total_s = sum(proposed.estimate_s for proposed in proposal.cases)
        observer.note(f"up to {count} measurements, about {format_duration(round(total_s))}")
    replays = [_Replays(request, proposed, observer, make) for proposed in proposal.cases]
    for replay in replays:
        replay.require_ends()
    cases = []
    for proposed, replay in zip(proposal.cases, replays, strict=True):
        case = replace(proposed.case, bisection=replay.search())
        cases.append(replace(proposed, case=explain_suspects(case, request.database)))
    return replace(proposal, cases=tuple(cases))


def checkout_commands(version: Version, database: Path) -> tuple[str, str]:
    """Commands that measure a version which no image holds."""
    commit = (version.commit or version.name).removesuffix(DIRTY)
    replay = ["orchestrator", "replay", version.first.result_id]
    return f"git checkout {commit}", shlex.join([*replay, *database_option(database)])


def _proposed(case: BisectionCase, request: BisectRequest) -> ProposedCase:
    after = case.judgement.after
    assert after is not None
    original = find_original(after.result_id, request.database)
    job = original.job.model_copy(
        update={"measure": _longer(original.job.measure), "purpose": "time", "trace": False}
    )
    iteration_s = iteration_estimate(original.cell, job.model)
    seconds = timed_estimate(original.cell, iteration_s, job.measure)
    replay_s = seconds + job.measure.rounds * launch_estimate(job.model)
    explained = explain_suspects(case, request.database)
    return ProposedCase(explained, replace(original, job=job), replay_s)


def _longer(measure: Measure) -> Measure:
    """The same with `REPLAY_LAUNCHES` at least, each as long as it was."""
    if measure.rounds >= REPLAY_LAUNCHES:
        return measure
    factor = REPLAY_LAUNCHES / measure.rounds
    return measure.model_copy(
        update={
            "rounds": REPLAY_LAUNCHES,
            "max_rounds": max(REPLAY_LAUNCHES, measure.max_rounds or 0),
            "iterations": round(measure.iterations * factor),
            "min_s": measure.min_s * factor,
            "max_s": measure.max_s * factor,
        }
    )


class _Replays:
    """Measurements of the versions of one change, in a folder and a database of their own."""

    def __init__(
        self,
        request: BisectRequest,
        proposed: ProposedCase,
        observer: Observer,
        make: LauncherMaker,
    ) -> None:
        self._request = request
        self._original = proposed.original
        self._metric: Metric = proposed.case.judgement.metric
        self._part = proposed.case.results[-1].facts[PART]
        self._bisection = proposed.case.bisection
        self._observer = observer
        self._make = make

    def require_ends(self) -> None:
        for index in self._bisection.ends:
            version = self._bisection.versions[index]
            if version.name not in self._bisection.again:
                self._prepared(version)

    def search(self) -> Bisection:
        bisection = self._bisection
        while (version := bisection.next) is not None:
            self._observer.note(
                f"measures {version.name[:19]}, first used by run {version.run_id}; up to"
                f" {bisection.most_left - 1} more"
            )
            bisection = self._measured(bisection, version)
        return bisection

    def _measured(self, bisection: Bisection, version: Version) -> Bisection:
        is_end = version.name in {bisection.versions[index].name for index in bisection.ends}
        try:
            original, launcher = self._prepared(version)
        except ImageError as error:
            if is_end:
                raise
            return bisection.refusing(version, error_text(error))
        result = self._replayed(original, launcher)
        if isinstance(result, LaunchedResult):
            return bisection.knowing(version, result)
        if is_end:
            raise UsageError(
                f"{version.name[:19]}: could not be measured again: {result}",
                hint=f"`orchestrator replay {original.measured.result_id}` shows why",
            )
        return bisection.refusing(version, result)

    def _prepared(self, version: Version) -> tuple[Original, Launcher]:
        """The bad result's job with the image of a version, and the launcher for it."""
        own = find_original(version.first.result_id, self._request.database)
        if not is_own(own.job, own.launcher, self._request.results):
            for line in describe_choices(own.job, own.launcher):
                self._observer.note(line)
            try:
                require_consent(own.job, own.launcher, requested=None, as_recorded=False)
            except UsageError as error:
                name = own.measured.result_id
                hint = f"`orchestrator replay {name}` measures it if you agree"
                raise UsageError(f"{name}: {error}", hint=hint) from error
        pinned = [own.pinned] if own.pinned else []
        launcher = self._make(own.launcher, self._observer.image_step, pinned)
        launcher.prepare(own.cell.backend)
        return replace(self._original, measured=own.measured), launcher

    def _replayed(self, original: Original, launcher: Launcher) -> LaunchedResult | str:
        folder = begin_replay(
            original, ReplayRequest("", self._request.folder, command=self._request.command)
        )
        outcome = execute_run(
            *(folder, launcher, self._observer, RunOptions()), earlier_images=True
        )
        for trouble in outcome.troubles:
            return error_text(trouble)
        selection = Selection(run_id=folder.run.run_id)
        with Store.open_readonly(folder.database) as store:
            results = launched_results(store, selection, self._metric)
            verdict = store.measurement(f"{folder.run.run_id}/{original.cell.id}")
        for result in results:
            if result.facts[PART] == self._part:
                return result
        if verdict is None:
            return "it has no verdict"
        return f"{verdict.status}, proof {verdict.proof}: {verdict.reason or 'not to be quoted'}"
