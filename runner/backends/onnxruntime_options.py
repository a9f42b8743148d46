"""The options of ONNX Runtime's sessions: all that decides how they execute, set and recorded."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnxruntime

from runner.backends.onnxruntime_device import OnnxDevice

ASSIGNMENT = "session.record_ep_graph_assignment_info"
NO_FALLBACK = "session.disable_cpu_ep_fallback"
SPINNING = "session.intra_op.allow_spinning"
ERRORS_ONLY = 3

Sizes = Mapping[str, int]
"""Values of a graph's symbolic dimensions, by their names."""


def session_options(
    threads: int,
    *,
    fallback: bool = True,
    sizes: Sizes | None = None,
    entries: Mapping[str, str] | None = None,
    profile: Path | None = None,
) -> Any:
    """Options of a session that executes one node at a time, each with that many threads.

    Args:
        threads: threads of one operator, this one included.
        fallback: whether nodes that the provider cannot take may go to the CPU provider.
        sizes: what the graph's symbolic dimensions are fixed to.
        entries: further entries of the session's configuration.
        profile: beginning of the path of a profile, which the session writes as it ends.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = ERRORS_ONLY
    own = {ASSIGNMENT: "1", NO_FALLBACK: str(int(not fallback)), SPINNING: "1"}
    for key, value in {**own, **(entries or {})}.items():
        options.add_session_config_entry(key, value)
    for name, size in (sizes or {}).items():
        options.add_free_dimension_override_by_name(name, size)
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    return options


def recorded_options(sessions: Sequence[Any], device: OnnxDevice) -> dict[str, str]:
    """What sessions say of their options, by ONNX Runtime's names, and how tensors get there.

    Only whether nodes may go to the CPU provider differs between the parts of one graph: the
    graph is barred from it if every part is.
    """
    options = sessions[0].get_session_options()
    return {
        "providers": json.dumps(sessions[0].get_provider_options(), sort_keys=True),
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
    """Whether the session was barred from the CPU provider."""
    return bool(session.get_session_options().get_session_config_entry(NO_FALLBACK) == "1")
