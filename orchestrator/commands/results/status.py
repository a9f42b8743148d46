"""State of a database and its record files: rows, verdicts, runs, and results that are stale."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import runner
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.machine import this_host
from orchestrator.images.image import SOURCE_LABEL
from orchestrator.images.settings import read_site_hashes
from orchestrator.images.source import OUR_FOLDERS, SourceFolders, find_source
from orchestrator.store.query.coverage import Covered, Verdicts, size_on_disk
from orchestrator.store.query.results import RunSummary
from orchestrator.store.query.stale import Installation, Stale
from orchestrator.store.store import Store
from runner.contract.axes import AXES


@dataclass(frozen=True)
class StaleResults(Stale):
    """Cells whose newest proven results are stale, and the command that measures them anew."""

    command: str


@dataclass(frozen=True)
class StatusReport:
    """All that `orchestrator status` reports."""

    database: Path
    results: Path
    """The folder in which its record files were looked for."""
    scratch: bool
    database_bytes: int
    """The database file with its log."""
    parquet_files: int
    """Record files of the database's runs in the results folder, unfinished ones left out."""
    parquet_bytes: int
    rows: Mapping[str, int]
    """Rows by table."""
    verdicts: tuple[Verdicts, ...]
    """By source, ours first."""
    covered: tuple[Covered, ...]
    """By model and backend, without what others measured."""
    runs: tuple[RunSummary, ...]
    """The newest first."""
    contradicted: int
    """The latest results that the one before them in their series contradicts."""
    stale: tuple[StaleResults, ...]
    """The largest group first."""


def report_status(results: Path, database: Path, installation: Installation) -> StatusReport:
    """The state of this database, and of its runs' Parquet files in that folder."""
    with Store.open_readonly(database) as store:
        runs = tuple(store.runs())
        size = size_on_disk(database, results, {run.run_id for run in runs})
        coverage = store.coverage()
        stale = sorted(store.stale(installation), key=lambda group: -group.cells)
        return StatusReport(
            database=database,
            results=results,
            scratch=store.scratch,
            database_bytes=size.database_bytes,
            parquet_files=size.parquet_files,
            parquet_bytes=size.parquet_bytes,
            rows=coverage.rows,
            verdicts=coverage.verdicts,
            covered=coverage.covered,
            runs=runs,
            contradicted=coverage.contradicted,
            stale=tuple(_with_command(group) for group in stale),
        )


def _with_command(group: Stale) -> StaleResults:
    facts: dict[str, Any] = {field.name: getattr(group, field.name) for field in fields(group)}
    return StaleResults(**facts, command=remeasure_command(group))


def remeasure_command(group: Stale) -> str:
    """The command that measures these cells anew: the one typed then, or the same by options."""
    if group.planned_by is None:
        return shlex.join(["orchestrator", "bench", *_options(group)])
    words = shlex.split(group.planned_by)
    commands = [word for word in words[1:] if not word.startswith("-")]
    narrowed = any(word.startswith("--select") for word in words)
    if commands[:1] != ["run"] or narrowed:
        return group.planned_by
    return f"{group.planned_by} --select {shlex.quote(f'{group.backend}-*')}"


def _options(group: Stale) -> list[str]:
    given = [
        *("--backend", group.backend, "--runtime", group.runtime, "--launcher", group.launcher),
    ]
    options: Mapping[str, str] = {axis.name: axis.option for axis in AXES}
    for axis, values in group.axes.items():
        given += [options[axis], ",".join(map(_text, values))]
    return given


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


_IMAGES: Mapping[str, str | None] = {name: spec.image for name, spec in CATALOGUE.items()}


def current_installation(folders: SourceFolders = OUR_FOLDERS) -> Installation:
    """This machine with this AccelMatrix; images are compared with the files it has."""
    site_hashes = read_site_hashes()

    @cache
    def source(image: str) -> str | None:
        files = find_source(image, folders, site_hashes)
        return files.fingerprint() if files else None

    def is_outdated(backend: str, labels: Mapping[str, str]) -> bool:
        image, built_of = _IMAGES.get(backend), labels.get(SOURCE_LABEL)
        return bool(image and built_of and source(image) not in {None, built_of})

    return Installation(this_host(), runner.__version__, is_outdated)
