"""The fake backend behaves as the model's config says."""

from typing import Any

import pytest

from runner.backends.fake import FakeSession, open_session
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell, fake_model

CELL = fake_cell(2, new_tokens=4)


def a_session(faults: dict[str, str] | None = None, **config: Any) -> FakeSession:
    return open_session(a_job([CELL], fake_model(faults, **{"latency_s": 0, **config})), threads=1)


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
