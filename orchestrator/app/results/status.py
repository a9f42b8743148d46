"""What lies in a database and beside it, and what of it has aged."""

import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import runner
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.images.image import SOURCE_LABEL
from orchestrator.images.source import find_source
from orchestrator.store import Coverage, Installed, RunSummary, Size, Stale, Store, size_on_disk
from orchestrator.system.git import ROOT
from runner.contract.axes import AXES


@dataclass(frozen=True)
class Status:
    """All that `orchestrator status` tells."""

    database: Path
    results: Path
    """The folder in which its record files were looked for."""
    scratch: bool
    size: Size
    coverage: Coverage
    runs: tuple[RunSummary, ...]
    """The newest first."""
    stale: tuple[Stale, ...]
    """The largest group first."""


def status_of(results: Path, database: Path, installed: Installed) -> Status:
    """The state of this database, and of its runs' Parquet files in that folder.

    Raises:
        StoreError: there is no database, or it cannot be read.
    """
    with Store.open_readonly(database) as store:
        stale = sorted(store.stale(installed), key=lambda group: -group.cells)
        runs = tuple(store.runs())
        return Status(
            database=database,
            results=results,
            scratch=store.scratch,
            size=size_on_disk(database, results, {run.run_id for run in runs}),
            coverage=store.coverage(),
            runs=runs,
            stale=tuple(stale),
        )


def command_anew(group: Stale) -> str:
    """What measures these cells anew: what was typed then, or else the same by options."""
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
        if values:
            given += [options[axis], ",".join(_text(value) for value in sorted(values))]
    return given


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


_IMAGES: Mapping[str, str | None] = {name: spec.image for name, spec in CATALOGUE.items()}


def this_installation(checkout: Path = ROOT) -> Installed:
    """This host with this AccelMatrix; a checkout tells whether its images are of its files."""

    @cache
    def source(image: str) -> str | None:
        found = find_source(checkout, image)
        return found.fingerprint() if found else None

    def is_outdated(backend: str, labels: Mapping[str, str]) -> bool:
        image, built_of = _IMAGES.get(backend), labels.get(SOURCE_LABEL)
        return bool(image and built_of and source(image) not in {None, built_of})

    return Installed(socket.gethostname(), runner.__version__, is_outdated)
