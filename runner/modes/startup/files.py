"""Files that a start opens: modules, libraries, the model's graph, weights and configuration."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from runner.contract.errors import Unsupported
from runner.contract.graph import GRAPH_FILE, find_graph
from runner.contract.job import Job
from runner.contract.weights import WEIGHTS_SUFFIX

_VIRTUAL = ("/proc/", "/sys/", "/dev/")
_PATH_AT = 5
"""The column of a mapping's path, proc(5)."""


class OpenedFiles:
    """Notes what Python opens from now on, and knows where the rest of a start's files are listed.

    Python reports what it opens itself (PEP 578). Libraries are mapped as long as they are used.
    What a runtime's own code opens and closes lies in the folder of the prepared graph, or beside a
    configuration that was opened.
    """

    def __init__(self) -> None:
        self._opened: set[str] = set()
        sys.addaudithook(self._note)

    def of(self, job: Job, graphs: Path | None) -> list[str]:
        """Plain files of this process's start, sorted."""
        opened = set(self._opened)  # the hook goes on
        paths = {*opened, *_modules(), *_mapped(), *_graph_files(job, graphs), *_weights(opened)}
        return sorted(path for path in paths if _is_plain(path))

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            self._opened.add(arguments[0])


def _modules() -> Iterator[str]:
    """Sources and bytecode of the modules that are imported, and the interpreter."""
    yield sys.executable
    for module in list(sys.modules.values()):
        for name in ("__file__", "__cached__"):
            path = getattr(module, name, None)
            if isinstance(path, str):
                yield path


def _mapped() -> Iterator[str]:
    """Files that this process and those that it has started map; none where none are listed."""
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(OSError):
            maps = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8", errors="replace")
            for line in maps.splitlines():
                yield from line.split(None, _PATH_AT)[_PATH_AT:]


def _graph_files(job: Job, graphs: Path | None) -> Iterator[str]:
    if job.graph is not None:
        try:
            graph, folder = find_graph(job, job.cells[0], graphs)
        except Unsupported:  # a start that succeeded did without
            return
        yield str(folder / GRAPH_FILE)
        for part in graph.parts.values():
            yield from map(str, part.files(folder))


def _weights(opened: Iterable[str]) -> Iterator[str]:
    for folder in {Path(path).parent for path in opened if path.endswith("config.json")}:
        yield from map(str, folder.glob(f"*{WEIGHTS_SUFFIX}"))


def _is_plain(path: str) -> bool:
    return not path.startswith(_VIRTUAL) and Path(path).is_file()
