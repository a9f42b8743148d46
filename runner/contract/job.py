"""The job that carries cells into a container, with measure, limits and chosen devices."""

import math
import os
from collections.abc import Mapping
from typing import Annotated

from pydantic import AwareDatetime, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from runner.contract.axes import Backend, Precision
from runner.contract.cell import Cell, FileName, Frozen, ProfileName, Purpose
from runner.contract.models import ModelSpec
from runner.contract.processes import VARIABLE_NAME
from runner.contract.web import BrowserChoice

WINDOW_ITERATIONS = 3  # least iterations of a window of the warm-up
WINDOWS = 3  # neighbouring windows that must agree: two of noisy durations do so by chance
BURST_ITERATIONS = 5
"""Fewest iterations of a burst: three, and two more since the first ones may be dropped."""
MOST_BURST_S = 0.6
"""Seconds after which a burst ends with fewer iterations, and at least one."""


class Measure(Frozen):
    """Length and number of a cell's iterations: the fewest, unless a most is named."""

    profile: ProfileName
    warmup_iterations: PositiveInt
    """Fewest warm-up iterations, however early the durations settle."""
    warmup_max_s: PositiveFloat
    """Seconds after which warm-up ends even if the durations have not settled."""
    heat_s: PositiveFloat | None = None
    """Seconds of iterations ahead of each round's warm-up, so that the clock has come down to what
    the machine sustains; null: none."""
    iterations: PositiveInt
    min_s: NonNegativeFloat
    max_s: PositiveFloat
    """Seconds after which the steady phase ends, provided one iteration was timed."""
    precision_target: PositiveFloat
    """Half the width of the median's 95 % interval, by the median, at which measuring may end."""
    rounds: PositiveInt = 1
    """Fewest launches of each cell, with equal shares of iterations and time."""
    max_rounds: PositiveInt | None = None
    """Most launches of a cell whose median is not precise before; null: no more than `rounds`."""

    side_by_side: bool | None = None
    """True if cells of several models are compared side by side too, false if none are; null: those
    that differ in runtime, precision or threads alone."""

    @property
    def warmup_window_s(self) -> float:
        """Least seconds of a window of the warm-up: 0.2 in `quick`, 1 in `standard`, 4 in `audit`.

        Three iterations of a fast query are over before the clock frequency has moved.
        """
        return self.warmup_max_s / 30

    @property
    def most_rounds(self) -> int:
        """The number of rounds after which each cell has its record."""
        return max(self.rounds, self.max_rounds or self.rounds)

    def of_rounds(self, rounds: int) -> "Measure":
        """So many rounds, each with the share of iterations and time that one has here."""
        share = rounds / self.rounds
        changed = {
            "iterations": math.ceil(self.iterations / self.rounds) * rounds,
            "min_s": self.min_s * share,
            "max_s": self.max_s * share,
            "rounds": rounds,
            "max_rounds": rounds,
        }
        return self.model_copy(update=changed)


PROFILES: Mapping[ProfileName, Measure] = {
    "quick": Measure(
        profile="quick",
        warmup_iterations=3,
        warmup_max_s=6,
        iterations=5,
        min_s=3,
        max_s=30,
        precision_target=0.05,
        max_rounds=1,
    ),
    "standard": Measure(
        profile="standard",
        warmup_iterations=5,
        warmup_max_s=30,
        iterations=20,
        min_s=30,
        max_s=300,
        precision_target=0.02,
        rounds=3,
        max_rounds=12,
    ),
    "audit": Measure(
        profile="audit",
        warmup_iterations=10,
        warmup_max_s=120,
        iterations=64,
        min_s=600,
        max_s=3600,
        precision_target=0.01,
        rounds=10,
        max_rounds=30,
    ),
}


class Limits(Frozen):
    """Limits of a job."""

    cell_timeout_s: PositiveFloat | None = None
    """Seconds that loading, and then each cell, may take; null follows from what is measured."""
    memory_bytes: PositiveInt | None = None
    """Bytes of memory a job may use; null leaves a safety margin below the machine's memory."""
    cpus: PositiveInt | None = None
    """CPUs a job is pinned to; null: one of each physical core of one NUMA node."""
    pids: PositiveInt = 4096
    """Processes and threads a container may create; local processes are not limited."""
    output_bytes: PositiveInt | None = None
    """Bytes a job may leave in its output folder; null follows from what such jobs write."""

    def timeout_s(self, measure: Measure) -> float:
        """Seconds that loading, and then each cell measured like this, may take.

        Unless it is set: 10 minutes, or as long as warm-up and twice the steady phase may take,
        since untimed work lies between the iterations and a server answers the line at the end; and
        5 minutes for all else. Heating comes on top.
        """
        if self.cell_timeout_s is not None:
            return self.cell_timeout_s
        measured = max(600, measure.warmup_max_s + 2 * measure.max_s + 300)
        return measured + (measure.heat_s or 0)


