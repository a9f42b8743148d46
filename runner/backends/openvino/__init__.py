"""OpenVINO: prepared graphs, executed on CPUs, on Intel's GPUs and on Intel's NPUs."""

from runner.backends.openvino.backend import open_session
from runner.backends.openvino.device import is_out_of_memory

__all__ = ["is_out_of_memory", "open_session"]
