"""The version that a baseline's records name: the images and graphs that it was measured in."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from analysis.results.selection import VersionRecord, newest_run_of, version_records
from orchestrator.launchers.registry import Pinned
from orchestrator.planning.plan import Plan
from orchestrator.running.interleaved.folders import BaselineVersion
from orchestrator.store.health.snapshots import list_snapshots
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.store import Store
from orchestrator.system.files import SNAPSHOTS_FOLDER
from orchestrator.system.text import plural
from runner.contract.errors import ImageError, NothingToDo, UsageError
from runner.contract.record.ids import model_id

_LAST = "last"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,239}")
_WITHOUT = "`--compare-to` without `--interleave` judges by what is recorded"


@dataclass(frozen=True)
class RecordedBaseline:
    """The measurements of an earlier version, with which a run shall take turns."""

    label: str
    """A run's id, or a snapshot's name."""
    records: Mapping[str, VersionRecord]
    """By cell id: cells of the plan that it measured."""


def find_baseline(word: str, database: Path, results: Path, plan: Plan) -> RecordedBaseline:
    """The measurements of the plan's cells that a word names.

    Args:
        word: `last`, which is the newest run that measured one of the cells, a run's id, or the
            name of a snapshot.
        database: the database that holds the run.
        results: the folder beside whose runs snapshots lie.
        plan: the cells.
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
    models = {name: model_id(spec.model_dump_json()) for name, spec in plan.models.items()}
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
        if word == _LAST:
            yield store, _required(newest_run_of(store, cells), cells)
            return
        if word in {run.run_id for run in runs}:
            yield store, word
            return
    snapshot = next(
        (
            one
            for one in list_snapshots(results / SNAPSHOTS_FOLDER)
            if word in (one.folder.name, one.manifest.name)
        ),
        None,
    )
    if snapshot is None:
        resolve_run(word, runs, database)  # which refuses it, and names the nearest
        return
    with Store.open_readonly(snapshot.database) as store:
        yield store, None


def _required(run_id: str | None, cells: Sequence[str]) -> str:
    if run_id is None:
        raise NothingToDo(
            f"no run measured one of the {len(cells)} cells, so there is no last one",
            hint="`orchestrator run` without --compare-to makes the first",
        )
    return run_id


def _image_of(record: VersionRecord, label: str) -> Pinned:
    if record.image is None or record.image_digest is None:
        raise ImageError(
            f"{label}: {record.cell_id} was measured by a local process, so its record names no"
            " image in which its version could be measured again",
            hint=f"measure a baseline with `--launcher docker`; {_WITHOUT}",
        )
    return Pinned(record.backend, record.image, record.image_digest)


def _graph_of(record: VersionRecord) -> str | None:
    """The prepared graph that the record's job names; None without one."""
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