class ProcessSpread(Frozen):
    """By how much fresh processes of one cell differ on this host, as it measured."""

    cv: Annotated[NonNegativeFloat, Field(allow_inf_nan=False)]
    """Standard deviation of fresh processes' medians, by their mean."""
    processes: Annotated[int, Field(ge=2, le=1000)]
    degrees: Annotated[float, Field(ge=1, le=1000)] | None = None
    """Degrees of freedom of the deviation; None: processes count as independent."""
    measured_at: AwareDatetime
    pairs: Annotated[int, Field(ge=1)] | None = None
    """Pairs of launches of this host's own results that tell it; None: a calibration does."""


class Provenance(Frozen):
    """Facts about a job that only the host knows, named like the columns of a record."""

    launcher: str
    image: str | None = None
    image_digest: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
    image_labels: dict[str, str] = Field(default_factory=dict)
    hostname: str | None = None
    git_commit: str | None = None
    orchestrator_version: str


class SideBySide(Frozen):
    """Jobs that are compared: in each round all of their group are launched anew."""

    group: FileName
    """The group's id, which its results share whatever their run."""
    looks: tuple[PositiveInt, ...] = Field(min_length=1)
    """Numbers of rounds, planned beforehand, after which the comparison may end."""
    together: bool = True
    """True if its launches are loaded together and take bursts in turns; else launches take
    turns."""


class Job(Frozen):
    """The cells that one container executes: they share a loaded model and a mode."""

    seed: int
    """Seed of what another run may have otherwise: the order of execution, arrivals."""
    weights_seed: int = 0
    """Seed of what results are compared over: weights, inputs, references and graphs."""
    run_id: FileName
    id: FileName
    model: ModelSpec
    cells: tuple[Cell, ...] = Field(min_length=1)
    measure: Measure
    limits: Limits
    provenance: Provenance
    purpose: Purpose = "measure"
    """`measure` times and verifies, `time` and `verify` do one of it; `reference` computes what
    others are verified against, `prepare` exports the graph that others execute, `count` counts the
    model's arithmetic and memory."""
    trace: bool = False
    """True if each cell leaves a trace of one untimed iteration."""
    round: PositiveInt = 1
    """The number of this launch among the measure's rounds."""
    graph: FileName | None = None
    """The folder, among the prepared graphs, that holds this job's; null for runtimes that build
    the model themselves."""
    reference: FileName | None = None
    """The file, among the references and without suffix, that this job's outputs are compared
    with; null where nothing is verified."""
    honest: tuple[Precision, ...] = ()
    """The precisions whose own rounding a reference tells, beside the fp32 outputs."""
    inherit_environ: tuple[Annotated[str, Field(pattern=VARIABLE_NAME)], ...] = ()
    browser: BrowserChoice | None = None
    """The browser that the user chose; null for our own, and for what executes in none."""
    process_spreads: dict[str, ProcessSpread] | None = None
    """The spreads of fresh processes of its runtime on this host, by the `hardware_id` of the
    machine with each device; null if nobody measured any."""
    process_spread: ProcessSpread | None = None
    """The one of the device that was found there; null before it is, and if nobody measured it."""
    interleaved_with: FileName | None = None
    """The run that is compared with this one, launch by launch; null else."""
    side_by_side: SideBySide | None = None
    """The comparison that decides how many rounds there are; null for a job that stands alone."""
    counted: dict[str, dict[str, float]] | None = None
    """Polynomials of a model's work that a job counted, see `runner.contract.models.work`; null for
    the catalogue's models, and for those that nobody counted."""

    @property
    def timeout_s(self) -> float:
        return self.limits.timeout_s(self.measure)

    @property
    def takes_turns(self) -> bool:
        """True if it works only when it is told to, while others are loaded beside it."""
        return bool(self.side_by_side and self.side_by_side.together)

    def of_cell(self, cell: Cell) -> "Job":
        """The job with one cell, as its record has it: without what follows from the model."""
        own = {"cells": (cell,), "round": 1, "counted": None, "process_spreads": None}
        return self.model_copy(update=own)

    def on_hardware(self, hardware_id: str | None) -> "Job":
        """The job with the spread of the device that was found, and none of another one's."""
        if self.process_spreads is None or hardware_id is None:
            return self
        spread = self.process_spreads.get(hardware_id)
        return self.model_copy(update={"process_spread": spread, "process_spreads": None})


DEVICE_VARIABLE = "ACCELMATRIX_DEVICE"
"""One device for all backends, such as `GPU.1`, or one each: `openvino=GPU.1,cuda=0`."""


def chosen_device(backend: Backend, environment: Mapping[str, str] = os.environ) -> str | None:
    """The device that the user names for this backend, in the backend's own words.

    `CPU`, `GPU.1`, `NPU` or `AUTO` for openvino, an index or a UUID for cuda and rocm. None leaves
    the choice to the backend. A name that stands for one backend goes before one for all.
    """
    entries = [entry.strip() for entry in environment.get(DEVICE_VARIABLE, "").split(",")]
    for entry in entries:
        name, equals, device = entry.partition("=")
        if equals and name.strip() == backend:
            return device.strip() or None
    return next((entry for entry in entries if entry and "=" not in entry), None)
