"""Another matrix as the baseline: the cells of both whose models differ, by any launcher."""

from pathlib import Path

import pytest

from orchestrator.commands.measure.interleave import report_pairs
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.running.options import RunOptions
from runner.contract.errors import NothingToDo, UsageError

MATRIX = """
version: 1
axes:
  model: [models.yaml{more}]
  backend: cpu
  batch_size: [1, 2]
"""
MODELS = """
- {{name: ours, family: embedding, size: tiny, modality: text,
    config: {{num_hidden_layers: {layers}}}}}
- {{name: same, family: embedding, size: tiny, modality: text}}
"""


def checkout(folder: Path, layers: int, more: str = "") -> Path:
    """A version of somebody's repository: a matrix and the models beside it."""
    folder.mkdir()
    (folder / "models.yaml").write_text(MODELS.format(layers=layers))
    (folder / "matrix.yaml").write_text(MATRIX.format(more=more))
    return folder / "matrix.yaml"


def request(matrix: Path, results: Path) -> PlanRequest:
    options = RunOptions(launcher="process")
    return PlanRequest(matrix, results=results, options=options)


def test_the_cells_of_changed_models_are_measured_in_both_versions(tmp_path: Path) -> None:
    base = checkout(tmp_path / "base", layers=2)
    head = checkout(tmp_path / "head", layers=4, more=", gpt2")
    plan = report_pairs(request(head, tmp_path / "results"), str(base)).plan
    due = [entry.cell.id for entry in plan.with_decision("run")]
    assert due == ["cpu-ours-fp32-b1-s128-inference", "cpu-ours-fp32-b2-s128-inference"]
    assert plan.measure["cpu"].rounds >= 10
    left, pairs = plan.notes[-2:]
    assert left == f"4 cells left out, which {base} has not, or with the same model"
    assert pairs.endswith(f"pairs of launches a cell, with {base}: its ours")


@pytest.mark.parametrize(
    ("layers", "select", "message"),
    [(2, (), "has the same models"), (4, ("*gpt2*",), "has none of the cells")],
)
def test_without_a_difference_there_is_nothing_to_measure(
    tmp_path: Path, layers: int, select: tuple[str, ...], message: str
) -> None:
    base = checkout(tmp_path / "base", layers=2)
    head = checkout(tmp_path / "head", layers=layers, more=", gpt2")
    chosen = PlanRequest(head, select=select, results=tmp_path / "results")
    with pytest.raises(NothingToDo, match=message):
        report_pairs(chosen, str(base))


def test_a_matrix_that_is_wrong_is_named(tmp_path: Path) -> None:
    head = checkout(tmp_path / "head", layers=4)
    with pytest.raises(UsageError, match=r"base\.yaml"):
        report_pairs(request(head, tmp_path / "results"), str(tmp_path / "base.yaml"))
