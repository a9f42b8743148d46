"""Writing of bundles: runs of a database in one archive that others can check and merge."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from orchestrator.exchange.bundles.archive import (
    BundleCounts,
    BundleManifest,
    Member,
    MemberContent,
    RunEntry,
    matrix_name,
    sha256,
    size,
    write_archive,
)
from orchestrator.store.query.runs import resolve_run
from orchestrator.store.query.whole_runs import BundleRows, StoredRun, bundle_rows
from orchestrator.store.records.kept import SCHEMA
from orchestrator.store.store import Store
from orchestrator.system.files import (
    OUTPUT_HINT,
    output_file,
    require_free,
    require_no_stream,
    translate_os_errors,
)
from runner import __version__
from runner.contract.errors import NothingToDo
from runner.contract.record.record import SCHEMA_VERSION

_OPTION = "--bundle"
_UNFINISHED = ".records"
"""A name that no merge takes for a record file, should it be left behind."""


@dataclass(frozen=True)
class WrittenBundle:
    """A bundle that was written."""

    bundle: Path
    bytes: int
    sha256: str
    manifest: BundleManifest


def write_bundle(
    database: Path, runs: Sequence[str], output: Path, *, force: bool
) -> WrittenBundle:
    """Write these runs (`last` is the newest) or all; the same content gives the same bytes."""
    require_no_stream(_OPTION, output)
    require_free(_OPTION, output, force=force, database=database)
    with (
        bundle_rows(database, _named(database, runs)) as taken,
        translate_os_errors(output, hint=OUTPUT_HINT),
    ):
        if not taken.runs:
            raise NothingToDo(f"{database}: holds no run to export")
        output.parent.mkdir(parents=True, exist_ok=True)
        manifest = write_rows(taken, output)
    return WrittenBundle(output, size(output), sha256(output), manifest)


def write_rows(taken: BundleRows, output: Path) -> BundleManifest:
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as folder:
        manifest, members = _contents(taken, Path(folder, _UNFINISHED))
        with output_file(output) as file:
            write_archive(file, members)
    return manifest


def _named(database: Path, runs: Sequence[str]) -> set[str]:
    if not runs:
        return set()
    with Store.open_readonly(database) as store:
        known = store.runs()
    able = {run.run_id for run in known if run.counts}
    return {resolve_run(run, known, database, able) for run in runs}


def _write_records(taken: BundleRows, path: Path) -> tuple[int, int]:
    """Write the records of a bundle; returns the number of them, and of their hosts."""
    rows = 0
    hosts: set[str] = set()
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", write_page_checksum=True) as writer:
        for table in taken.records():
            writer.write_table(table.combine_chunks())
            rows += table.num_rows
            hosts.update(filter(None, pc.unique(table["hostname"]).to_pylist()))
    return rows, len(hosts)


def _contents(taken: BundleRows, records: Path) -> tuple[BundleManifest, dict[str, MemberContent]]:
    count, hosts = _write_records(taken, records)
    runs = [_entry(stored) for stored in taken.runs]
    lists = {
        Member.RUNS: runs,
        Member.HARDWARE: taken.hardware(),
        Member.ENVIRONMENTS: taken.environments(),
        Member.ARTEFACTS: taken.artefacts(),
    }
    matrices = {
        matrix_name(stored.run.run_id): stored.run.matrix.encode()
        for stored in taken.runs
        if stored.run.matrix is not None
    }
    members: dict[str, MemberContent] = {
        name: (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode()
        for name, rows in lists.items()
    }
    members |= {**matrices, Member.RECORDS: records}
    manifest = BundleManifest(
        accelmatrix=__version__,
        record_version=SCHEMA_VERSION,
        scratch=taken.scratch,
        counts=BundleCounts(
            runs=len(runs),
            records=count,
            hosts=hosts,
            matrices=len(matrices),
            hardware=len(lists[Member.HARDWARE]),
            environments=len(lists[Member.ENVIRONMENTS]),
            artefacts=len(lists[Member.ARTEFACTS]),
        ),
        members={name: size(members[name]) for name in sorted(members)},
    )
    members[Member.MANIFEST] = (manifest.model_dump_json(indent=2) + "\n").encode()
    return manifest, members


def _entry(stored: StoredRun) -> dict[str, Any]:
    run = stored.run
    matrix = None if run.matrix is None else matrix_name(run.run_id)
    entry = RunEntry(**{**run.model_dump(), "matrix": matrix}, described=stored.described)
    return entry.model_dump(mode="json")
