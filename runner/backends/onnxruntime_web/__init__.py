"""ONNX Runtime Web: prepared graphs in a browser, by WASM, WebGPU and WebNN."""

from runner.backends.onnxruntime_web.backend import open_session
from runner.backends.onnxruntime_web.query import is_out_of_memory

__all__ = ["is_out_of_memory", "open_session"]
