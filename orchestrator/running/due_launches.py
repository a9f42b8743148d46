"""The launches that a run still has to make, as its folder shows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.planning.groups import JobGroup
from orchestrator.planning.plan import JobPlan, schedule
from orchestrator.running.folder import RunFolder
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.job import Provenance


@dataclass(frozen=True)
class DueGroup:
    """Jobs that are measured side by side, and the round that the schedule has reached."""

    group: JobGroup
    jobs: tuple[JobPlan, ...]
    round: int


@dataclass(frozen=True)
class DueLaunch:
    """Cells of one job that a round still has to visit."""

    cells: tuple[Cell, ...]
    round: int


def due_launches(
    folder: RunFolder,
    environment: Callable[[Backend], Provenance | None],
    note: Callable[[str], None],
) -> Iterator[DueLaunch | DueGroup]:
    """The launches that the folder shows to be missing, read anew for each of them.

    A cell is due until it has its record: a runner makes it in the round in which the rounds so far
    suffice, so that cells whose medians are precise leave the later rounds to the others. Rounds
    that cells have missed come before the one that the schedule has reached.
    """
    done: set[str] = set()
    for unit in schedule(folder.run.plan, folder.run.seed):
        planned = unit[0]
        if planned.id in done:
            continue
        if group := folder.run.plan.group_of.get(planned.id):
            for one in unit:
                drop_foreign_rounds(one, folder, environment, note)
            yield DueGroup(group, unit, planned.round)
            continue
        if planned.measure.most_rounds > 1:
            drop_foreign_rounds(planned, folder, environment, note)
        for round_ in range(_first_missed(planned, folder), planned.round + 1):
            if cells := folder.due(planned.cells, round_):
                yield DueLaunch(tuple(cells), round_)
        if planned.measure.rounds <= planned.round < planned.measure.most_rounds and all(
            folder.record_of(cell) is not None for cell in planned.cells
        ):
            done.add(planned.id)


def _first_missed(planned: JobPlan, folder: RunFolder) -> int:
    round_ = planned.round
    while round_ > 1 and folder.due(planned.cells, round_ - 1):
        round_ -= 1
    return round_


def drop_foreign_rounds(
    planned: JobPlan,
    folder: RunFolder,
    environment: Callable[[Backend], Provenance | None],
    note: Callable[[str], None],
) -> None:
    """Drop rounds in another image or of another commit: they are no samples of the same thing."""
    unrecorded = [cell for cell in planned.cells if folder.record_of(cell) is None]
    before = folder.job_files.last_provenance(planned.id) if unrecorded else None
    if before is None:
        return
    now = environment(unrecorded[0].backend)
    if now not in (None, before) and folder.rounds.drop(unrecorded):
        note(f"{planned.id} starts over: its earlier rounds ran in another environment")
