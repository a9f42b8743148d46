"""Write graphs into their folder atomically."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.contract.errors import Unsupported
from runner.contract.files import save_text, sync
from runner.contract.graph import (
    FAILED_SUFFIX,
    GRAPH_FILE,
    UNFINISHED_SUFFIX,
    Attempt,
    Graph,
    read_graph,
)
from runner.contract.reasons import Reason, reason, write_reason
from runner.export.onnx_files import sha256_of_files


def publish_graph(folder: Path, shape: str, make: Callable[[Path], Graph]) -> None:
    """Let `make` write the files of a graph into a temporary folder, then rename it.

    Errors of `make` pass through, and leave nothing behind. A process that is killed leaves an
    unfinished folder, which is never read and which the next export removes.
    """
    with _unfinished(folder, shape) as files:
        graph = make(files)
        for path in files.iterdir():
            sync(path)
        save_text(files / GRAPH_FILE, graph.model_dump_json(indent=2))
        shutil.rmtree(folder / shape, ignore_errors=True)
        files.rename(folder / shape)
    (folder / f"{shape}{FAILED_SUFFIX}").unlink(missing_ok=True)


@contextmanager
def _unfinished(folder: Path, shape: str) -> Iterator[Path]:
    """A folder that is removed at the end unless it was renamed.

    Temporary files lie there too: the exporter's libraries write whole models into them, for which
    a container's /tmp is too small.
    """
    path, usual = folder / f".{shape}{UNFINISHED_SUFFIX}", tempfile.tempdir
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    tempfile.tempdir = str(path)
    try:
        yield path
    finally:
        tempfile.tempdir = usual
        shutil.rmtree(path, ignore_errors=True)


def save_refusal(folder: Path, shape: str, attempts: Iterable[Attempt]) -> None:
    """Save the reasons why there is no graph, one of each attempt."""
    folder.mkdir(parents=True, exist_ok=True)
    tried = {f"attempt{n}": _attempted(attempt) for n, attempt in enumerate(attempts, 1)}
    explanation = write_reason(reason("attempts_failed", **tried))
    save_text(folder / f"{shape}{FAILED_SUFFIX}", explanation)


def _attempted(attempt: Attempt) -> Reason:
    return reason("attempt_failed", way=attempt.remedy, cause=attempt.failure)


def is_intact(folder: Path) -> bool:
    """True if the folder holds a graph, every byte of it as it was written."""
    try:
        graph = read_graph(folder)
    except Unsupported:
        return False
    return all(part.sha256 == sha256_of_files(part.files(folder)) for part in graph.parts.values())
