"""The jobs of a CI pipeline: the cells of each, its runner, its time; models in shares."""

import hashlib
import heapq
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from itertools import chain
from typing import NamedTuple, TypeVar

from orchestrator.backends.catalogue import CATALOGUE, LauncherName
from orchestrator.planning.groups import connected
from orchestrator.planning.plan import JobPlan, Plan, planned_jobs
from runner.contract.axes import Backend
from runner.contract.errors import UsageError, suggest

_SHARE = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})", re.ASCII)


@dataclass(frozen=True)
class Share:
    """One of several shares of all models; a model stays in its share whatever joins the matrix."""

    number: int
    """From 1."""
    shares: int

    def keeps(self, model: str) -> bool:
        digest = hashlib.sha256(model.encode()).digest()
        return int.from_bytes(digest[:8]) % self.shares == self.number - 1


EVERYTHING = Share(1, 1)


def share_of_models(text: str | None) -> Share:
    """The share in the words of `--share`, `NUMBER/SHARES`; all of it for None."""
    if text is None:
        return EVERYTHING
    parts = _SHARE.fullmatch(text)
    if parts is None or int(parts[1]) > int(parts[2]):
        raise UsageError(
            f"--share: {text!r} is not NUMBER/SHARES with a number from 1 to that of shares",
            hint="e.g. --share 3/7 on the third of seven nights",
        )
    return Share(int(parts[1]), int(parts[2]))


RUNNER_LABELS: Mapping[Backend, Sequence[str]] = {
    backend: spec.runner_labels for backend, spec in CATALOGUE.items()
}
"""Labels of the self-hosted runners where nobody says others."""
_JUDGE = "judge="


def parse_runner_labels(texts: Sequence[str]) -> Mapping[Backend, Sequence[str]]:
    """The labels of all backends, those of `BACKEND=LABEL,LABEL` in place of our own."""
    labels = dict(RUNNER_LABELS)
    known: dict[str, Backend] = {str(backend): backend for backend in CATALOGUE}
    for text in texts:
        name, equals, listed = text.partition("=")
        words = [word.strip() for word in listed.split(",")]
        if not equals or not all(words):
            raise UsageError(
                f"--runs-on: {text!r} is not BACKEND=LABEL,LABEL",
                hint="e.g. --runs-on cpu=self-hosted,bench1",
            )
        if name not in known:
            raise UsageError(f"--runs-on: backend {name!r} is unknown{suggest(name, known)}")
        labels[known[name]] = words
    return labels


