"""The cells of a plan on a fleet: who can measure what, what stays together, how long it takes."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from orchestrator.fleet.dispatch import Dispatcher, Unit
from orchestrator.fleet.host import HostFacts
from orchestrator.planning.groups import connected
from orchestrator.planning.memory import shortage
from orchestrator.planning.plan import Plan, PlannedCell, planned_jobs, side_by_side
from runner.contract.cell import Cell
from runner.contract.reasons import Reason, reason
from runner.contract.record.verdict import Status


@dataclass(frozen=True)
class PlacedUnit:
    """A unit with its cells, which are compared."""

    unit: Unit
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class PlacedRun:
    """A run on the hosts of a fleet; cells of its plan that none can measure are skipped."""

    host_class: str | None
    """The class of hosts that alone measures it; None for all of them."""
    hosts: Mapping[str, HostFacts]
    plan: Plan
    units: tuple[PlacedUnit, ...]


def place(
    plan: Plan,
    hosts: Mapping[str, HostFacts],
    host_class: str | None = None,
    *,
    grouped: bool = False,
) -> PlacedRun:
    """Find the hosts of each cell that is to run, and put together what one host measures.

    The plan knows nothing of any machine; with `grouped` its groups follow from the hosts.
    """
    able = {facts.ability: facts for _, facts in sorted(hosts.items())}
    entries, measured = list[PlannedCell](), list[_AbleCell]()
    for entry in plan.entries:
        if entry.decision != "run":
            entries.append(entry)
            continue
        cell = entry.cell
        obstacles = {name: _obstacle(cell, plan, facts) for name, facts in able.items()}
        classes = frozenset(name for name, obstacle in obstacles.items() if obstacle is None)
        if classes:
            entries.append(entry)
            measured.append((cell, classes))
        else:
            entries.append(_skipped(entry, [*filter(None, obstacles.values())]))
    together: dict[tuple[str, str], list[_Part]] = {
        (compared[0][0].model, compared[0][0].mode): _together(compared)
        for compared in connected(measured, lambda one: _compared_by(one[0], plan))
    }
    parted = [f"{model} {mode}" for (model, mode), parts in together.items() if parts[1:]]
    notes = (*plan.notes, *([_PARTED.format(", ".join(parted))] if parted else ()))
    placed = plan.model_copy(update={"entries": tuple(entries), "notes": notes})
    if grouped:
        placed = side_by_side(placed, _of_one_host([*chain(*together.values())], able))
    return PlacedRun(host_class, hosts, placed, tuple(_units(placed, together)))


def _compared_by(cell: Cell, plan: Plan) -> Iterator[object]:
    """All by which cells are compared: their model and mode, or what their measure adds to it."""
    yield cell.model, cell.mode
    if plan.measure[cell.backend].side_by_side:
        yield cell.question


def _of_one_host(
    parts: Sequence["_Part"], able: Mapping[str, HostFacts]
) -> Iterator[tuple[Sequence[Cell], int | None]]:
    """The whole jobs of each part, with the least memory of the hosts that can have it."""
    counts = Counter(job for _, cells in parts for job in {cell.job_id for cell in cells})
    for classes, cells in parts:
        known = [size for name in classes if (size := able[name].memory_bytes) is not None]
        yield [cell for cell in cells if counts[cell.job_id] == 1], min(known, default=None)


def sub_plan(plan: Plan, cells: Collection[Cell]) -> Plan:
    wanted = {cell.id for cell in cells}
    models, backends = {cell.model for cell in cells}, {cell.backend for cell in cells}
    jobs = {cell.job_id for cell in cells}
    return plan.model_copy(
        update={
            "entries": tuple(entry for entry in plan.entries if entry.cell.id in wanted),
            "notes": (),
            "whole": False,
            "models": {name: spec for name, spec in plan.models.items() if name in models},
            "measure": {key: value for key, value in plan.measure.items() if key in backends},
            "limits": {key: value for key, value in plan.limits.items() if key in backends},
            "groups": tuple(group for group in plan.groups if not jobs.isdisjoint(group.jobs)),
        }
    )


def expected_s(units: Iterable[Unit], hosts: Mapping[str, str], seed: int) -> float:
    """Seconds from the first order to the last verdict, by the dispatcher that ships."""
    dispatcher = Dispatcher.of(units, hosts, seed)
    ends: list[tuple[float, str]] = []
    free, now = set(hosts), 0.0
    while True:
        for assignment in dispatcher.next(free):
            heapq.heappush(ends, (now + assignment.unit.estimate_s, assignment.host))
        if not ends:
            return now
        now, host = heapq.heappop(ends)
        dispatcher.done(host)
        free = {host}


_Obstacle = tuple[Status, Reason]
_AbleCell = tuple[Cell, frozenset[str]]
"""A cell and the classes of hosts that can measure it."""
_Part = tuple[frozenset[str], list[Cell]]
"""Cells that one host measures, and the classes of hosts that can."""
_PARTED = "no host can measure all cells of {}: those that are compared come from several hosts"


def _together(able: Sequence[_AbleCell]) -> list[_Part]:
    """Cells that are compared, in as few parts as there must be, with the classes of each part."""
    parts: list[_Part] = []
    for cell, classes in sorted(able, key=lambda pair: len(pair[1])):
        for at, (common, cells) in enumerate(parts):
            if common & classes:
                cells.append(cell)
                parts[at] = (common & classes, cells)
                break
        else:
            parts.append((classes, [cell]))
    return parts


def _obstacle(cell: Cell, plan: Plan, facts: HostFacts) -> _Obstacle | None:
    if missing := facts.unavailable.get(cell.backend):
        return "unavailable", reason("said", text=missing)
    limits = plan.limits[cell.backend]
    if lack := shortage(cell, plan.models[cell.model], limits, facts.memory_bytes):
        return "out_of_memory", reason("predicted", cause=lack)
    return None


def _skipped(entry: PlannedCell, obstacles: Sequence[_Obstacle]) -> PlannedCell:
    statuses = {status for status, _ in obstacles}
    status: Status = "out_of_memory" if statuses == {"out_of_memory"} else "unavailable"
    causes = dict.fromkeys(cause for _, cause in obstacles)
    numbered = {f"cause{number}": cause for number, cause in enumerate(causes, 1)}
    return replace(
        entry,
        decision="skip",
        status=status,
        reason=reason("no_host", **numbered) if numbered else reason("empty_fleet"),
        estimate_s=0,
        launch_s=0,
        iteration_s=0,
        estimated_by=None,
    )


def _units(plan: Plan, groups: Mapping[tuple[str, str], Sequence[_Part]]) -> Iterator[PlacedUnit]:
    parts = (
        (f"{model}-{mode}", number, *part)
        for (model, mode), group in groups.items()
        for number, part in enumerate(group, 1)
    )
    for name, number, classes, cells in parts:
        seconds = sum(job.estimate_s for job in planned_jobs(sub_plan(plan, cells)))
        needs = frozenset[str](cell.backend for cell in cells)
        unit = Unit(name if number == 1 else f"{name}-{number}", seconds, classes, needs)
        yield PlacedUnit(unit, tuple(cells))
