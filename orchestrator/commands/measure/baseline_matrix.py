"""The baseline that another matrix describes: the same cells with the models as they are there.

Whoever changes a model has both versions of it in two folders, e.g. two checkouts of a repository,
each with its matrix. The cells of both are the same, and their models differ.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.planning.plan import Plan
from orchestrator.running.interleaved.folders import BaselineVersion
from orchestrator.system.text import plural
from runner.contract.errors import NothingToDo

MATRIX_SUFFIXES = (".yaml", ".yml")


def is_matrix(word: str) -> bool:
    """True if a baseline's name is that of a matrix file."""
    return word.endswith(MATRIX_SUFFIXES)


def matrix_version(path: Path, request: PlanRequest, plan: Plan) -> BaselineVersion:
    """The models of that matrix, for the cells of the plan that it has too and that they change."""
    other, _ = plan_run(replace(request, matrix=path, select=(), limit=None))
    there = {entry.cell.id for entry in other.with_decision("run")}
    cells = [entry.cell for entry in plan.with_decision("run") if entry.cell.id in there]
    if not cells:
        raise NothingToDo(
            f"{path} has none of the cells that would be measured",
            hint="both matrices name the same models, backends and sizes",
        )
    changed = {
        name for name in {cell.model for cell in cells} if plan.models[name] != other.models[name]
    }
    if not changed:
        raise NothingToDo(
            f"{path} has the same models: nothing differs that could be compared",
            hint="a change shows in a model's configuration or in its weights",
        )
    return BaselineVersion(
        images=(),
        cells=frozenset(cell.id for cell in cells if cell.model in changed),
        models={name: other.models[name] for name in changed},
    )


def same_models(path: Path, version: BaselineVersion, plan: Plan) -> Iterator[str]:
    """A line about the cells that are left out since nothing of them differs, if there are any."""
    count = sum(entry.cell.id not in version.cells for entry in plan.with_decision("run"))
    if count:
        cells = plural(count, "cell")
        yield f"{count:,} {cells} left out, which {path} has not, or with the same model"
