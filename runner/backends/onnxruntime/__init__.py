"""ONNX Runtime: prepared graphs, executed on the CPU, on NVIDIA's GPUs and on Qualcomm's HTP."""

from runner.backends.onnxruntime.backend import open_session
from runner.backends.onnxruntime.sessions import is_out_of_memory

__all__ = ["is_out_of_memory", "open_session"]
