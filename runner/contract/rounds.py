"""Measurements of one cell in one round, and the files that a job leaves for each of its cells."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Self

from pydantic import (
    AwareDatetime,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from runner.contract.cell import Cell, Frozen
from runner.contract.errors import DamagedFile, RecordError
from runner.contract.files import RECORD_BYTES, TEXT_BYTES, read_plain, save_text
from runner.contract.reasons import Reason
from runner.contract.record.verdict import Doubt

RECORD_SUFFIX = ".parquet"
TRACE_SUFFIX = ".trace.json"
OPERATORS_SUFFIX = ".operators.txt"
NO_TRACE_SUFFIX = ".trace.failed"
LOG_SUFFIX = ".log"
TIMED_SUFFIX = ".timed.json"
"""The result of a round whose outputs are not verified yet."""
TRACE_BYTES = 1 << 30
_LIMITS = {
    RECORD_SUFFIX: RECORD_BYTES,
    TRACE_SUFFIX: TRACE_BYTES,
    OPERATORS_SUFFIX: TEXT_BYTES,
    NO_TRACE_SUFFIX: TEXT_BYTES,
    LOG_SUFFIX: TEXT_BYTES,
    TIMED_SUFFIX: RECORD_BYTES,
}


class Noise(Frozen):
    """Load of the host by others, None where unknown; see the columns `noise_…` of a record."""

    steal: float | None
    other_load: float | None
    kernel_spread_before: float
    kernel_spread_after: float
    kernel_shift: float
    throttled_periods: int | None = None
    throttled_s: float | None = None
    involuntary_switches: int | None = None

    @property
    def score(self) -> float:
        """Steal, other load and the worse spread, added up; 0 is a silent host."""
        spread = max(self.kernel_spread_before, self.kernel_spread_after)
        return (self.steal or 0.0) + (self.other_load or 0.0) + spread


class Energy(Frozen):
    """Readings of energy counters over a steady phase; see the columns `energy_…` of a record."""

    joules: float | None
    """None where there is no counter or too short a window."""
    window_s: float | None
    method: str
    """The counters' names, or `unavailable: ` and the reason."""
    scope: str | None = None
    """The parts of the machine inside the joules, such as `package + dram`."""
    host_joules: float | None = None
    """Energy of the processor beside an accelerator; None where it is in the joules, or unknown."""


def total_energy(energies: Sequence[Energy]) -> Energy:
    """The energy of several phases, if each has it; else the reason of the first that has none."""
    lacking = next((energy for energy in energies if energy.joules is None), None)
    if lacking is not None:
        return lacking.model_copy(update={"window_s": None, "host_joules": None})
    hosts = [energy.host_joules for energy in energies]
    return Energy(
        joules=math.fsum(energy.joules or 0.0 for energy in energies),
        window_s=math.fsum(energy.window_s or 0.0 for energy in energies),
        method=energies[-1].method,
        scope=energies[-1].scope,
        host_joules=None if None in hosts else math.fsum(host or 0.0 for host in hosts),
    )


class MemoryUse(Frozen):
    """Memory of one cell, bytes; named like the columns `memory_…` of a record."""

    peak_bytes: int | None
    steady_peak_bytes: int | None
    average_bytes: int | None
    allocator_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    wasm_bytes: int | None = None
    gpu_buffer_bytes: int | None = None
    gpu_buffer_peak_bytes: int | None = None


class CpuClock(Frozen):
    """The clock of the CPUs at work, and how often heat held it down; None where none is shown."""

    before_hz: float | None
    """Their mean ahead of the warm-up; None also for a job that is not pinned to any."""
    mean_hz: float | None
    """Mean over the steady phase."""
    low_hz: float | None
    """Lowest reading of any of them."""
    after_hz: float | None
    """Their mean behind the steady phase."""
    throttle_events: int | None
    """Times that heat held a core or a package down in the steady phase, the most of any."""
    throttled_s: float | None
    """Seconds for which it did."""


class DeviceState(Frozen):
    """An accelerator right behind the steady phase."""

    clock_hz: float | None
    temperature_c: float | None
    throttled: dict[str, float] | None = None
    """Shares of the steady phase in which its clock was held down, by the vendor's words for the
    reason; empty if it never was, None where nothing counts them."""


class PageFaults(Frozen):
    """Minor page faults of a process over its timed iterations."""

    count: int
    cost_s: float
    """Cost of one, as new memory was written behind them."""


class Bursts(Frozen):
    """The bursts of a round, in which it worked while the others, loaded beside it, waited."""

    iterations: list[PositiveInt] = Field(min_length=1)
    """Timed iterations of each, in order."""
    dropped: NonNegativeInt
    """Iterations at the beginning of each that were not counted, as caches were not warm again."""
    rest_s: NonNegativeFloat
    """Median seconds behind a burst until the threads of the process rested."""
    clocks_hz: list[float | None]
    """The accelerator's clock right behind each; None where there is none, or none that tells."""


