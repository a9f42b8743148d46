"""Versions that are measured again beside a run: of records, a matrix, images, or a checkout."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.results.selection import VersionRecord, runs_of_cells, version_records
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.checkout import find_checkout, has_runner
from orchestrator.launchers.registry import Pinned, make_launcher
from orchestrator.planning.plan import Plan
from orchestrator.running.interleaved import BaselineVersion
from orchestrator.running.observer import Observer
from orchestrator.running.options import ChosenImage
from orchestrator.store.health.snapshots import list_snapshots
from orchestrator.store.query.runs import resolve_run, steps_back
from orchestrator.store.store import Store
from orchestrator.system.files import SNAPSHOTS_FOLDER
from orchestrator.system.text import plural
from runner.contract.errors import ImageError, NothingToDo, UsageError
from runner.contract.record.ids import model_id

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,239}")
_WITHOUT = "`--compare-to` without `--interleave` judges by what is recorded"
_COMMIT_DIGITS = 12
NamedBaseline = str | tuple[ChosenImage, ...]
"""A word of `--compare-to`, or the first images of backends that have two."""


@dataclass(frozen=True)
class RecordedBaseline:
    """The measurements of an earlier version, which a run is to be measured side by side with."""

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
    other, _ = plan_run(replace(request, matrix=path, select=(), limit=None), grouped=False)
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


def is_checkout(word: str, request: PlanRequest) -> bool:
    """True if the word is a path, or names a checkout here and neither a run nor a snapshot."""
    if os.sep in word or word in {".", ".."}:
        return True
    return has_runner(word) and steps_back(word) is None and word not in _recorded(request)


def _recorded(request: PlanRequest) -> Iterator[str]:
    for snapshot in list_snapshots(request.results / SNAPSHOTS_FOLDER):
        yield from filter(None, (snapshot.folder.name, snapshot.manifest.name))
    if request.database.exists():
        with Store.open_readonly(request.database) as store:
            yield from [run.run_id for run in store.runs()]


def checkout_version(word: str, plan: Plan) -> tuple[BaselineVersion, str]:
    """The checkout in that folder, and its name with its commit."""
    checkout = find_checkout(word)
    cells = frozenset(entry.cell.id for entry in plan.with_decision("run"))
    sha, dash, changed = (checkout.commit or "").partition("-")
    commit = f"commit {sha[:_COMMIT_DIGITS]}{dash}{changed}" if sha else "its runner"
    return BaselineVersion(images=(), cells=cells, checkout=checkout), f"{word}: {commit}"


def images_version(
    images: Sequence[ChosenImage], plan: Plan
) -> tuple[BaselineVersion, str, Sequence[str]]:
    """The version of these images, which are yet to be pinned, its name, and what is left out."""
    backends = {image.backend for image in images}
    cells = [entry.cell for entry in plan.with_decision("run")]
    both = frozenset(cell.id for cell in cells if cell.backend in backends)
    if not both:
        raise NothingToDo(
            f"no cell is measured on {' or '.join(sorted(backends))}, which has two images",
            hint="name images of the backends that are measured",
        )
    names = ", ".join(f"{image.backend} in {image.reference}" for image in images)
    left = len(cells) - len(both)
    remark = f"{left:,} {plural(left, 'cell')} left out, whose backend has one image"
    return BaselineVersion((), both), f"the first image: {names}", [remark] if left else []


def pinned_images(images: Sequence[ChosenImage], observer: Observer) -> tuple[Pinned, ...]:
    """These images by their digests; those that the engine lacks are pulled."""
    chosen = {image.backend: image.reference for image in images}
    launcher = make_launcher("docker", observer.image_step, chosen=chosen)
    prepared = [(backend, launcher.prepare(backend)) for backend in chosen]
    return tuple(
        Pinned(backend, str(one.image), str(one.image_digest)) for backend, one in prepared
    )
