"""The fake backend behaves as the model's config says."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runner.backends.fake import FAULTS, FakeSession, Script, is_out_of_memory, open_session
from runner.inputs import synthesise
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell, fake_model

CELL = fake_cell(2, new_tokens=4)


def a_session(faults: dict[str, str] | None = None, **config: Any) -> FakeSession:
    return open_session(a_job([CELL], fake_model(faults, **{"latency_s": 0, **config})), threads=1)


def test_outputs_are_the_inputs() -> None:
    session = a_session()
    inputs = synthesise(fake_model(), CELL, seed=0)
    arrays = session.arrays(session.bind(CELL, inputs)())
    assert arrays["x"].shape == (2, 8)
    assert session.arrays(None) == {}


def test_outputs_are_finite_unless_the_config_says_otherwise() -> None:
    assert a_session().all_finite({})
    assert not a_session().all_finite(None)
    assert not a_session(finite=False).all_finite({})


def test_tokens_can_go_missing() -> None:
    generated = a_session(tokens=3).bind_generation(CELL, {}, FakeClock())()
    assert generated.tokens.shape == (2, 3)
    assert len(generated.token_times_ns) == 3


def test_losses_follow_the_script_and_the_last_one_stays() -> None:
    with closing(a_session(losses=[2, "nan"]).bind_training(CELL, {}, FakeClock())) as trainer:
        losses = [trainer.step().loss for _ in range(3)]
    assert losses[0] == 2
    assert all(loss != loss for loss in losses[1:])  # NaN alone differs from itself


def test_a_model_may_refuse_to_learn() -> None:
    with closing(a_session(learns=False).bind_training(CELL, {}, FakeClock())) as trainer:
        trainer.step()
        assert trainer.unchanged()


@pytest.mark.parametrize("what", ["query", "generation", "training"])
def test_faults_strike_the_cells_they_name(what: str) -> None:
    session = a_session({"*-b2-*": "raise"})
    actions: dict[str, Any] = {
        "query": session.bind(CELL, {}),
        "generation": session.bind_generation(CELL, {}, FakeClock()),
        "training": session.bind_training(CELL, {}, FakeClock()).step,
    }
    with pytest.raises(RuntimeError, match="a scripted failure"):
        actions[what]()
    session.bind(fake_cell(1), {})()


def test_loading_can_fail_too() -> None:
    with pytest.raises(MemoryError) as caught:
        a_session({"load": "memory_error"})
    assert is_out_of_memory(caught.value)


def test_loading_takes_the_time_it_is_told_and_a_slow_session_longer_each_time() -> None:
    naps: list[float] = []
    FakeSession(Script({"load_s": 3}, sleep=naps.append))
    script = Script({"latency_s": 2, "drift": 0.5}, sleep=naps.append)
    for share in (1, 1, 0.25):
        script.nap(share)
    assert naps == [3, 2, 3, 1]


def test_the_faults_that_end_a_process_are_known_by_name() -> None:
    assert {"hang", "fill_memory", "die", "exit"} <= set(FAULTS)


def test_a_trace_says_that_there_was_nothing_to_trace(tmp_path: Path) -> None:
    a_session().trace(lambda: None, tmp_path / "cell")
    text = (tmp_path / "cell.operators.txt").read_text("utf-8")
    assert text == "the fake backend executes no operators\n"
