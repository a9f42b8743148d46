"""Qualcomm's HTP under ONNX Runtime: finding it, rewriting graphs for it, compiling them."""
