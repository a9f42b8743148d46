"""Counted work of models: the catalogue's, what earlier jobs counted, and what new ones count."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.running.artifacts.cache import ARTIFACT_BACKEND, hold_artifacts
from orchestrator.running.artifacts.work_counts import WorkCounts, counting_cell, kept_counts
from orchestrator.running.availability import Availability
from orchestrator.running.create import new_run_file, require_space
from orchestrator.running.execute_job import LaunchContext
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer, QuietObserver
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import PREPARATIONS_FOLDER, RunSource
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.errors import EngineUnavailable
from runner.contract.models import ModelSpec
from runner.contract.models.counted import CountedWork
from runner.contract.models.work import Polynomials, catalogued_polynomials
from runner.contract.reasons import Reason

_NOT_COUNTED = "nobody has counted its work yet"


@dataclass(frozen=True)
class ModelCounts:
    """The counted work of one model, as far as it is known."""

    polynomials: Polynomials | None
    """Polynomials for `iteration_work` and `counts_of`; None if there are none. Jobs count
    `parameters` too, and leave out a generation that cannot be counted."""
    reason: str | None = None
    """The reason why something is not counted; None if everything is."""


@dataclass(frozen=True)
class CountingOptions:
    """Options of counting."""

    results: Path = RESULTS_FOLDER
    """The folder of all runs, beside which counts are kept."""
    launcher: str = "auto"
    """The launcher of the jobs that count."""
    launch: bool = False
    """True if models that nobody counted are counted now."""


def counted_polynomials(
    models: Mapping[str, ModelSpec],
    options: CountingOptions,
    observer: Observer | None = None,
) -> Mapping[str, ModelCounts]:
    """The counted work of models, by their ids, in the given order.

    A job counts one model, from its configuration alone, which takes some ten seconds each.

    Raises:
        UsageError: a variable about images is wrong.
        EngineUnavailable: containers were asked for and no engine answers, or it went away.
        StoreError: the results folder cannot be written.
    """
    known = {name: known_counts(model, options.results) for name, model in models.items()}
    missing = {name: models[name] for name, counts in known.items() if counts.polynomials is None}
    if not missing or not options.launch:
        return known
    observer = observer or QuietObserver()
    name = choose_launcher(options.launcher, observer.note)
    launcher = make_launcher(name, observer.image_step)
    return {**known, **count_models(missing, options.results, launcher, observer)}


def known_counts(model: ModelSpec, results: Path = RESULTS_FOLDER) -> ModelCounts:
    """The counted work of a model that needs no job: the catalogue's, or an earlier job's."""
    if (polynomials := catalogued_polynomials(model)) is not None:
        return ModelCounts(polynomials)
    counted = kept_counts(results, model)
    return ModelCounts(None, _NOT_COUNTED) if counted is None else _of_job(counted)


def count_models(
    models: Mapping[str, ModelSpec], results: Path, launcher: Launcher, observer: Observer
) -> Mapping[str, ModelCounts]:
    """Count each model in a job of its own, while this process holds the device of such jobs.

    Raises:
        EngineUnavailable: the engine went away.
        StoreError: the results folder cannot be written.
    """
    require_space(results)
    options = RunOptions(launcher=launcher.name, seed=0)
    plan = _plan(models.values())
    run = new_run_file(plan, RunSource(), results / PREPARATIONS_FOLDER, options, "count")
    with hold_artifacts(f"counting {run.run_id}", observer.note):
        with suppress(EngineUnavailable):
            launcher.clean(CATALOGUE[ARTIFACT_BACKEND].locks)
        folder = RunFolder.create(results / PREPARATIONS_FOLDER, run)
        context = LaunchContext(launcher, folder, observer)
        counts = WorkCounts(results, context, Availability(launcher))
        return {name: _of_job(counts.count(model)) for name, model in models.items()}


def _plan(models: Iterable[ModelSpec]) -> Plan:
    """A plan of the cells that such jobs have, for the folder with their files."""
    by_name = {model.name: model for model in models}
    cells = map(counting_cell, by_name.values())
    return Plan(
        entries=tuple(PlannedCell(cell=cell, decision="run") for cell in cells),
        notes=(),
        whole=True,
        models=by_name,
        measure={},
        limits={},
    )


def _of_job(counted: CountedWork | Reason) -> ModelCounts:
    if isinstance(counted, Reason):
        return ModelCounts(None, reason_text(counted))
    lack = None if counted.reason is None else reason_text(counted.reason)
    return ModelCounts(counted.polynomials or None, lack)
