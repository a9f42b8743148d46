"""Interleaved comparisons: a matrix measured in two versions side by side, launch by launch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import this_machine
from orchestrator.commands.measure.baseline import find_baseline, left_out, version_of
from orchestrator.commands.measure.plan import PlanReport, plan_run, with_exports
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import Pinned, choose_launcher, make_launcher
from orchestrator.planning.plan import Plan, PlannedCell
from orchestrator.running.interleaved.folders import BaselineVersion, BothFolders, create_both
from orchestrator.running.observer import Observer, describe_interruption
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunSource
from runner.contract.cell import Backend
from runner.contract.errors import UsageError
from runner.contract.job import Measure

if TYPE_CHECKING:
    from orchestrator.running.interleaved.execution import BothOutcomes
from collections.abc import Iterator

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


INTERLEAVED_THRESHOLD = 0.03
"""The least relative change that matters between launches that took turns."""
_LETTERS = 19
"""Letters of a digest that are shown: `sha256:` and twelve digits."""


@dataclass(frozen=True)
class _PairedPlan:
    plan: Plan
    source: RunSource
    version: BaselineVersion


def run_interleaved(
    request: PlanRequest, baseline: str, threshold: float, observer: Observer
) -> tuple[BothFolders, "BothOutcomes"]:
    """Plan a matrix, and measure each cell in today's version and in that of a baseline.

    Args:
        request: the matrix and the options of the run.
        baseline: `last`, a run's id, the name of a snapshot, or another matrix file.
        threshold: the least relative change that matters.
        observer: is told of the progress.
    """
    name = _launcher_name(request.options, baseline, observer)
    paired = _plan_pairs(request, baseline)
    launchers = _launchers(name, paired.version.images, request.options.images, observer)
    for note in paired.plan.notes:
        observer.note(note)
    options = replace(request.options, launcher=name)
    made_of = (paired.plan, paired.source, request.results, options)
    folders = create_both(*made_of, paired.version, threshold)
    observer.note(str(with_exports(paired.plan, request).sums()))
    return folders, _execute(folders, launchers, observer, request.options)


def report_pairs(request: PlanRequest, baseline: str) -> PlanReport:
    """The plan of such a run, of which nothing is measured."""
    _require_timed(request.options)
    if not is_matrix(baseline):
        _require_containers(request.options)
    return with_exports(_plan_pairs(request, baseline).plan, request)


def resume_interleaved(
    folders: BothFolders, observer: Observer, options: RunOptions
) -> "BothOutcomes":
    """Measure what two runs have left whose launches take turns.

    A pair that was cut in two is measured anew.
    """
    from orchestrator.running.interleaved import execution  # noqa: F401 - needs the extra `analysis`

    version = folders.baseline.run.version
    images = version.images if version else ()
    if images:
        _require_containers(options)
    name = choose_launcher(folders.run.run.launcher, observer.note)
    launchers = _launchers(name, images, folders.run.run.options.images, observer)
    return _execute(folders, launchers, observer, options)


def _execute(
    folders: BothFolders,
    launchers: tuple[Launcher, Launcher],
    observer: Observer,
    options: RunOptions,
) -> "BothOutcomes":
    from orchestrator.running.interleaved.execution import InterleavedExecution

    left = set(folders.unfinished)
    entries = (entry for entry in folders.run.run.plan.entries if entry.cell in left)
    observer.run_started({entry.cell.id: entry.estimate_s for entry in entries})
    memory_bytes = this_machine().memory_bytes
    execution = InterleavedExecution(
        folders, launchers, observer, options, memory_bytes=memory_bytes
    )
    try:
        return execution.run()
    except KeyboardInterrupt:
        count = len(folders.unfinished)
        observer.note(describe_interruption(f"run {folders.run.run.run_id}", count))
        resume = f"`orchestrator run --resume last{folders.run.elsewhere}`"
        observer.note(f"{resume} finishes it, pair by pair")
        raise


def _launcher_name(options: RunOptions, baseline: str, observer: Observer) -> LauncherName:
    """The launcher of both versions: recorded ones need images, a matrix takes any."""
    _require_timed(options)
    if is_matrix(baseline):
        return choose_launcher(options.launcher, observer.note)
    _require_containers(options)
    return choose_launcher("docker", observer.note)


def _require_timed(options: RunOptions) -> None:
    if options.purpose == "verify":
        raise UsageError(
            "--interleave compares times, and --verify-only takes none",
            hint="leave one of them out",
        )


def _require_containers(options: RunOptions) -> None:
    if options.launcher == "process":
        raise UsageError(
            "--interleave needs images: local processes have one version, the one installed",
            hint="leave out `--launcher process`; `--compare-to` without `--interleave` needs none",
        )


def _launchers(
    name: LauncherName, images: Iterable[Pinned], chosen: Mapping[Backend, str], observer: Observer
) -> tuple[Launcher, Launcher]:
    """The launcher of today's images, or chosen ones, and that of the baseline's, held here."""
    pinned = list(images)
    today = make_launcher(name, observer.image_step, chosen=chosen)
    earlier = make_launcher(name, observer.image_step, pinned, chosen)
    for image in pinned:
        earlier.prepare(image.backend)
    for image in pinned:
        if today.prepare(image.backend).image_digest == image.digest:
            observer.note(
                f"both versions of {image.backend} are the same image, {image.digest[:_LETTERS]}:"
                " what they differ by is noise"
            )
    return today, earlier


def _plan_pairs(request: PlanRequest, baseline: str) -> _PairedPlan:
    """The plan of both versions, with notes about its pairs."""
    from analysis.regress.verdicts import looks_from  # needs the extra `analysis`

    plan, source = plan_run(request)
    version, label, remarks = _baseline(request, baseline, plan)
    looks = {name: looks_from(one.rounds) for name, one in plan.measure.items()}
    paired = _paired(plan, version, looks)
    notes = (*plan.notes, *remarks, _describe(label, version, paired))
    return _PairedPlan(paired.model_copy(update={"notes": notes}), source, version)


def _baseline(
    request: PlanRequest, word: str, plan: Plan
) -> tuple[BaselineVersion, str, Sequence[str]]:
    """The version that a word means, its name, and lines about cells that are left out."""
    if is_matrix(word):
        version = matrix_version(Path(word), request, plan)
        return version, word, [*same_models(Path(word), version, plan)]
    earlier = find_baseline(word, request.database, request.results, plan)
    cells = [entry.cell.id for entry in plan.with_decision("run")]
    remark = left_out(earlier, cells)
    version = version_of(earlier, plan, request.options.weights_seed)
    return version, earlier.label, [remark] if remark else []


def _paired(plan: Plan, version: BaselineVersion, looks: dict[Backend, tuple[int, ...]]) -> Plan:
    """The plan with as many rounds as a comparison by pairs takes, without cells that have none.

    A launch keeps its share of iterations and time, and there are two of each.
    """
    measure = {
        backend: one.of_rounds(looks[backend][0]).model_copy(
            update={"max_rounds": looks[backend][-1]}
        )
        for backend, one in plan.measure.items()
    }
    entries = tuple(
        _doubled(entry, plan.measure[entry.cell.backend], measure[entry.cell.backend])
        for entry in plan.entries
        if entry.decision != "run" or entry.cell.id in version.cells
    )
    return plan.model_copy(update={"entries": entries, "measure": measure})


def _doubled(entry: PlannedCell, before: Measure, now: Measure) -> PlannedCell:
    """The cell with the estimate of its launches in both versions."""
    rounds = now.rounds / before.rounds
    return replace(entry, estimate_s=2 * rounds * entry.estimate_s, launch_s=2 * entry.launch_s)


def _describe(label: str, version: BaselineVersion, plan: Plan) -> str:
    """The pairs in one line: of what, and how many."""
    images = ", ".join(f"{one.backend} in {one.digest[:_LETTERS]}" for one in version.images)
    content = images or f"its {', '.join(sorted(version.models))}"
    counts = {(one.rounds, one.most_rounds) for one in plan.measure.values()}
    least, most = min(one for one, _ in counts), max(one for _, one in counts)
    bound = f"{least}" if least == most else f"{least} to {most}"
    return f"{bound} pairs of launches a cell, with {label}: {content}"
