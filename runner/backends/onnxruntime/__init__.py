"""ONNX Runtime and its execution providers."""
