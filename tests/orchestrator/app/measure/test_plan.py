"""What a run may be asked for."""

from pathlib import Path

import pytest

from orchestrator.app.measure import plan as planning
from orchestrator.app.measure.plan import PlanRequest, plan_run
from runner.contract.errors import UsageError


def test_a_plan_too_large_for_one_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text("version: 1\naxes: {model: bert-tiny, batch_size: [1, 2, 3]}\n")
    monkeypatch.setattr(planning, "MOST_RUN_CELLS", 2)
    with pytest.raises(UsageError, match="3 cells are more than the 2 that one run may") as caught:
        plan_run(PlanRequest(matrix, results=tmp_path))
    assert "--limit" in str(caught.value.hint)
    plan, source = plan_run(PlanRequest(matrix, results=tmp_path, limit=2))
    assert (len(plan.entries), source.matrix) == (2, matrix.read_text())