def split_judge(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts about backends, and the labels of `judge=LABEL,LABEL`, where results are judged."""
    judging = [text for text in texts if text.startswith(_JUDGE)]
    labels = [word.strip() for text in judging for word in text.removeprefix(_JUDGE).split(",")]
    return [text for text in texts if text not in judging], [label for label in labels if label]


KeyT = TypeVar("KeyT")


def balanced(seconds: Sequence[float], groups: int) -> list[list[int]]:
    """The indices of the work in each group: the longest first, each to the shortest group.

    The longest group is at most 4/3 of the best possible one (Graham, "Bounds on multiprocessing
    timing anomalies", 1969). No group is empty if there is as much work as groups.
    """
    shares: list[list[int]] = [[] for _ in range(groups)]
    heap = [(0.0, 0, number) for number in range(groups)]
    for index in sorted(range(len(seconds)), key=lambda index: (-seconds[index], index)):
        total, count, number = heap[0]
        heapq.heapreplace(heap, (total + seconds[index], count + 1, number))
        shares[number].append(index)
    return [sorted(group) for group in shares]


def shared_groups(seconds: Mapping[KeyT, Sequence[float]], most: int) -> Mapping[KeyT, int]:
    """The number of groups of each key, at most `most` together and one for each work at most.

    Every key has one; each further group goes to the key whose groups are the longest.
    """
    if len(seconds) > most:
        raise ValueError(f"{len(seconds)} keys do not fit into {most} groups")
    groups = dict.fromkeys(seconds, 1)
    sums = {key: sum(work) for key, work in seconds.items()}
    for _ in range(most - len(groups)):
        growing = [key for key in groups if groups[key] < len(seconds[key])]
        if not growing:
            break
        groups[max(growing, key=lambda key: sums[key] / groups[key])] += 1
    return groups


class JobGlobs:
    """Finds short globs among the ids of a plan's cells."""

    def __init__(self, plan: Plan) -> None:
        # A plan that is itself a selection does not know all ids that a glob could take.
        self._ids = sorted(entry.cell.id for entry in plan.entries) if plan.whole else []

    def of(self, job: JobPlan) -> Sequence[str]:
        """One glob if it selects this job's cells and no other id of the matrix; else the ids."""
        own = sorted(cell.id for cell in job.cells)
        if own == [job.id]:
            return own
        mode = job.cells[0].mode
        stem = job.id.removesuffix(mode)
        neighbours = self._beginning_with(stem)
        for glob in (f"{stem}b*-{mode}", f"{stem}*{mode}*"):
            matches = re.compile(translate(glob)).match
            if [name for name in neighbours if matches(name)] == own:
                return [glob]
        return own

    def _beginning_with(self, stem: str) -> Sequence[str]:
        first = bisect_left(self._ids, stem)
        return self._ids[first : bisect_left(self._ids, stem + "\U0010ffff")]


MAX_JOBS = 256
"""GitHub runs no more jobs than this for one matrix."""
_PREPARATION_MINUTES = 30
"""Time limits leave this for the installation, images and exported graphs."""
_LIMIT_FACTOR = 3
"""Time limits are this many estimates: an estimate that is wrong should not end a job."""


class RunnerKind(NamedTuple):
    """The runners that are alike for a job."""

    labels: tuple[str, ...]
    launcher: LauncherName


@dataclass(frozen=True)
class PipelineJob:
    """Cells that one runner measures, one after the other."""

    name: str
    """Unique in its pipeline."""
    runner: RunnerKind
    backends: tuple[Backend, ...]
    select: tuple[str, ...]
    """The globs of `--select` that take its cells and no other."""
    cells: int
    estimate_s: float

    @property
    def extras(self) -> tuple[str, ...]:
        if self.runner.launcher != "process":
            return ()
        stacks = [CATALOGUE[backend].stack for backend in self.backends]
        return tuple(sorted({extra for stack in stacks if stack for extra in stack.extras}))

    @property
    def estimate_minutes(self) -> int:
        return math.ceil(self.estimate_s / 60)

    @property
    def timeout_minutes(self) -> int:
        """The time after which a pipeline may end it, minutes."""
        return _PREPARATION_MINUTES + _LIMIT_FACTOR * self.estimate_minutes


_Comparisons = Mapping[str, Sequence[JobPlan]]
"""The jobs on one kind of runner whose results are compared, by the first one's model."""


def pipeline_jobs(
    plan: Plan, labels: Mapping[Backend, Sequence[str]], most: int, share: Share = EVERYTHING
) -> list[PipelineJob]:
    """At most so many jobs, by name, whose cells are all that the plan would measure.

    All cells of a model that runners of one kind can measure are in the same job, since machines
    differ and these are compared; so is what is measured side by side. More than `most` such jobs
    are put together, so that those of one kind of runner take about equally long. Of models
    outside the share there is none.
    """
    if most > MAX_JOBS:
        raise UsageError(f"--max-jobs: {most} is more than {MAX_JOBS}, GitHub's most of one matrix")
    comparisons = _comparisons(plan, labels, share)
    seconds = {
        runner: [_seconds(jobs) for jobs in by_model.values()]
        for runner, by_model in comparisons.items()
    }
    if len(comparisons) > most:
        raise UsageError(
            f"the plan needs {len(comparisons)} kinds of runners, and {most} jobs are allowed",
            hint="allow more with --max-jobs, or name the same labels with --runs-on",
        )
    groups = shared_groups(seconds, most)
    globs = JobGlobs(plan)
    jobs = [
        job
        for runner, by_model in comparisons.items()
        for job in _jobs(runner, by_model, groups[runner], globs)
    ]
    return sorted(jobs, key=lambda job: job.name)


def _comparisons(
    plan: Plan, labels: Mapping[Backend, Sequence[str]], share: Share
) -> Mapping[RunnerKind, _Comparisons]:
    by_runner: dict[RunnerKind, list[JobPlan]] = {}
    for job in planned_jobs(plan):
        cell = job.cells[0]
        if share.keeps(cell.model):
            by_runner.setdefault(_runner_kind(cell.backend, labels), []).append(job)

    def compared_by(job: JobPlan) -> Iterable[object]:
        return job.model.name, plan.group_of.get(job.id, job.id)

    return {
        runner: {compared[0].model.name: compared for compared in connected(jobs, compared_by)}
        for runner, jobs in by_runner.items()
    }


def _runner_kind(backend: Backend, labels: Mapping[Backend, Sequence[str]]) -> RunnerKind:
    if not labels.get(backend):
        raise UsageError(
            f"no runner label is known for backend {backend}",
            hint=f"name some with --runs-on {backend}=LABEL,LABEL, or leave it out with "
            f"--select '!{backend}-*'",
        )
    launchers = CATALOGUE[backend].launchers
    return RunnerKind(tuple(labels[backend]), "docker" if "docker" in launchers else "process")


def _jobs(
    runner: RunnerKind, by_model: _Comparisons, groups: int, globs: JobGlobs
) -> Iterator[PipelineJob]:
    if groups == len(by_model):
        for model, jobs in by_model.items():
            yield _job(f"{_joined(jobs)}-{model}", runner, jobs, globs)
        return
    compared = list(by_model.values())
    backends = _joined(chain.from_iterable(compared))
    shares = balanced([_seconds(jobs) for jobs in compared], groups)
    for number, share in enumerate(shares, 1):
        jobs = [job for index in share for job in compared[index]]
        yield _job(f"{backends}-{number:03}-of-{groups:03}", runner, jobs, globs)


def _job(name: str, runner: RunnerKind, jobs: Sequence[JobPlan], globs: JobGlobs) -> PipelineJob:
    return PipelineJob(
        name=name,
        runner=runner,
        backends=_backends(jobs),
        select=tuple(glob for job in jobs for glob in globs.of(job)),
        cells=sum(len(job.cells) for job in jobs),
        estimate_s=_seconds(jobs),
    )


def _seconds(jobs: Iterable[JobPlan]) -> float:
    return sum(job.estimate_s for job in jobs)


def _backends(jobs: Iterable[JobPlan]) -> tuple[Backend, ...]:
    return tuple(sorted({job.cells[0].backend for job in jobs}))


def _joined(jobs: Iterable[JobPlan]) -> str:
    return "+".join(_backends(jobs))
