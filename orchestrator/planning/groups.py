"""Groups: jobs that a plan measures side by side, and why others are measured alone."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, inf
from typing import TypeVar

from pydantic import PositiveInt

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.planning.memory import memory_need_bytes
from orchestrator.system.text import plural
from runner.contract.axes import IN_CHILDREN, Backend
from runner.contract.cell import Cell, FileName, Frozen, QuestionKey
from runner.contract.job import Limits, Measure
from runner.contract.models import ModelSpec

FEWEST_ROUNDS = 3
"""Fewest rounds of a comparison: with fewer no interval of a ratio says anything."""
LOOKS = (6, 12, 24)
"""Numbers of rounds after which a longer comparison may end."""
MOST_CANDIDATES = 8
"""Jobs of a group: with more of them neighbouring bursts are seconds apart."""
_MEMORY_FACTOR = 2
"""Memory that a process uses, by the least that it can do with, which is what a plan knows."""
_NAMED = 3
"""Jobs that a note names."""
_DIFFERS = "no other job has the same measure and limits"
_T = TypeVar("_T")
_JobCells = Sequence[Cell]


class JobGroup(Frozen):
    """Jobs of a plan that are measured side by side."""

    name: FileName
    """A name that no other group of the plan has."""
    jobs: tuple[str, ...]
    measure: Measure
    looks: tuple[PositiveInt, ...]
    """Numbers of rounds after which the comparison may end."""
    together: bool = True
    """True if they are loaded together and take bursts in turns; else launches take turns."""
    versions: PositiveInt = 1
    """The versions of each job: two in an interleaved run."""


@dataclass(frozen=True)
class Grouping:
    """The groups of a plan, and the jobs that are measured alone though others are like them."""

    groups: tuple[JobGroup, ...]
    alone: Mapping[str, Sequence[str]]
    """Ids of jobs by the reason."""

    def notes(self) -> Iterator[str]:
        if self.groups:
            jobs = [job for group in self.groups for job in group.jobs]
            where = f"{rounds_of(self.groups)} rounds"
            if len(self.groups) > 1:
                where = f"{len(self.groups):,} groups, {where} each"
            yield f"{len(jobs):,} jobs are measured side by side in {where}: {names_of(jobs)}"
        if apart := [job for group in self.groups if not group.together for job in group.jobs]:
            yield (
                f"{len(apart):,} of them take turns launch by launch, since they do not fit into"
                f" memory together: {names_of(apart)}"
            )
        for cause, left in self.alone.items():
            are = "jobs are" if len(left) > 1 else "job is"
            yield f"{len(left):,} {are} measured alone, since {cause}: {names_of(left)}"


def rounds_of(groups: Iterable[JobGroup]) -> str:
    """The numbers of rounds that comparisons take, e.g. `3 to 12`."""
    looks = {look for group in groups for look in group.looks}
    return str(min(looks)) if len(looks) == 1 else f"{min(looks)} to {max(looks)}"


def names_of(jobs: Sequence[str]) -> str:
    """The first of these ids, and how many more there are."""
    named, left = ", ".join(jobs[:_NAMED]), len(jobs) - _NAMED
    return f"{named} and {left:,} more {plural(left, 'job')}" if left > 0 else named


def why_alone(cells: Iterable[Cell]) -> str | None:
    """The reason why a job cannot take bursts and wait beside others; None if it can."""
    for cell in cells:
        if cell.mode == "startup":
            return "a cold start needs the machine for itself"
        if cell.scenario == "offline":
            return "an offline search chooses its batches itself"
        if cell.scenario == "server":
            return "requests to a server arrive at their own times"
        if cell.runtime in IN_CHILDREN:
            return "each launch starts a browser"
        if cell.runtime == "torch_compile":
            return "torch_compile compiles anew at each launch"
    return None


def fits(
    jobs: Iterable[_JobCells],
    models: Mapping[str, ModelSpec],
    limits: Limits,
    memory_bytes: int | None,
) -> bool:
    """True if the models of all jobs fit into the host's memory together, or nobody knows."""
    needs = (
        _MEMORY_FACTOR * max(memory_need_bytes(cell, models[cell.model]) for cell in cells)
        for cells in jobs
        if CATALOGUE[cells[0].backend].host_memory
    )
    return sum(min(need, limits.memory_bytes or inf) for need in needs) <= (memory_bytes or inf)


def looks_of(measure: Measure) -> tuple[int, ...]:
    """The numbers of rounds after which a comparison of such a measure may end."""
    fewest = max(FEWEST_ROUNDS, measure.rounds)
    most = max(fewest, measure.most_rounds)
    return tuple(sorted({fewest, most, *(look for look in LOOKS if fewest < look < most)}))


