"""Training: what one step keeps and insists on, and the columns made of it."""

from typing import Any

import pytest

from runner.backends.base import MOST_SKIPPED, TrainingStep
from runner.backends.fake import FakeSession, FakeTrainer, Script
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.models import ModelSpec, TensorSpec
from runner.inputs import Inputs
from runner.measure.clock import Clock
from runner.modes.training import TrainingWorkload, training_doubts, training_totals
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.records import a_round
from tests.support.words import raises_words

CELL = fake_cell(3, mode="training")
LABELS = TensorSpec(name="labels", kind="ones", shape=("batch_size",))
MODEL = fake_model().model_copy(update={"labels": LABELS})


class Trainer(FakeTrainer):
    """A trainer whose steps last what the test says, and which knows whether it was closed."""

    loss_ns: int | None = 20
    skips = 0
    zeroed: tuple[str, ...] = ()
    closed = False

    def step(self) -> TrainingStep:
        loss = super().step().loss
        self.skips -= 1
        inside = 0 if self.loss_ns is None else self.loss_ns
        return TrainingStep(
            started_ns=1000,
            forward_ns=100,
            loss_ns=self.loss_ns,
            backward_ns=300,
            optimizer_ns=50,
            ended_ns=1450 + inside,
            loss=loss,
            skipped=self.skips >= 0,
        )

    def untaught(self) -> tuple[str, ...]:
        return self.zeroed

    def close(self) -> None:
        self.closed = True


class Session(FakeSession):
    """A session that keeps its trainer and what it was to train on."""

    def __init__(self, **config: Any) -> None:
        self.script = Script({"latency_s": 0, **config})
        super().__init__(self.script)
        self.batch: Inputs = {}

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> FakeTrainer:
        self.batch = inputs
        self.trainer = Trainer(self.script, cell, clock)
        return self.trainer


def a_workload(session: FakeSession, model: ModelSpec = MODEL) -> TrainingWorkload:
    return TrainingWorkload(session, a_job([CELL], model), CELL, FakeClock())


@pytest.mark.parametrize("loss_ns", [20, None], ids=["apart", "inside the forward pass"])
def test_the_parts_of_a_step_are_kept_apart_and_together(loss_ns: int | None) -> None:
    session = Session(losses=[3, 2, 1])
    workload = a_workload(session)
    assert set(session.batch) == {"x", "labels"}
    assert session.batch["labels"].shape == (3,)
    session.trainer.loss_ns = loss_ns
    losses = [] if loss_ns is None else [loss_ns]
    assert [workload(), workload()] == [450 + sum(losses)] * 2
    parts = {"forward": [100], "loss": losses, "backward": [300], "optimizer": [50]}
    assert workload.parts_ns == {name: times * 2 for name, times in parts.items()}
    assert workload.samples == 3
    workload.forget()
    workload()
    assert workload.parts_ns == parts
    assert workload.columns() == {
        "training_loss_first": 3.0,
        "training_loss_last": 1.0,
        "training_scale": None,
        "training_steps_skipped": None,
        "training_changed_share": 1.0,
    }
    workload.close()
    assert session.trainer.closed


@pytest.mark.parametrize("loss", ["nan", "inf"])
def test_a_loss_that_is_not_finite_fails_the_cell(loss: str) -> None:
    workload = a_workload(Session(losses=[1, loss]))
    workload()
    with raises_words(BenchError, match=f"the loss of step 2 is {loss}"):
        workload()


def test_parameters_that_did_not_change_fail_the_cell() -> None:
    workload = a_workload(Session(learns=False))
    workload()
    workload()
    with raises_words(BenchError, match="scripted did not change in 2 steps"):
        workload.check()


@pytest.mark.parametrize("pure", [None, "pure"])
def test_layers_whose_gradients_were_zero_fail_the_cell(pure: str | None) -> None:
    session = Session()
    cell = CELL.model_copy(update={"training_precision": pure})
    workload = TrainingWorkload(session, a_job([cell], MODEL), cell, FakeClock())
    workload()
    workload.check()
    session.trainer.zeroed = ("h.1.weight", "h.1.bias")
    with raises_words(BenchError, match=r"gradients of h\.1\.weight, h\.1\.bias were 0 in 1 step$"):
        workload.check()


def test_as_long_as_the_losss_scale_skips_every_step_a_check_takes_one_more() -> None:
    session = Session(losses=[3, 2, 1])
    workload = a_workload(session)
    session.trainer.skips = 2
    workload()
    workload.check()
    assert len(workload.parts_ns["forward"]) == 3
    workload.check()
    assert len(workload.parts_ns["forward"]) == 3
    hopeless = a_workload(session)
    session.trainer.skips = 1000
    hopeless.check()
    assert len(hopeless.parts_ns["forward"]) == MOST_SKIPPED


@pytest.mark.parametrize(
    ("pure", "skipped", "share", "grades"),
    [
        (None, [0, 0], 1.0, []),
        (None, [1, 2], 1.0, ["C"]),
        (None, [None, None], 0.5, []),
        ("pure", [None, None], 0.1, ["C"]),
        ("pure", [None, None], 1.0, []),
    ],
)
def test_skipped_steps_and_lost_updates_cost_the_grade(
    pure: str | None, skipped: list[int | None], share: float, grades: list[str]
) -> None:
    columns = [
        {"training_steps_skipped": count, "training_changed_share": share} for count in skipped
    ]
    rounds = [a_round(list(range(1, 51)), columns=one) for one in columns]
    cell = CELL.model_copy(update={"training_precision": pure})
    assert [doubt.grade for doubt in training_doubts(cell, rounds)] == grades
    total = None if None in skipped else sum(count or 0 for count in skipped)
    assert training_totals(rounds) == {"training_steps_skipped": total}
