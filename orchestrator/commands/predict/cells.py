"""The cells that a question to a predictor is about, by options, ids or a matrix file."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from analysis.predict.examples.work import sibling_work
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.bench_matrix import bench_matrix
from orchestrator.planning.expand import expand
from orchestrator.screen.words.reasons import error_text, reason_text
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import RUNTIMES, SIZE_LETTERS, AxisName, Backend, Mode, Precision, Runtime
from runner.contract.cell import DEFAULT_RUNTIMES, Cell
from runner.contract.errors import BenchError, EngineUnavailable, UsageError
from runner.contract.models import ModelSpec
from runner.contract.models.counted import CountedWork
from runner.contract.models.work import Polynomials, catalogued_polynomials
from runner.contract.reasons import Reason

if TYPE_CHECKING:
    from orchestrator.launchers.base import Launcher
    from orchestrator.running.observer import Observer

_SIZES = "|".join(letter for letter, _ in SIZE_LETTERS)
_ID = re.compile(
    rf"(?P<backend>{'|'.join(get_args(Backend))})-"
    rf"(?:(?P<runtime>{'|'.join(get_args(Runtime))})-)?"
    rf"(?P<model>.+)-(?P<precision>{'|'.join(get_args(Precision))})"
    rf"(?P<shape>(?:-(?:{_SIZES})[0-9]+)+)-(?P<mode>{'|'.join(get_args(Mode))})(?P<pure>-pure)?"
)
_SIZE = re.compile(rf"-({_SIZES})([0-9]+)")
_NAMES: Mapping[str, AxisName] = dict(SIZE_LETTERS)


@dataclass(frozen=True)
class CellsAsked:
    """A question to a predictor."""

    database: Path
    results: Path = RESULTS_FOLDER
    axes: Mapping[AxisName, Sequence[str]] = field(default_factory=dict)
    device: str | None = None
    """The name of a machine or a device; None for the best known one of each backend."""
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class PossibleCells:
    """Cells of a question, with their models."""

    cells: tuple[tuple[Cell, Reason | None], ...]
    """Each with the reason if no machine can run it."""
    models: Mapping[str, ModelSpec]
    counts: Mapping[str, Polynomials] = field(default_factory=dict)
    """The work of models that are not of the catalogue, by name."""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    """The reasons why the work of others is not known, by name."""
    guessed: Mapping[str, str] = field(default_factory=dict)
    """Sentences about work that is taken from another model, by name."""


def require_models(axes: Mapping[AxisName, Sequence[str]]) -> None:
    if not axes.get("model"):
        raise UsageError(
            "predict: --model is missing",
            hint="for example `orchestrator predict --model bert-tiny --batch-size 1,2,4,8`",
        )


def cells_of_axes(axes: Mapping[AxisName, Sequence[str]]) -> PossibleCells:
    matrix = bench_matrix(BenchOptions.of_axes(axes), command="predict")
    return PossibleCells(expand(matrix).cells, matrix.models)


def axes_of_id(cell_id: str) -> dict[AxisName, Sequence[str]]:
    match = _ID.fullmatch(cell_id)
    if match is None:
        raise UsageError(
            f"{cell_id!r} is no id of a cell that can be predicted",
            hint="one is cpu-bert-tiny-fp32-b8-s128-inference; `orchestrator plan MATRIX` lists"
            " those of a matrix, and --model, --backend, … name one too",
        )
    facts: dict[str, Any] = match.groupdict()
    backend, runtime, model = facts["backend"], facts["runtime"], facts["model"]
    if runtime is not None and runtime not in RUNTIMES[backend]:
        model, runtime = f"{runtime}-{model}", None
    sizes = {_NAMES[letter]: [number] for letter, number in _SIZE.findall(facts["shape"])}
    pure: dict[AxisName, Sequence[str]] = {"training_precision": ["pure"]} if facts["pure"] else {}
    return {
        "model": [model],
        "backend": [backend],
        "runtime": [runtime or DEFAULT_RUNTIMES[backend]],
        "precision": [facts["precision"]],
        "mode": [facts["mode"]],
        **sizes,
        **pure,
    }


Notice = Callable[[str], None]
"""Hears in a line what is being done."""


def unheard_notice(_: str) -> None:
    """Notice that nobody hears."""


@dataclass(frozen=True)
class ModelCounts:
    """The counted work of one model, as far as it is known."""

    polynomials: Polynomials | None
    """Polynomials for `iteration_work` and `counts_of`; None if there are none. Jobs count
    `parameters` too, and leave out a generation that cannot be counted."""
    reason: str | None = None


def counted_cells(possible: PossibleCells, results: Path, report: Notice) -> PossibleCells:
    """The cells with counted work: a job counts what nobody has, else a like model's is a guess."""
    models = possible.models
    custom = {name: model for name, model in models.items() if not catalogued_polynomials(model)}
    if not custom:
        return possible
    counted = _counted(custom, results, report)
    missing = {
        name: one.reason or "nobody counted its work"
        for name, one in counted.items()
        if one.polynomials is None
    }
    guesses = {name: work for name in missing if (work := sibling_work(custom[name]))}
    return replace(
        possible,
        counts={
            **{name: one.polynomials for name, one in counted.items() if one.polynomials},
            **{name: work.polynomials for name, work in guesses.items()},
        },
        uncounted={name: reason for name, reason in missing.items() if name not in guesses},
        guessed={
            name: f"the work of {name} is not counted ({missing[name]}); it is taken from"
            f" {work.sibling}, by layers and width"
            for name, work in guesses.items()
        },
    )