class RoundResult(Frozen):
    """Measurements of one cell in one round."""

    samples: int
    steady_ns: NonNegativeInt
    """Time in which they did: the iterations' sum, in the scenario `server` the whole window."""
    durations_ns: list[NonNegativeInt] = Field(min_length=1)
    parts_ns: dict[str, list[NonNegativeInt]] = Field(default_factory=dict)
    """Durations of the iterations' parts, by name."""
    bursts: Bursts | None = None
    """The bursts that its iterations were taken in; None where it was measured alone."""
    first_ns: NonNegativeInt | None = None
    """The first query at this shape; None where every iteration is a first one."""
    warmup_ns: list[NonNegativeInt] = Field(default_factory=list)
    heating_ns: list[NonNegativeInt] = Field(default_factory=list)
    """Durations of the iterations that heated the machine before it."""
    enough_windows: int | None = None
    """Windows of a warm-up that are enough for later rounds; None if none has settled so far."""
    settled: bool | None = None
    """None where there is no warm-up."""
    noise: Noise
    energy: Energy
    memory: MemoryUse
    cpu_clock: CpuClock | None = None
    device: DeviceState | None = None
    """The accelerator's state; None where there is none, or none that tells."""
    page_faults: PageFaults | None = None
    """None where they are not known, or not of these iterations."""
    measured_at: AwareDatetime | None = None
    """The moment at which its steady phase ended, UTC; None if it depends on no other round."""
    load_average_1m: float
    columns: dict[str, Any] = Field(default_factory=dict)
    doubts: list[Doubt] = Field(default_factory=list)
    cut_short: Reason | None = None
    """The reason why the timed iterations ended before their time; None if they did not."""
    observed: dict[str, Any] = Field(default_factory=dict)
    """Columns of proof and correctness, as plain JSON values. The first round finds them."""
    so_far: dict[str, Any] = Field(default_factory=dict)
    """Columns of a record of the rounds up to this one, as plain JSON values and without raw
    durations: what is left of the cell if its run ends before the next round."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.bursts and sum(self.bursts.iterations) != len(self.durations_ns):
            raise ValueError("its bursts have another number of iterations than it has durations")
        return self

    @property
    def sample_medians_ns(self) -> list[float]:
        """The median time of a sample in each burst, or of all where it was measured alone."""
        per_sample = len(self.durations_ns) / max(1, self.samples)
        ends = [0, *accumulate(self.bursts.iterations if self.bursts else [len(self.durations_ns)])]
        return [median(self.durations_ns[begin:end]) * per_sample for begin, end in pairwise(ends)]


def raw_columns(rounds: Sequence[RoundResult]) -> dict[str, Any]:
    """Columns with the raw durations of all rounds; the warm-up is the first one's."""
    first = rounds[0]
    names = dict.fromkeys(chain.from_iterable(result.parts_ns for result in rounds))
    parts_ns = {
        name: [value for result in rounds for value in result.parts_ns.get(name, ())]
        for name in names
    }
    warmup = [first.first_ns, *first.heating_ns, *first.warmup_ns]
    return {
        "durations_ns": [value for result in rounds for value in result.durations_ns],
        "part_durations_ns": parts_ns or None,
        "warmup_durations_ns": None if first.first_ns is None else warmup,
    }


def round_path(folder: Path, cell: Cell, round_: int) -> Path:
    return folder / f"{cell.id}.round{round_}.json"


def save_round(result: RoundResult, folder: Path, cell: Cell, round_: int) -> None:
    """Write the result of a round atomically."""
    save_text(round_path(folder, cell, round_), result.model_dump_json())


def read_rounds(folder: Path, cell: Cell, rounds: int) -> list[RoundResult]:
    """The results of rounds 1 to `rounds`; `RecordError` if one is missing or damaged."""
    paths = [round_path(folder, cell, number) for number in range(1, rounds + 1)]
    try:
        contents = (read_plain(path, RECORD_BYTES) for path in paths)
        return [RoundResult.model_validate_json(content) for content in contents]
    except (OSError, DamagedFile, ValidationError) as error:
        summary = str(error).splitlines()[0]
        raise RecordError(f"{cell.id}: an earlier round cannot be read: {summary}") from error


def output_path(folder: Path, cell: Cell, suffix: str) -> Path:
    return folder / f"{cell.id}{suffix}"


def output_names(cells: Iterable[Cell], rounds: int) -> Mapping[str, int]:
    """The names that files of these cells have, and how many bytes each may have at most."""
    limits: dict[str, int] = {}
    for cell in cells:
        limits |= {f"{cell.id}{suffix}": most_bytes for suffix, most_bytes in _LIMITS.items()}
        paths = (round_path(Path(), cell, number) for number in range(1, rounds + 1))
        limits |= dict.fromkeys((path.name for path in paths), RECORD_BYTES)
    return limits
