"""Exports a generating model as two ONNX files that share their weights."""

from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path

import onnx_ir

from runner.backends.graph_generation_feeds import LOGITS
from runner.backends.graph_generation_loop import AFTER
from runner.errors import Unsupported
from runner.export.content import Export
from runner.export.generation_check import generation_difference
from runner.export.generation_traces import (
    CACHE,
    Trace,
    decode_trace,
    prefill_trace,
    traced_inputs,
)
from runner.export.onnx_file import prune
from runner.export.remedies import Remedy, whole
from runner.export.shared_weights import save_sharing
from runner.export.torch_onnx import Subject, built, traced, varying
from runner.graph import WEIGHTS_SUFFIX, Part

FILES: dict[Part, str] = {"prefill": "prefill.onnx", "decode": "decode.onnx"}
"""The parts; `prefill` fills a cache, `decode` extends it by one token."""
CROSS = "cross_attention_cache"
"""The part of a cache that depends on the encoder alone: no step changes it."""


def _write(subject: Subject, remedy: Remedy, folder: Path) -> dict[Part, Path]:
    """Write both parts; their weights lie beside the first.

    The first takes a prompt and gives, beside the model's own outputs, a cache under their dotted
    paths; the second takes a token and a cache whose names begin with `input.`, and gives logits
    and the longer cache, whose names begin with `output.`. It takes any batch and length.

    Raises:
        Unsupported: the remedy's exporter writes no caches.
        Exception: whatever the exporter raises.
    """
    if remedy.script:
        raise Unsupported("the TorchScript exporter writes no graphs that take caches")
    spec = subject.model
    inputs, others = (traced_inputs(spec, given) for given in (subject.inputs, subject.others))
    module, tensors = built(replace(subject, inputs=inputs), remedy)
    shapes = varying(tensors, others) if remedy.dynamic else None
    prefill = prefill_trace(spec, module, tensors, shapes)
    decode = decode_trace(spec, prefill, subject.inputs)
    files = {part: folder / name for part, name in FILES.items()}
    models = {
        files["prefill"]: _kept(prefill, lambda name: _fills(name, subject.outputs)),
        files["decode"]: _kept(decode, _extends),
    }
    save_sharing(models, folder / f"{FILES['prefill']}{WEIGHTS_SUFFIX}")
    return files


def _kept(trace: Trace, wanted: Callable[[str], bool]) -> onnx_ir.Model:
    """The graph without other outputs, and what leads to none."""
    model = traced(trace.module, trace.arguments, trace.shapes)
    names = [value.name or "" for value in model.graph.outputs]
    prune(model, filter(wanted, names))
    return model


def _fills(name: str, outputs: Container[str]) -> bool:
    """Whether it is one of the model's outputs, or a cache."""
    return name in outputs or name.startswith(CACHE)


def _extends(name: str) -> bool:
    """Whether a step gives anything new under that name."""
    return name == LOGITS or (name.startswith(AFTER) and CROSS not in name)


EXPORT = Export(whole, _write, generation_difference)
