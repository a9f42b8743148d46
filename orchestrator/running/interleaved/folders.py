"""The folders of a run and of the baseline that it takes turns with: made and opened together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from orchestrator.launchers.registry import Pinned
from orchestrator.planning.plan import Plan
from orchestrator.running.create import new_run_file, require_resumable, require_runnable
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import (
    Interleaving,
    RecordedVersion,
    RunFile,
    RunSource,
    new_run_id,
)
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.models import ModelSpec


@dataclass(frozen=True)
class BaselineVersion:
    """The version of a baseline, as its records or another matrix name it."""

    images: Sequence[Pinned]
    """The image of each backend; none for today's."""
    cells: Collection[str]
    """The ids of the plan's cells that it has."""
    graphs: Mapping[str, str] = field(default_factory=dict)
    """The prepared graph of each cell that executed one, by cell id."""
    models: Mapping[str, ModelSpec] = field(default_factory=dict)
    """The models that it has otherwise, by name."""


@dataclass(frozen=True)
class BothFolders:
    """The folders of two runs whose launches take turns."""

    run: RunFolder
    baseline: RunFolder

    @classmethod
    def create(cls, results: Path, run: RunFile) -> Self:
        """Make both folders.

        The run's, which names the baseline in full, comes first: if nothing more is made, opening
        it makes the other one.

        Raises:
            UsageError: the plan is too large.
            StoreError: the results folder cannot be written.
        """
        return cls(RunFolder.create(results, run), RunFolder.create(results, _baseline_of(run)))

    @classmethod
    def open(cls, results: Path, folder: RunFolder) -> Self | None:
        """The folder of either run with that of the other; None for a run that stands alone.

        Raises:
            UsageError: the run that the baseline belongs to is gone.
            StoreError: a `run.json` is damaged, or the results folder cannot be written.
        """
        if version := folder.run.version:
            folder = RunFolder.open(results, version.compared)
        if folder.run.interleaving is None:
            return None
        baseline = _baseline_of(folder.run)
        if (results / baseline.run_id).exists():
            return cls(folder, RunFolder.open(results, baseline.run_id))
        return cls(folder, RunFolder.create(results, baseline))

    def require_left(self, source: RunSource, database: Path | None = None) -> None:
        """Insist that both have cells left, and that these can be measured.

        Raises:
            UsageError: the matrix named with them is another one.
            NothingToDo: they have a verdict for every cell; if they were killed before these were
                in the database, they are now.
            StoreError: a folder or the database cannot be used.
        """
        require_resumable(self.run, source, database)
        if self.unfinished:
            return
        for folder in (self.baseline, self.run):
            merge_run(folder, database or folder.database).require_complete()
        ids = f"run {self.run.run.run_id} and its baseline {self.baseline.run.run_id}"
        raise NothingToDo(f"{ids} have a verdict for each of their cells")

    @property
    def unfinished(self) -> list[Cell]:
        """The cells that one of both has left, in the plan's order."""
        left = {*self.run.unfinished(), *self.baseline.unfinished()}
        return [cell for cell in self.run.cells if cell in left]


def create_both(
    plan: Plan,
    source: RunSource,
    results: Path,
    options: RunOptions,
    version: BaselineVersion,
    threshold: float,
) -> BothFolders:
    """Make the folders of a run and of its baseline: same cells, lengths, limits and seeds.

    Models are those of the plan, where the version has no others.

    Raises:
        NothingToDo: no cell of the plan would run.
        StoreError: the results folder cannot be written or is nearly full.
    """
    require_runnable(plan, results, options)
    first = new_run_file(plan, source, results, options)
    run_id = new_run_id(results, first.run_id)
    recorded = RecordedVersion(
        compared=run_id, images=tuple(version.images), graphs=dict(version.graphs)
    )
    to_run = plan.model_copy(
        update={
            "entries": tuple(plan.with_decision("run")),
            "models": {**plan.models, **version.models},
        }
    )
    untraced = replace(first.options, trace=False)
    baseline = first.model_copy(update={"plan": to_run, "options": untraced, "version": recorded})
    turns = Interleaving(baseline=baseline, threshold=threshold)
    return BothFolders.create(
        results, first.model_copy(update={"run_id": run_id, "interleaving": turns})
    )


def _baseline_of(run: RunFile) -> RunFile:
    if run.interleaving is None:
        raise UsageError(f"run {run.run_id} stands alone")
    return run.interleaving.baseline
