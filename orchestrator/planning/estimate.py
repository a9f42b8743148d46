"""A rough guess of how long cells take: by their speed before, as predicted, else by arithmetic.

One pass costs about 2 × parameters × samples × tokens operations (an image's patches and a sound's
frames are tokens) at a modest speed of the backend, and never less than reading the weights. A
generation adds a pass for each further token; a training step is three passes and AdamW's traffic.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.planning.memory import VALUE_BYTES, parameters_of, tokens_of
from orchestrator.system.text import format_duration, format_memory
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.job import (
    BURST_ITERATIONS,
    MOST_BURST_S,
    WINDOW_ITERATIONS,
    WINDOWS,
    Limits,
    Measure,
)
from runner.contract.models import ModelSpec

if TYPE_CHECKING:
    from orchestrator.store.query.results import CellSpeed

EstimateSource = Literal["measured", "predicted", "arithmetic"]
"""The origin of a cell's seconds: its iterations here before, a predictor, or its sizes."""


@dataclass(frozen=True, slots=True)
class CellForecast:
    """Predictions of one cell on this machine; None for what is not predicted."""

    iteration_s: float | None = None
    memory_bytes: float | None = None


CellForecasts = Callable[[Sequence[Cell], Mapping[str, ModelSpec]], Sequence[CellForecast]]
"""Predicts cells on this machine; raises StoreError or UsageError where it cannot."""
FindForecasts = Callable[[Path], CellForecasts | None]
"""Finds what predicts cells, beside a database; None where nothing does."""


def no_forecast(database: Path) -> None:
    """FindForecasts that finds nothing."""


@dataclass(frozen=True)
class KnownSpeeds:
    """Known speeds of cells on the machine of a plan."""

    measured: "Mapping[str, CellSpeed]" = field(default_factory=dict)
    forecast: CellForecasts | None = None


def memory_remarks(
    forecasts: Iterable[tuple[Cell, CellForecast]],
    limits: Mapping[Backend, Limits],
    machine_bytes: int | None,
) -> Iterator[str]:
    """A sentence on cells that run though more memory is predicted than they may use."""
    beyond = [
        (cell, forecast.memory_bytes, allowed)
        for cell, forecast in forecasts
        if forecast.memory_bytes is not None
        and CATALOGUE[cell.backend].host_memory
        and (allowed := limits[cell.backend].memory_bytes or machine_bytes)
        and forecast.memory_bytes > allowed
    ]
    if beyond:
        cell, needed, allowed = max(beyond, key=lambda one: one[1])
        others = f" and {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
        yield (
            f"{cell.id}{others} may run out of memory: {format_memory(needed)} are predicted"
            f" at its peak, and {format_memory(allowed)} may be used; nothing is skipped for that"
        )


def duration_remarks(
    estimates: Iterable[tuple[Cell, float]],
    limits: Mapping[Backend, Limits],
    measures: Mapping[Backend, Measure],
) -> Iterator[str]:
    """A sentence on cells that may take longer than their limit."""
    late = [
        (cell, seconds, limit)
        for cell, seconds in estimates
        for limit in [limits[cell.backend].timeout_s(measures[cell.backend])]
        if seconds > limit
    ]
    if late:
        cell, seconds, limit = late[0]
        cells = cell.id if len(late) == 1 else f"{len(late):,} cells, such as {cell.id},"
        yield (
            f"{cells} may take about {format_duration(round(seconds))}, longer than "
            f"limits.cell_timeout, {format_duration(limit)}"
        )


_OPERATIONS_PER_BYTE = 5.0
"""Operations in the time that memory takes for a byte."""
_ADAMW_BYTES = 28
"""For each parameter: it, its gradient and two moments read, all but the gradient written."""
_PASS_S = 1e-4
_START_S = 2.0
"""Starting and ending the process or container of a launch, beside what it loads."""
_LAUNCH_S = 6.0
_PARAMETERS_LOADED_PER_SECOND = 1e8
_EXPORT_S = 15.0
_PARAMETERS_EXPORTED_PER_SECOND = 1e7
_UNTIMED = 4
"""Iterations of each round beside warm-up and steady phase: first, proof, check, monitors."""
_OFFLINE_BATCH = 8
_OFFLINE_TRIES = 14
"""Tries of its search: batches 1 to 32, one of them again, and the best two three times more."""
_OFFLINE_TRY_S = 0.3
_OFFLINE_QUERIES = 60
"""Queries of that size in the time of its search: four in each try, of the sizes of those."""
_FEWEST_COLD = 6
"""Cold starts of all rounds that make an interval."""
_COLD_SHARE = 1 / 3
"""Share of `max_s` for cold starts, as the runner has it."""
_LONGEST_RUN = 2.0
"""Longest run of a server with its line at the end, by `max_s`, as the runner has it."""
LEAST_BURSTS = 8
"""Fewest bursts of a launch for each cell."""
SHORTEST_BURST_S, LONGEST_BURST_S = 0.1, 0.2
"""Bounds of a burst's length, unless few iterations take longer."""
FEWEST_BLOCKS = 2
"""Bursts that are taken however long an iteration is."""


def iteration_estimate(
    cell: Cell,
    model: ModelSpec,
    before: "CellSpeed | None" = None,
    predicted_s: float | None = None,
    slowdown: float = 1.0,
) -> float:
    """Seconds that an iteration of the cell may take."""
    iteration = before.iteration_s if before else predicted_s or _iteration_s(cell, model)
    return iteration * slowdown if "cpu" in CATALOGUE[cell.backend].locks else iteration


