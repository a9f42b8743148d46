"""Loaded graphs of ONNX Runtime, with one session for each part."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.backends.onnxruntime.device import OnnxDevice
from runner.backends.onnxruntime.sessions import DimensionSizes, create_session, session_options
from runner.contract.graph import Graph, Part

_CONTEXT_ENABLE = "ep.context_enable"
_CONTEXT_FILE = "ep.context_file_path"

Sessions = Mapping[Part, Any]


class OnnxGraph:
    """The sessions of a graph's parts."""

    def __init__(
        self,
        graph: Graph,
        folder: Path,
        device: OnnxDevice,
        threads: int,
        *,
        sizes: DimensionSizes | None = None,
        context: Path | None = None,
    ) -> None:
        """Load every part.

        Args:
            graph: the graph to load.
            folder: the folder of its files.
            device: the device that executes it.
            threads: threads that one operator may use.
            sizes: values of the graph's symbolic dimensions.
            context: a folder for the compiled parts, of devices that compile.
        """
        self.graph = graph
        self.device = device
        self._folder = folder
        self.kept: object = None
        """The object that keeps the folder if it is a temporary one."""
        self._threads = threads
        self._sizes = sizes
        self.sessions: Sessions = self._open(context=context)
        """The sessions by part; another mapping as soon as they are other sessions."""

    @contextmanager
    def profiled(self, folder: Path) -> Iterator[Sessions]:
        """Let queries execute on profiling sessions within the context.

        Their profiles lie in the folder after `end_profiling`.
        """
        usual = self.sessions
        self.sessions = self._open(profile=folder)
        try:
            yield self.sessions
        finally:
            self.sessions = usual

    def close(self) -> None:
        """Drop the sessions; queries keep theirs."""
        self.sessions = {}

    def _open(self, *, context: Path | None = None, profile: Path | None = None) -> Sessions:
        return {
            name: create_session(
                self._folder / part.file,
                self.device,
                lambda fallback, name=name: session_options(  # type: ignore[misc]
                    self._threads,
                    fallback=fallback,
                    sizes=self._sizes,
                    entries=_context_entries(context, name, fallback),
                    profile=None if profile is None else profile / name,
                ),
            )
            for name, part in self.graph.parts.items()
        }


def context_file(session: Any) -> Path:
    """The file of the compiled part that a session with a context has written."""
    return Path(session.get_session_options().get_session_config_entry(_CONTEXT_FILE))


def _context_entries(context: Path | None, part: Part, fallback: bool) -> dict[str, str]:
    """A file of its own for each attempt, since a refused one leaves its file behind."""
    if context is None:
        return {}
    file = context / f"{part}-{'divided' if fallback else 'whole'}.onnx"
    return {_CONTEXT_ENABLE: "1", _CONTEXT_FILE: str(file)}