def known_counts(model: ModelSpec, results: Path = RESULTS_FOLDER) -> ModelCounts:
    """The counted work of a model that needs no job: the catalogue's, or an earlier job's."""
    if (polynomials := catalogued_polynomials(model)) is not None:
        return ModelCounts(polynomials)
    from orchestrator.running.artifacts.work_counts import kept_counts

    counted = kept_counts(results, model)
    return ModelCounts(None, "nobody has counted its work yet") if counted is None else _of(counted)


def kept_polynomials(results: Path) -> Callable[[ModelSpec], Polynomials | None]:
    return lambda model: known_counts(model, results).polynomials


def count_models(
    models: Mapping[str, ModelSpec], results: Path, launcher: "Launcher", observer: "Observer"
) -> Mapping[str, ModelCounts]:
    """Count each model in a job of its own, some ten seconds long; its device is held meanwhile."""
    from orchestrator.backends.catalogue import CATALOGUE
    from orchestrator.planning.plan import Plan, PlannedCell, RunSource
    from orchestrator.running.artifacts.cache import ARTIFACT_BACKEND, hold_artifacts
    from orchestrator.running.artifacts.work_counts import WorkCounts, counting_cell
    from orchestrator.running.create import new_run_file, require_space
    from orchestrator.running.execute_job import Availability, LaunchContext
    from orchestrator.running.folder import RunFolder
    from orchestrator.running.options import RunOptions
    from orchestrator.running.run_file import PREPARATIONS_FOLDER

    require_space(results)
    options = RunOptions(launcher=launcher.name, seed=0)
    by_name = {model.name: model for model in models.values()}
    cells = map(counting_cell, by_name.values())
    plan = Plan(  # of the cells that such jobs have, for the folder with their files
        entries=tuple(PlannedCell(cell=cell, decision="run") for cell in cells),
        notes=(),
        whole=True,
        models=by_name,
        measure={},
        limits={},
    )
    run = new_run_file(plan, RunSource(), results / PREPARATIONS_FOLDER, options, "count")
    with hold_artifacts(f"counting {run.run_id}", observer.note):
        with suppress(EngineUnavailable):
            launcher.clean(CATALOGUE[ARTIFACT_BACKEND].locks)
        folder = RunFolder.create(results / PREPARATIONS_FOLDER, run)
        context = LaunchContext(launcher, folder, observer)
        counts = WorkCounts(results, context, Availability(launcher))
        return {name: _of(counts.count(model)) for name, model in models.items()}


def _counted(
    models: Mapping[str, ModelSpec], results: Path, report: Notice
) -> Mapping[str, ModelCounts]:
    known = {name: known_counts(model, results) for name, model in models.items()}
    missing = {name: models[name] for name, one in known.items() if one.polynomials is None}
    if not missing:
        return known
    from orchestrator.launchers.registry import choose_launcher, make_launcher
    from orchestrator.running.observer import QuietObserver

    report(f"counting the work of {', '.join(missing)}, which takes some ten seconds each")
    observer = QuietObserver()
    try:
        launcher = make_launcher(choose_launcher("auto", observer.note), observer.image_step)
        return {**known, **count_models(missing, results, launcher, observer)}
    except BenchError as error:
        return {**known, **dict.fromkeys(missing, ModelCounts(None, error_text(error)))}


def _of(counted: CountedWork | Reason) -> ModelCounts:
    if isinstance(counted, Reason):
        return ModelCounts(None, reason_text(counted))
    lack = None if counted.reason is None else reason_text(counted.reason)
    return ModelCounts(counted.polynomials or None, lack)