def timed_estimate(
    cell: Cell, iteration: float, measure: Measure, *, in_bursts: bool = False
) -> float:
    """Seconds that measuring a cell may take whose iterations take so long, without launches."""
    if in_bursts:
        bursts = bursts_of(measure)
        least = max(BURST_ITERATIONS * iteration, bursts.length_s)
        burst = max(iteration, min(least, MOST_BURST_S))
        share = max(FEWEST_BLOCKS * burst, measure.max_s / measure.rounds)
        steady = measure.rounds * min(bursts.number * burst, share)
        return _prepared_s(iteration, measure) + steady
    if cell.mode == "startup":
        return _starts_s(iteration, measure, cell.workers)
    if cell.scenario == "server":
        return _served_s(cell, iteration, measure)
    if cell.scenario == "offline":
        search = max(_OFFLINE_TRIES * _OFFLINE_TRY_S, _OFFLINE_QUERIES * iteration)
        return min(search, measure.max_s / 3) + _repeated_s(iteration, measure)
    return _repeated_s(iteration, measure)


class PlannedBursts(NamedTuple):
    """The bursts of a launch for each cell: an even number, and the seconds of one."""

    number: int
    length_s: float


def bursts_of(measure: Measure) -> PlannedBursts:
    """As many bursts as fill a launch's share of time, at the least eight, which may be shorter."""
    share_s = measure.min_s / measure.rounds
    length_s = min(LONGEST_BURST_S, max(SHORTEST_BURST_S, share_s / LEAST_BURSTS))
    return PlannedBursts(2 * math.ceil(max(LEAST_BURSTS, share_s / length_s) / 2), length_s)


def launch_estimate(model: ModelSpec, before: "CellSpeed | None" = None) -> float:
    """Seconds that starting a job and loading its model may take."""
    if before:
        return _START_S + before.load_s
    return _LAUNCH_S + parameters_of(model) / _PARAMETERS_LOADED_PER_SECOND


def export_estimate(model: ModelSpec) -> float:
    return _EXPORT_S + parameters_of(model) / _PARAMETERS_EXPORTED_PER_SECOND


def _iteration_s(cell: Cell, model: ModelSpec) -> float:
    if cell.mode == "startup":
        return launch_estimate(model) + _pass_s(cell, model)
    if cell.scenario == "offline":
        return _pass_s(cell.model_copy(update={"batch_size": _OFFLINE_BATCH}), model)
    query = _pass_s(cell, model)
    if cell.mode == "generation":
        return query + ((cell.new_tokens or 1) - 1) * _pass_s(cell, model, tokens=1)
    if cell.mode == "training":
        update = parameters_of(model) * _ADAMW_BYTES * _OPERATIONS_PER_BYTE
        return 3 * query + update / CATALOGUE[cell.backend].operations_per_second
    return query


def _pass_s(cell: Cell, model: ModelSpec, tokens: float | None = None) -> float:
    """Seconds of one pass over so many tokens of each sample; over all of them if not told."""
    arithmetic = 2.0 * cell.batch_size * (tokens or tokens_of(cell, model))
    reading = _OPERATIONS_PER_BYTE * VALUE_BYTES[cell.precision]
    operations = parameters_of(model) * max(arithmetic, reading)
    return _PASS_S + operations / CATALOGUE[cell.backend].operations_per_second


def _repeated_s(iteration: float, measure: Measure) -> float:
    steady = max(iteration, _within(iteration * measure.iterations, measure))
    return _prepared_s(iteration, measure) + steady


def _served_s(cell: Cell, query: float, measure: Measure) -> float:
    """Arrivals take their time however fast the server is; beyond its rate the line grows."""
    if cell.target_qps is None:  # a bracket that ends a search early takes a million queries
        steady = measure.max_s
    elif (load := cell.target_qps * query) >= 1:
        steady = min(load, _LONGEST_RUN) * measure.max_s
    else:
        steady = _within(measure.iterations * max(query, 1 / cell.target_qps), measure)
    return _prepared_s(query, measure) + steady


def _starts_s(start: float, measure: Measure, workers: int | None) -> float:
    """Starts one after the other, untimed, cold and warm, then all workers' at once, once.

    Workers whose number is not named have a core each: together they take as long as one.
    """
    rounds = measure.rounds
    share = math.ceil(max(_FEWEST_COLD, measure.iterations) / rounds)
    cold = max(rounds * start, min(rounds * share * start, _COLD_SHARE * measure.max_s))
    warm = max(start, _within(start * measure.iterations, measure))
    return rounds * start + cold + warm + start * (workers or 1)


def _prepared_s(iteration: float, measure: Measure) -> float:
    """First, heating, warm-up and what else is untimed; a later round's has one window at least."""
    window = max(WINDOW_ITERATIONS * iteration, measure.warmup_window_s)
    floor = iteration * measure.warmup_iterations
    first, later = (
        min(max(windows * window, floor), measure.warmup_max_s) for windows in (WINDOWS, 1)
    )
    untimed = _UNTIMED * iteration + (measure.heat_s or 0)
    return measure.rounds * untimed + first + (measure.rounds - 1) * later


def _within(seconds: float, measure: Measure) -> float:
    return min(max(seconds, measure.min_s), measure.max_s)
