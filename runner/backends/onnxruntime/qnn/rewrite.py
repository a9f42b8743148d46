"""Writes a graph anew for the HTP: of fixed sizes, without what its compiler gets wrong."""

from collections.abc import Mapping
from pathlib import Path

import onnxruntime

from runner.backends.onnxruntime.qnn.onnx_file import read_model, shape_of
from runner.backends.onnxruntime.qnn.rewrites import REWRITES, FixedGraph, Rewrite

WEIGHTS_FILE = "session.optimized_model_external_initializers_file_name"
ERRORS_ONLY = 3
TRUTH = 9
"""ONNX's code of truth values."""
REPEATED = ("MatMulAddFusion",)
"""Passes left to the session that executes: where this one has run before, it fails on the names
that it gave then."""


def write_for_htp(
    model: Path,
    written: Path,
    sizes: Mapping[str, int],
    rewrites: Mapping[str, Rewrite] = REWRITES,
) -> list[str]:
    """Write the graph of that fp32 file anew; what was rewritten, in words.

    Args:
        model: the file.
        written: where the new one goes, its weights beside it.
        sizes: what the graph's symbolic dimensions are fixed to.
        rewrites: what to do where it applies, by the words for it.
    """
    _fix(model, written, sizes)
    proto = read_model(written)
    graph = proto.graph
    values = (*graph.input, *graph.value_info, *graph.output)
    fixed = FixedGraph(
        graph,
        written.parent,
        {each.name: each for each in graph.initializer},
        {value.name: shape_of(value) for value in values},
        {value.name for value in values if value.type.tensor_type.elem_type == TRUTH},
    )
    done = [words for words, rewrite in rewrites.items() if rewrite(fixed)]
    written.write_bytes(proto.SerializeToString())
    return done


def _fix(model: Path, written: Path, sizes: Mapping[str, int]) -> None:
    """Let ONNX Runtime fold what no longer varies."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(written)
    options.add_session_config_entry(WEIGHTS_FILE, f"{written.name}.data")
    for name, size in sizes.items():
        options.add_free_dimension_override_by_name(name, size)
    onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=list(REPEATED)
    )