def find_groups(
    parts: Iterable[tuple[Iterable[Cell], int | None]],
    models: Mapping[str, ModelSpec],
    measures: Mapping[Backend, Measure],
    limits: Mapping[Backend, Limits],
) -> Grouping:
    """The groups among the jobs of cells that one host measures, by its bytes of memory.

    Jobs belong together that occupy one device and have a question in common; unless their measure
    says so, only those of one model.
    """
    alone: dict[str, list[str]] = defaultdict(list)
    members: list[tuple[Sequence[_JobCells], int | None]] = []
    for cells, memory_bytes in parts:
        for rivals in _rivals(cells, measures):
            alike: dict[tuple[Measure, Limits], list[_JobCells]] = defaultdict(list)
            for job in _able(rivals, alone):
                alike[measures[job[0].backend], limits[job[0].backend]].append(job)
            parts_of = (connected(jobs, _questions) for jobs in alike.values())
            for compared in chain.from_iterable(parts_of):
                if len(compared) > 1:
                    members += [(group, memory_bytes) for group in _parted(compared)]
                elif len(alike) > 1:
                    alone[_DIFFERS].append(compared[0][0].job_id)

    def group(number: int, jobs: Sequence[_JobCells], memory_bytes: int | None) -> JobGroup:
        backend = jobs[0][0].backend
        looks = looks_of(measures[backend])
        rounds = {"rounds": looks[0], "max_rounds": looks[-1]}
        return JobGroup(
            name=f"g{number}",
            jobs=tuple(cells[0].job_id for cells in jobs),
            measure=measures[backend].model_copy(update=rounds),  # all rounds share its time
            looks=looks,
            together=fits(jobs, models, limits[backend], memory_bytes),
        )

    return Grouping(tuple(group(number, *one) for number, one in enumerate(members, 1)), alone)


def group_of_versions(
    cells: Sequence[Cell], number: int, measure: Measure, *, together: bool
) -> JobGroup:
    """The group of one job that is measured in two versions; a launch keeps its share of time."""
    fewest = max(LOOKS[0], measure.rounds)
    looks = (fewest, *(look for look in LOOKS if look > fewest))
    return JobGroup(
        name=f"g{number}",
        jobs=(cells[0].job_id,),
        measure=measure.of_rounds(fewest).model_copy(update={"max_rounds": looks[-1]}),
        looks=looks,
        together=together,
        versions=2,
    )


def connected(items: Iterable[_T], keys: Callable[[_T], Iterable[Hashable]]) -> list[list[_T]]:
    """The items in parts, in order: those are together that share a key, also by way of others."""
    leader: dict[Hashable, Hashable] = {}

    def find(key: Hashable) -> Hashable:
        while leader.setdefault(key, key) != key:
            leader[key] = key = leader[leader[key]]
        return key

    firsts: list[tuple[_T, Hashable]] = []
    for item in items:
        first, *others = keys(item)
        for other in others:
            leader[find(other)] = find(first)
        firsts.append((item, first))
    parts: dict[Hashable, list[_T]] = {}
    for item, first in firsts:
        parts.setdefault(find(first), []).append(item)
    return [*parts.values()]


def _rivals(
    cells: Iterable[Cell], measures: Mapping[Backend, Measure]
) -> Iterator[Sequence[_JobCells]]:
    """The jobs that answer one question on one device, where there are several."""
    jobs: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if measures[cell.backend].side_by_side is not False:
            jobs[cell.job_id].append(cell)
    alike: dict[tuple[str | None, str], list[_JobCells]] = defaultdict(list)
    for job in jobs.values():
        model = None if measures[job[0].backend].side_by_side else job[0].model
        alike[model, _device(job[0])].append(job)
    for several in alike.values():
        if len(several) > 1:
            yield from (part for part in connected(several, _questions) if len(part) > 1)


def _able(jobs: Iterable[_JobCells], alone: Mapping[str, list[str]]) -> Iterator[_JobCells]:
    """The jobs that can wait beside others; the others are noted by the reason."""
    for job in jobs:
        if cause := why_alone(job):
            alone[cause].append(job[0].job_id)
        else:
            yield job


def _questions(job: _JobCells) -> Iterable[QuestionKey]:
    return (cell.question for cell in job)


def _parted(jobs: Sequence[_JobCells]) -> Iterator[Sequence[_JobCells]]:
    """Equal parts of at most so many as a group may have."""
    size = ceil(len(jobs) / ceil(len(jobs) / MOST_CANDIDATES))
    return (jobs[begin : begin + size] for begin in range(0, len(jobs), size))


def _device(cell: Cell) -> str:
    """The device that it occupies; the processor for all that executes there, among others."""
    locks = CATALOGUE[cell.backend].locks
    return "cpu" if "cpu" in locks else " ".join(sorted(locks))
