"""Mode `training`: forward, loss, backward and optimizer of one step, on a fixed batch."""

import math
from collections.abc import Iterator, Mapping, Sequence

from runner.backends.base import MOST_SKIPPED, Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, Unsupported
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, RemedyCode, Scale, scaled
from runner.contract.rounds import RoundResult
from runner.inputs import synthesise, synthesise_labels
from runner.measure.clock import Clock
from runner.measure.statistics.summary import SecondsColumns, statistic_columns
from runner.modes.base import Workload

_PARTS = ("forward", "loss", "backward", "optimizer")
TRAINING_REGION = (
    "forward, loss, backward and AdamW's step, gradients cleared; batch and labels "
    "lie on the device, which is synchronised after each part"
)
"""The work of a step, whatever its number formats."""
_SKIPPED = Scale(b=0.001, c=0.01, d=0.10)
"""Shares of steps without the optimizer's; the scale tries to grow every 2,000 steps, which may
cost one of them."""
_LOST = Scale(b=0.01, c=0.20)
"""Shares of elements that no step changes: the times are right, but nobody trains so."""
_SHOWN = 3


class TrainingWorkload(Workload):
    """One iteration is one training step, which records its parts and its loss."""

    def __init__(self, session: Session, job: Job, cell: Cell, clock: Clock) -> None:
        batch = {
            **synthesise(job.model, cell, job.weights_seed),
            **synthesise_labels(job.model, cell, job.weights_seed),
        }
        self._trainer = session.bind_training(cell, batch, clock)
        self._losses: list[float] = []
        self._skipped = 0
        self._stepped = False
        self._cell = cell
        self.timed_region = f"{TRAINING_REGION}; {_arithmetic(cell)}"
        self.samples = cell.batch_size
        self.parts_ns = {part: [] for part in _PARTS}

    def __call__(self) -> int:
        step = self._trainer.step()
        self._losses.append(step.loss)
        self._skipped += step.skipped
        self._stepped |= not step.skipped
        if not math.isfinite(step.loss):
            facts = {"step": len(self._losses), "loss": step.loss}
            if self._cell.precision == "fp16":
                raise Unsupported(reason("forward_leaves_fp16", **facts))
            raise BenchError(reason("loss_not_finite", **facts))
        self.parts_ns["forward"].append(step.forward_ns)
        self.parts_ns["backward"].append(step.backward_ns)
        self.parts_ns["optimizer"].append(step.optimizer_ns)
        if step.loss_ns is not None:
            self.parts_ns["loss"].append(step.loss_ns)
        return step.ended_ns - step.started_ns

    def check(self) -> None:
        """Check that each parameter has changed since before the first step, and each layer learns.

        While the loss' scale has skipped every step, it takes more. In pure bf16 some updates are
        below half a unit in the last place, so that one parameter must change.
        """
        while not self._stepped and len(self._losses) < MOST_SKIPPED:
            self()
        unchanged = self._trainer.unchanged()
        if unchanged and not (self._cell.pure and self._trainer.changed_share()):
            steps = len(self._losses)
            raise BenchError(reason("weights_unchanged", weights=_names(unchanged), steps=steps))
        if untaught := self._trainer.untaught():
            steps = len(self._losses)
            raise BenchError(reason("gradients_zero", weights=_names(untaught), steps=steps))

    def forget(self) -> None:
        """Drop the parts and skipped steps recorded so far, but not the losses."""
        self._skipped = 0
        super().forget()

    def columns(self) -> Columns:
        scale = self._trainer.scale
        return {
            "training_loss_first": self._losses[0],
            "training_loss_last": self._losses[-1],
            "training_scale": scale,
            "training_steps_skipped": None if scale is None else self._skipped,
            "training_changed_share": self._trainer.changed_share(),
        }

    def close(self) -> None:
        self._trainer.close()


def _arithmetic(cell: Cell) -> str:
    if cell.precision == "fp32":
        return "all in fp32"
    if cell.pure:
        return f"parameters, gradients and moments in {cell.precision}"
    scaled_loss = ", the loss scaled" if cell.precision == "fp16" else ""
    autocast = f"torch.autocast to {cell.precision}{scaled_loss}"
    return f"{autocast}, parameters, gradients and moments in fp32"


def _names(parameters: Sequence[str]) -> str:
    shown = ", ".join(parameters[:_SHOWN])
    more = len(parameters) - _SHOWN
    return f"{shown} and {more} more parameters" if more > 0 else shown


def training_columns(parts_ns: Mapping[str, Sequence[int]]) -> dict[str, float | None]:
    """Columns about the parts of the steps of all rounds together."""
    columns: SecondsColumns = {}
    for part in _PARTS:
        if durations := parts_ns.get(part):
            columns |= statistic_columns(part, durations, "mean", "median")
    return columns


def training_totals(rounds: Sequence[RoundResult]) -> Columns:
    skipped = [result.columns.get("training_steps_skipped") for result in rounds]
    known = [count for count in skipped if count is not None]
    return {"training_steps_skipped": sum(known) if len(known) == len(rounds) else None}


def training_doubts(cell: Cell, rounds: Sequence[RoundResult]) -> Iterator[Doubt]:
    steps = sum(len(result.durations_ns) for result in rounds)
    skipped = training_totals(rounds)["training_steps_skipped"]
    if skipped:
        remedy: RemedyCode = "raise_warmup_iterations"
        yield from scaled(_SKIPPED, skipped / steps, "scale_skipped", remedy, skipped, steps=steps)
    shares = [result.columns.get("training_changed_share") for result in rounds]
    lost = 1 - min((share for share in shares if share is not None), default=1.0)
    if cell.pure:
        yield from scaled(_LOST, lost, "rounding", "mixed_precision", lost)
