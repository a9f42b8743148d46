"""Mode `training`: forward, loss, backward and optimizer of one step, on a fixed batch."""

import math
from collections.abc import Mapping, Sequence

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.inputs import synthesise, synthesise_labels
from runner.measure.clock import Clock
from runner.measure.statistics.summary import mean_and_median

_PARTS = ("forward", "loss", "backward", "optimizer")


class TrainingWorkload:
    """One iteration is one training step, which records its parts and its loss."""

    timed_region = (
        "forward, loss, backward and AdamW's step, gradients cleared; batch and labels "
        "lie on the device, which is synchronised after each part"
    )

    def __init__(self, session: Session, job: Job, cell: Cell, clock: Clock) -> None:
        batch = {
            **synthesise(job.model, cell, job.weights_seed),
            **synthesise_labels(job.model, cell, job.weights_seed),
        }
        self._trainer = session.bind_training(cell, batch, clock)
        self._losses: list[float] = []
        self.samples = cell.batch_size
        self.parts_ns: Mapping[str, list[int]] = {part: [] for part in _PARTS}

    def __call__(self) -> int:
        """Take one step, check its loss, and return the nanoseconds it took."""
        step = self._trainer.step()
        self._losses.append(step.loss)
        if not math.isfinite(step.loss):
            raise BenchError(f"the loss of step {len(self._losses)} is {step.loss}")
        self.parts_ns["forward"].append(step.forward_ns)
        self.parts_ns["backward"].append(step.backward_ns)
        self.parts_ns["optimizer"].append(step.optimizer_ns)
        if step.loss_ns is not None:
            self.parts_ns["loss"].append(step.loss_ns)
        return step.ended_ns - step.started_ns

    def check(self) -> None:
        """Check that the parameters have changed since before the first step."""
        if not self._trainer.has_learnt():
            raise BenchError(f"the parameters did not change in {len(self._losses)} steps")

    def forget(self) -> None:
        """Drop the parts recorded so far, but not the losses."""
        for durations in self.parts_ns.values():
            durations.clear()

    def columns(self) -> Mapping[str, object]:
        """The first and the last loss."""
        return {"training_loss_first": self._losses[0], "training_loss_last": self._losses[-1]}

    def close(self) -> None:
        """Release gradients and the optimizer's state."""
        self._trainer.close()


def training_columns(parts_ns: Mapping[str, Sequence[int]]) -> dict[str, float | None]:
    """Columns about the parts of the steps of all rounds together."""
    columns: dict[str, float | None] = {}
    for part in _PARTS:
        if durations := parts_ns.get(part):
            columns |= mean_and_median(part, durations)
    return columns
