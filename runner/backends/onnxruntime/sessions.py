"""Sessions of ONNX Runtime on a device without silent fallback, their options, and a graph's."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from runner.backends.onnxruntime.device import OnnxDevice
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.graph import Graph, Part
from runner.contract.reasons import reason

_FALLBACK_REFUSED = "fallback to CPU EP has been explicitly disabled"
_OUT_OF_MEMORY_MESSAGES = (
    "Failed to allocate memory",
    "bad_alloc",
    "bad allocation",
    "out of memory",
    "is smaller than requested bytes",
)
"""Messages of the CPU's arena, of C++, of CUDA, and of an arena with a limit."""
_LATER = (errors.Fail, errors.EPFail, errors.RuntimeException)
_ASSIGNMENT = "session.record_ep_graph_assignment_info"
NO_FALLBACK = "session.disable_cpu_ep_fallback"
SPINNING = "session.intra_op.allow_spinning"
_CONTEXT_ENABLE, _CONTEXT_FILE = "ep.context_enable", "ep.context_file_path"
_MODES = ("htp_performance_mode", "rpc_control_latency")
"""Options of a device that decide its speed, which a plugin's session does not tell again."""

Sessions = Mapping[Part, Any]
Nodes = Mapping[str, Counter[str]]
"""The number of nodes by provider and operator, as the graph was divided."""
DimensionSizes = Mapping[str, int]
"""Values of a graph's symbolic dimensions, by their names."""
_Options = Callable[[bool], Any]
"""Makes a session's options; the argument says if nodes may fall back to the CPU provider."""


def is_out_of_memory(error: BaseException) -> bool:
    text = str(error)
    ours = type(error).__module__.startswith("onnxruntime")
    return ours and any(message in text for message in _OUT_OF_MEMORY_MESSAGES)


def create_session(model: Path | bytes, device: OnnxDevice, options: _Options) -> Any:
    """A session on the device; only what an accelerator cannot take goes to the CPU provider."""
    try:
        session = _strict(model, device, options)
    except errors.NotImplemented as error:
        raise Unsupported(reason("onnx_no_kernel", error=_one_line(error))) from error
    except _LATER as error:
        if not device.compiles or is_out_of_memory(error):
            raise
        facts = {"device": device.name, "error": _one_line(error)}
        raise Unsupported(reason("device_refuses_graph", **facts)) from error
    # A provider that fails when it is created leaves a session that executes all on the CPU.
    providers = session.get_providers()
    if device.provider not in providers:
        facts = {"provider": device.provider, "providers": ", ".join(providers)}
        raise Unavailable(reason("session_without_provider", **facts))
    if device.is_accelerator and device.provider not in nodes_of([session]):
        raise Unsupported(reason("provider_takes_no_node", device=device.name))
    return session


def _strict(model: Path | bytes, device: OnnxDevice, options: _Options) -> Any:
    if device.is_accelerator:
        try:
            return _create(model, device, options(False))
        except errors.Fail as error:
            if _FALLBACK_REFUSED not in str(error):
                raise
    return _create(model, device, options(True))


def _create(model: Path | bytes, device: OnnxDevice, options: Any) -> Any:
    """Create a session; plugins are chosen by devices, as a name would silently give the CPU."""
    if device.plugins:
        options.add_provider_for_devices(list(device.plugins), dict(device.options))
        return onnxruntime.InferenceSession(model, options, enable_fallback=0)
    providers = [(device.provider, dict(device.options))]
    return onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def nodes_of(sessions: Iterable[Any]) -> Nodes:
    nodes: dict[str, Counter[str]] = {}
    for session in sessions:
        for part in session.get_provider_graph_assignment_info():
            operators = nodes.setdefault(part.ep_name, Counter())
            operators.update(node.op_type for node in part.get_nodes())
    return nodes


def session_options(
    threads: int,
    *,
    fallback: bool = True,
    sizes: DimensionSizes | None = None,
    entries: Mapping[str, str] | None = None,
    profile: Path | None = None,
) -> Any:
    """Options of a session that executes one node at a time, each with that many threads.

    `sizes` are those of symbolic dimensions, `entries` belong to the session's configuration, and
    `profile` is the beginning of its profile's path.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors only
    own = {_ASSIGNMENT: "1", NO_FALLBACK: str(int(not fallback)), SPINNING: "1"}
    for key, value in {**own, **(entries or {})}.items():
        options.add_session_config_entry(key, value)
    for name, size in (sizes or {}).items():
        options.add_free_dimension_override_by_name(name, size)
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    return options


def recorded_options(sessions: Sequence[Any], device: OnnxDevice) -> dict[str, str]:
    """The options of a graph's sessions, barred from the CPU if all are, and their memory."""
    options = sessions[0].get_session_options()
    return {
        "providers": json.dumps(sessions[0].get_provider_options(), sort_keys=True),
        **{name: value for name, value in device.options.items() if name in _MODES},
        "intra_op_num_threads": str(options.intra_op_num_threads),
        "inter_op_num_threads": str(options.inter_op_num_threads),
        "execution_mode": options.execution_mode.name,
        "graph_optimization_level": options.graph_optimization_level.name,
        "enable_cpu_mem_arena": str(options.enable_cpu_mem_arena),
        "enable_mem_pattern": str(options.enable_mem_pattern),
        SPINNING: options.get_session_config_entry(SPINNING),
        NO_FALLBACK: str(int(all(refuses_fallback(session) for session in sessions))),
        "thread_affinity": "none: the operating system places the threads",
        "io_binding": f"inputs and outputs in memory of {device.memory}:{device.index}",
    }


def refuses_fallback(session: Any) -> bool:
    return bool(session.get_session_options().get_session_config_entry(NO_FALLBACK) == "1")


class OnnxGraph:
    """A loaded graph: the sessions of its parts."""

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
        """Load every part, for these symbolic sizes; compiled ones go into the folder `context`."""
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
        """Let queries execute on sessions that leave profiles in the folder at `end_profiling`."""
        usual = self.sessions
        self.sessions = self._open(profile=folder)
        try:
            yield self.sessions
        finally:
            self.sessions = usual

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
