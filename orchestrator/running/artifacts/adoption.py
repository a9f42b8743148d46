"""Adoption of what artifact jobs leave: exactly the expected files, looked at and then moved.

A job writes into a folder of its own. What it left there is a claim: only plain files of the
expected names and sizes are taken, and nothing else of the cache can be reached by it.
"""

import re
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

from orchestrator.system.text import escape_control
from orchestrator.system.trees import remove_entry, remove_tree
from orchestrator.system.zip_files import ZIP_ERRORS, stored_entries
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, Unsupported
from runner.contract.files import TEXT_BYTES, open_plain, plain_fault, read_plain_text, sync
from runner.contract.graph import (
    FAILED_SUFFIX,
    GRAPH_FILE,
    UNFINISHED_SUFFIX,
    Graph,
    graph_kind,
    number_format,
    read_graph,
)
from runner.contract.reasons import Reason, parse_reason, reason

REFERENCE_BYTES = 4 << 30
"""Most bytes of a reference."""
SHAPE = re.compile(r"dynamic|[a-z][0-9]+(-[a-z][0-9]+)*")
"""The name of a graph's folder: the sizes that it takes."""
_ARRAY = ".npy"
_GRAPH_BYTES = 1 << 40
_MOST_REASON = 10_000
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
"""Whoever the jobs' user is, it may read what is taken."""


def is_reference(path: Path) -> bool:
    """True if it is a reference, and whole; what is packed or encrypted is none."""
    return reference_names(path) is not None


def reference_names(path: Path) -> list[str] | None:
    """The names of a reference's arrays; None if it is none, or not whole."""
    try:
        with open_plain(path, REFERENCE_BYTES) as file, ZipFile(file) as archive:
            entries = stored_entries(archive, path.lstat().st_size)
            arrays = all(entry.filename.endswith(_ARRAY) for entry in entries)
            names = [entry.filename.removesuffix(_ARRAY) for entry in entries]
            return names if entries and arrays and archive.testzip() is None else None
    except (DamagedFile, *ZIP_ERRORS):
        return None


def reason_in(path: Path) -> Reason | None:
    """The reason that a job left in a file, without what would steer a terminal; or None."""
    try:
        text = read_plain_text(path, TEXT_BYTES).strip()
    except (OSError, DamagedFile):
        return None
    if not text:
        return None
    left = parse_reason(text)
    facts = {name: escape_control(fact[:_MOST_REASON]) for name, fact in left.facts.items()}
    return replace(left, facts=facts)


def take_file(draft: Path, path: Path) -> None:
    """Move a plain file into its place, readable for everybody.

    Raises:
        OSError: the file system refused.
    """
    draft.chmod(_FILE_MODE)
    sync(draft)
    remove_entry(path)
    draft.replace(path)


def take_graph(draft: Path, path: Path, cell: Cell | None) -> None:
    """Move a graph's own files from one folder into another, which appears whole or not at all.

    Args:
        draft: the folder, named after the graph's shape.
        path: the other folder.
        cell: a cell that executes the graph; None if whoever made it is believed.

    Raises:
        Unsupported: it is another graph, or not one of plain files alone.
        OSError: the file system refused.
    """
    graph = _examined(draft, cell)
    unfinished = path.with_name(f".{path.name}{UNFINISHED_SUFFIX}")
    remove_entry(unfinished)
    unfinished.mkdir()
    try:
        for file in graph_files(graph, draft):
            take_file(file, unfinished / file.name)
        unfinished.chmod(_FOLDER_MODE)
        sync(unfinished)
        remove_entry(path)
        unfinished.rename(path)
    finally:
        remove_tree(unfinished)


def shapes_left(folder: Path, most: int) -> Mapping[str, Path]:
    """The folders below a job's graph that are named like a shape, at most so many of them."""
    return _named_like_shapes(folder, "", most)


def refusals_left(folder: Path, most: int) -> Mapping[str, Path]:
    """The files with reasons against a shape, by that shape, at most so many of them."""
    return _named_like_shapes(folder, FAILED_SUFFIX, most)


def _named_like_shapes(folder: Path, suffix: str, most: int) -> Mapping[str, Path]:
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return {}
        entries = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(suffix))
    except OSError:
        return {}
    shapes = (name.removesuffix(suffix) for name in entries)
    known = [shape for shape in shapes if SHAPE.fullmatch(shape)]
    return {shape: folder / f"{shape}{suffix}" for shape in known[:most]}


def graph_files(graph: Graph, folder: Path) -> list[Path]:
    """The files of a graph, its description the last.

    Raises:
        Unsupported: it names a file elsewhere.
    """
    files = [file for part in graph.parts.values() for file in part.files(folder)]
    for file in files:
        if file.parent != folder or not file.name:
            raise Unsupported(reason("graph_names_elsewhere", graph=folder.name))
    return [*dict.fromkeys(files), folder / GRAPH_FILE]


def _examined(draft: Path, cell: Cell | None) -> Graph:
    if not stat.S_ISDIR(draft.lstat().st_mode):
        raise Unsupported(reason("graph_no_folder", graph=draft.name))
    try:
        _require_plain(draft / GRAPH_FILE, TEXT_BYTES)
        graph = read_graph(draft)
        for file in graph_files(graph, draft):
            _require_plain(file, _GRAPH_BYTES)
    except OSError as error:
        raise Unsupported(
            reason("graph_refused", graph=draft.name, error=error.strerror)
        ) from error
    if cell is None:
        return graph
    expected = (cell.model, graph_kind(cell), number_format(cell), draft.name)
    if (graph.model, graph.content, graph.numbers, graph.shape) != expected:
        raise Unsupported(reason("other_graph", graph=draft.name))
    return graph


def _require_plain(path: Path, most_bytes: int) -> None:
    if fault := plain_fault(path, most_bytes):
        raise Unsupported(
            reason("graph_file_fault", graph=path.parent.name, file=path.name, fault=fault)
        )
