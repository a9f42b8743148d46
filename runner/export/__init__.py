"""Exports models to ONNX for the runtimes that execute prepared graphs. Needs torch."""
