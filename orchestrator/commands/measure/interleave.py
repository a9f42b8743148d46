"""Interleaved comparisons: a matrix measured side by side with the version of a baseline."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.results.selection import VersionRecord, runs_of_cells, version_records
from orchestrator.backends.catalogue import LauncherName
from orchestrator.backends.machine import this_machine
from orchestrator.commands.measure.plan import PlanReport, plan_run, with_exports
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import Pinned, choose_launcher, make_launcher
from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.execution import estimates_s, telling_how_to_finish
from orchestrator.running.interleaved import (
    BaselineVersion,
    BothFolders,
    BothOutcomes,
    InterleavedExecution,
    create_both,
)
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.store.health.snapshots import list_snapshots
from orchestrator.store.query.runs import resolve_run, steps_back
from orchestrator.store.store import Store
from orchestrator.system.files import SNAPSHOTS_FOLDER
from orchestrator.system.text import plural
from runner.contract.axes import Backend
from runner.contract.errors import ImageError, NothingToDo, UsageError
from runner.contract.record.ids import model_id

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,239}")
_WITHOUT = "`--compare-to` without `--interleave` judges by what is recorded"


@dataclass(frozen=True)
class RecordedBaseline:
    """The measurements of an earlier version, with which a run shall take turns."""

    label: str
    records: Mapping[str, VersionRecord]
    """By cell id: cells of the plan that it measured."""


def find_baseline(word: str, database: Path, results: Path, plan: Plan) -> RecordedBaseline:
    """The measurements of the plan's cells that a word names.

    The word is `last`, which is the newest run that measured one of the cells, a run's id, or the
    name of a snapshot, which lie beside the runs in `results`.
    """
    cells = [entry.cell.id for entry in plan.with_decision("run")]
    with _opened(word, database, results, cells) as (store, run_id):
        records = {record.cell_id: record for record in version_records(store, run_id, cells)}
    label = run_id or word
    if not records:
        raise NothingToDo(
            f"{label} measured none of the {len(cells)} cells",
            hint="`orchestrator status` lists the runs there are",
        )
    return RecordedBaseline(label, records)


def version_of(baseline: RecordedBaseline, plan: Plan, weights_seed: int) -> BaselineVersion:
    """The images and graphs that the baseline's records name.

    A graph counts for the model and the weights that the plan has, and for no others.
    """
    records = list(baseline.records.values())
    images = {record.backend: _image_of(record, baseline.label) for record in records}
    for record in records:
        if images[record.backend] != (other := _image_of(record, baseline.label)):
            two = sorted((images[record.backend].digest, other.digest))
            raise UsageError(
                f"{baseline.label} measured {record.backend} in two images: {' and '.join(two)}",
                hint="name a run that has one of them, or choose cells with --select",
            )
    models = {name: model_id(spec.content) for name, spec in plan.models.items()}
    wanted = {entry.cell.id: models[entry.cell.model] for entry in plan.with_decision("run")}
    graphs = {
        record.cell_id: graph
        for record in records
        if (wanted[record.cell_id], weights_seed) == (record.model_id, record.weights_seed)
        and (graph := _graph_of(record))
    }
    return BaselineVersion(tuple(images.values()), frozenset(baseline.records), graphs)


@contextmanager
def _opened(
    word: str, database: Path, results: Path, cells: Sequence[str]
) -> Iterator[tuple[Store, str | None]]:
    """The database that a word is about, and the run in it; None for the newest of each cell."""
    with Store.open_readonly(database) as store:
        runs = store.runs()
        if steps_back(word) is not None:
            able = runs_of_cells(store, cells)
            if not able:
                raise NothingToDo(
                    f"no run measured one of the {len(cells)} cells, so there is no last one",
                    hint="`orchestrator run` without --compare-to makes the first",
                )
            yield store, resolve_run(word, runs, database, able)
            return
        if word in {run.run_id for run in runs}:
            yield store, word
            return
    for snapshot in list_snapshots(results / SNAPSHOTS_FOLDER):
        if word in (snapshot.folder.name, snapshot.manifest.name):
            with Store.open_readonly(snapshot.database) as store:
                yield store, None
            return
    resolve_run(word, runs, database)  # which refuses it, and names the nearest


def _image_of(record: VersionRecord, label: str) -> Pinned:
    if record.image is None or record.image_digest is None:
        raise ImageError(
            f"{label}: {record.cell_id} was measured by a local process, so its record names no"
            " image in which its version could be measured again",
            hint=f"measure a baseline with `--launcher docker`; {_WITHOUT}",
        )
    return Pinned(record.backend, record.image, record.image_digest)


def _graph_of(record: VersionRecord) -> str | None:
    try:
        job = json.loads(record.job or "null")
    except (ValueError, RecursionError):
        return None
    name = job.get("graph") if isinstance(job, dict) else None
    return name if isinstance(name, str) and _ID.fullmatch(name) else None


def left_out(baseline: RecordedBaseline, cells: Iterable[str]) -> str | None:
    """A line about cells that the baseline did not measure; None without any."""
    missing = [cell for cell in cells if cell not in baseline.records]
    if not missing:
        return None
    count = len(missing)
    return (
        f"{count:,} {plural(count, 'cell')} left out, which {baseline.label} did not measure:"
        f" {missing[0]}{' and others' if count > 1 else ''}"
    )


def is_matrix(word: str) -> bool:
    return word.endswith((".yaml", ".yml"))


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
        name
        for name in {cell.model for cell in cells}
        if plan.models[name].content != other.models[name].content
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


def run_interleaved(
    request: PlanRequest, baseline: str, threshold: float, observer: Observer
) -> tuple[BothFolders, BothOutcomes]:
    """Plan a matrix, and measure each cell in today's version and in that of a baseline.

    The baseline is `last`, a run's id, the name of a snapshot, or another matrix file.
    """
    _require_fit(request.options, baseline)
    requested = request.options.launcher if is_matrix(baseline) else "docker"
    name = choose_launcher(requested, observer.note)
    plan, source, version = _plan_pairs(request, baseline)
    launchers = _launchers(name, version.images, request.options.images, observer)
    for note in plan.notes:
        observer.note(note)
    options = replace(request.options, launcher=name)
    folders = create_both(plan, source, request.results, options, version, threshold)
    observer.note(with_exports(plan, request).sums())
    return folders, _execute(folders, launchers, observer, request.options)


def report_pairs(request: PlanRequest, baseline: str) -> PlanReport:
    _require_fit(request.options, baseline)
    plan, *_ = _plan_pairs(request, baseline)
    return with_exports(plan, request)


def resume_interleaved(
    folders: BothFolders, observer: Observer, options: RunOptions
) -> BothOutcomes:
    """Measure what two runs have left whose launches take turns.

    A pair that was cut in two is measured anew.
    """
    import analysis.regress.verdicts  # noqa: F401 - needs the extra `analysis`

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
) -> BothOutcomes:
    observer.run_started(estimates_s(folders.run, folders.unfinished()))
    execution = InterleavedExecution(
        folders, launchers, observer, options, memory_bytes=this_machine().memory_bytes
    )
    resume = f"`orchestrator run --resume last{folders.run.elsewhere}`"
    finish, name = f"{resume} finishes it, pair by pair", f"run {folders.run.run.run_id}"
    with telling_how_to_finish(name, folders.unfinished, finish, observer):
        return execution.run()


def _require_fit(options: RunOptions, baseline: str) -> None:
    """Refuse options without times, or without images for a version that records name."""
    if options.purpose == "verify":
        raise UsageError(
            "--interleave compares times, and --verify-only takes none",
            hint="leave one of them out",
        )
    if not is_matrix(baseline):
        _require_containers(options)


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


def _plan_pairs(request: PlanRequest, baseline: str) -> tuple[Plan, RunSource, BaselineVersion]:
    """The plan of both versions, with notes about its pairs."""
    from analysis.regress.verdicts import looks_from  # needs the extra `analysis`

    plan, source = plan_run(request)
    version, label, remarks = _baseline(request, baseline, plan)
    looks = {name: looks_from(one.rounds) for name, one in plan.measure.items()}
    paired = _paired(plan, version, looks)
    notes = (*plan.notes, *remarks, _describe(label, version, paired))
    return paired.model_copy(update={"notes": notes}), source, version


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
    growth = {name: 2 * now.rounds / plan.measure[name].rounds for name, now in measure.items()}
    entries = tuple(
        replace(
            entry,
            estimate_s=growth[entry.cell.backend] * entry.estimate_s,
            launch_s=2 * entry.launch_s,
        )
        for entry in plan.entries
        if entry.decision != "run" or entry.cell.id in version.cells
    )
    return plan.model_copy(update={"entries": entries, "measure": measure})


def _describe(label: str, version: BaselineVersion, plan: Plan) -> str:
    images = ", ".join(f"{one.backend} in {one.digest[:_LETTERS]}" for one in version.images)
    content = images or f"its {', '.join(sorted(version.models))}"
    counts = {(one.rounds, one.most_rounds) for one in plan.measure.values()}
    least, most = min(one for one, _ in counts), max(one for _, one in counts)
    bound = f"{least}" if least == most else f"{least} to {most}"
    return f"{bound} pairs of launches a cell, with {label}: {content}"
