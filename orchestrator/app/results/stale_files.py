"""Cached artifacts that no installed version uses any more, and finished preparations."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from orchestrator.app.measure import prepare
from orchestrator.launchers.registry import LAUNCHERS
from orchestrator.running import graphs, references
from orchestrator.running.artifacts import hold_artifacts, versions_of
from orchestrator.running.run_file import RUN_FILE
from orchestrator.system.files import translate_os_errors
from runner.contract.artifact_keys import GRAPHS, REFERENCES, Producer, is_made_by

_GRAPH = re.compile(r".+-[0-9a-f]{16}")
_REFERENCE = re.compile(r"\.?([0-9a-f]{32}|.+-[0-9a-f]{16})\.(npz|failed)(\.tmp)?")

StaleKind = Literal["graph", "reference", "preparation"]


@dataclass(frozen=True)
class StaleFile:
    """A file or folder that no run or preparation of the present code would use."""

    kind: StaleKind
    path: Path
    """A file, or a folder with all that lies in it."""
    size_bytes: int
    """Bytes of all its files."""
    removed: bool = False
    """True if it was removed, false if it is only listed."""


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def find_stale_files(results: Path) -> list[StaleFile]:
    """All there are; links, and files with none of our names, are left out."""
    candidates: list[tuple[StaleKind, Iterator[Path]]] = [
        ("graph", _old_graphs(results / graphs.GRAPHS_FOLDER)),
        ("reference", _old_references(results / references.REFERENCES_FOLDER)),
        ("preparation", _preparations(results / prepare.PREPARATIONS_FOLDER)),
    ]
    return [StaleFile(kind, path, _size(path)) for kind, paths in candidates for path in paths]


def remove_stale_files(
    results: Path, note: Callable[[str], None], delete: Callable[[Path], None] = _delete
) -> list[StaleFile]:
    """Remove them while nobody makes or reads any; returns those that were removed.

    Raises:
        StoreError: something cannot be removed.
    """
    with hold_artifacts("the removal of old graphs", note):
        files = find_stale_files(results)
        for file in files:
            with translate_os_errors(
                file.path, "cannot be removed", "whoever owns it can remove it"
            ):
                delete(file.path)
    return [replace(file, removed=True) for file in files]


def _old_graphs(folder: Path) -> Iterator[Path]:
    is_current = _current(GRAPHS)
    for path in _entries(folder):
        if path.is_dir() and _GRAPH.fullmatch(path.name) and not is_current(path.name):
            yield path


def _old_references(folder: Path) -> Iterator[Path]:
    is_current = _current(REFERENCES)
    for path in _entries(folder):
        named = _REFERENCE.fullmatch(path.name)
        if path.is_file() and named and not is_current(named[1]):
            yield path


def _preparations(folder: Path) -> Iterator[Path]:
    return (path for path in _entries(folder) if (path / RUN_FILE).is_file())


def _current(producer: Producer) -> Callable[[str], bool]:
    """A test for names that the present code gives, whichever launcher launches its jobs."""
    kinds = {launcher.needs_images for launcher in LAUNCHERS.values()}
    makers = [versions_of(producer, in_images=in_images) for in_images in kinds]
    return lambda name: any(is_made_by(name, versions) for versions in makers)


def _entries(folder: Path) -> list[Path]:
    """Files and folders directly below, without links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if not path.is_symlink()]


def _size(path: Path) -> int:
    if not path.is_dir():
        return _file_size(path)
    return sum(
        _file_size(Path(folder, name)) for folder, _, names in os.walk(path) for name in names
    )


def _file_size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:  # a running job's, gone meanwhile
        return 0
