"""Compare ONNX files with torch in fp32 on queries that they were not exported with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from runner.backends import load_runtime
from runner.backends.base import FloatArray, Session
from runner.backends.graphs.feeds import LOGITS, Tokens, forward_inputs, token_input
from runner.backends.graphs.generation import DecodeLoop, forced_steps
from runner.backends.graphs.session import float_outputs, run_parts
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.graph import NumberFormat, Part, graph_kind
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.correctness.compare_outputs import compare_outputs
from runner.correctness.reference import continued
from runner.correctness.verify import found_in
from runner.inputs import Inputs, padded, synthesise
from runner.measure.clock import monotonic
from runner.measure.environment import job_threads, read_environment, usable_cpus

_TOLERATED_AS: Mapping[NumberFormat, Precision] = {
    "fp32": "fp32",
    "fp16": "fp16",
    "int8_dynamic": "int8",
    "uint8_dynamic": "int8",
    "int8_qdq": "int8",
}
"""The precision by whose tolerance a file is judged, as its sessions are later."""
_CRASHING = ("NchwcTransformer",)
"""Passes of ONNX Runtime's optimiser that end the process: in 1.31.1 this one, which lays out
convolutions, on GPT-2 in fp16 with a cache. A check can do without."""
_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_STEPS = 5
"""Tokens to generate: one fills the cache, the others show whether it grows as it must."""

Evaluate = Callable[[Inputs], Mapping[str, FloatArray]]
"""Runs a model: maps its inputs by name to its outputs by name."""


class WrongExport(BenchError):
    """The file runs, and its outputs differ from torch's."""


@dataclass(frozen=True)
class Continuation:
    """The tokens that follow a prompt."""

    tokens: Tokens
    """Greedy tokens of transformers' own `generate`, int64 [batch, steps]."""
    logits: FloatArray
    """The logits before each of them, from one pass without a cache, [batch, steps, vocabulary]."""


def _continuation(session: Session, model: ModelSpec, cell: Cell, inputs: Inputs) -> Continuation:
    most = model.max_new_tokens
    if not model.encoder_decoder:  # the last token is never an input
        longest = model.max_sequence_length
        most = None if longest is None else longest - inputs[token_input(model)].shape[1] + 1
    steps = min(_STEPS, most or _STEPS)
    generating = cell.model_copy(update={"new_tokens": steps})
    tokens = session.bind_generation(generating, inputs, monotonic)().tokens
    known = continued(model, inputs, tokens[:, :-1])
    logits = session.arrays(session.bind(generating, known)())[LOGITS]
    return Continuation(tokens, logits[:, -steps:])


@dataclass(frozen=True)
class Sample:
    """One query, and torch's outputs."""

    inputs: Inputs
    outputs: Mapping[str, FloatArray]
    """By dotted path, without caches."""
    generated: Continuation | None = None
    """The generated tokens; None for a forward pass."""


def samples(job: Job, cells: Iterable[Cell]) -> list[Sample]:
    """A sample for each cell, each with a seed of its own, and the first one padded, unless the
    model generates: prepared graphs generate after full prompts alone.
    """
    generates = graph_kind(job.cells[0]) == "generation"
    first = job.cells[0].model_copy(
        update={"backend": "cpu", "runtime": "torch", "precision": "fp32", "mode": "inference"}
    )
    reference = job.model_copy(update={"cells": (first,)})
    session = load_runtime("torch").open_session(reference, job_threads(job))
    with closing(session):
        results = []
        for number, cell in enumerate(cells, start=1):
            inputs = synthesise(job.model, cell, job.weights_seed + number)
            outputs = session.arrays(session.bind(first, inputs)())
            more = _continuation(session, job.model, cell, inputs) if generates else None
            results.append(Sample(inputs, outputs, more))
        if not generates:
            inputs = padded(results[0].inputs)
            results.append(Sample(inputs, session.arrays(session.bind(first, inputs)())))
    return results


def evaluator(path: Path) -> Evaluate:
    """A function that runs the file in ONNX Runtime on the CPU, with the inputs that it takes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_cpus(read_environment())
    options.log_severity_level = 4  # errors are raised too
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"], disabled_optimizers=list(_CRASHING)
    )
    types = {argument.name: _FLOATS.get(argument.type) for argument in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]

    def evaluate(inputs: Inputs) -> Mapping[str, FloatArray]:
        feed = {name: np.asarray(inputs[name], dtype) for name, dtype in types.items()}
        return dict(zip(names, session.run(names, feed), strict=True))

    return evaluate


def input_names(path: Path) -> tuple[str, ...]:
    graph: Any = onnx.load_model(path, load_external_data=False).graph
    return tuple(value.name for value in graph.input)


def parts_evaluator(files: Mapping[Part, Path]) -> Evaluate:
    calls = {part: evaluator(path) for part, path in files.items()}
    return partial(run_parts, {part: input_names(path) for part, path in files.items()}, calls)


def largest_difference(
    evaluate: Evaluate, samples: Iterable[Sample], numbers: NumberFormat
) -> float:
    """The largest relative difference from torch in fp32, over all outputs of all samples."""
    differences: list[float] = []
    for sample in samples:
        outputs = evaluate(sample.inputs)
        result = compare_outputs(outputs, sample.outputs, None, _TOLERATED_AS[numbers])
        if not result["correct"]:
            raise WrongExport(reason("on_fresh_inputs", cause=found_in(result)))
        differences.append(result["difference_relative"])
    return max(differences)


class _HostExecutor:
    """A part whose values are arrays on the host."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate

    def place(self, name: str, array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        del name
        return array

    def __call__(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._evaluate(feeds)

    def read(self, value: Any) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = value
        return array


def generation_difference(
    model: ModelSpec, files: Mapping[Part, Path], samples: Sequence[Sample], numbers: NumberFormat
) -> float:
    """The largest relative difference from torch in fp32, of the forward pass and of each step."""
    evaluators = {part: evaluator(path) for part, path in files.items()}
    takes = {part: input_names(path) for part, path in files.items()}
    executors = {part: _HostExecutor(evaluate) for part, evaluate in evaluators.items()}

    def forward(inputs: Inputs) -> Mapping[str, FloatArray]:
        return float_outputs(evaluators["prefill"](forward_inputs(model, inputs)))

    differences = [largest_difference(forward, samples, numbers)]
    for sample in samples:
        if sample.generated is not None:
            loop = DecodeLoop(model, takes, executors, sample.inputs)
            differences.append(_step_difference(loop, sample.generated, numbers))
    return max(differences)


def _step_difference(loop: DecodeLoop, expected: Continuation, numbers: NumberFormat) -> float:
    """The same for the steps after one prompt, each with the token that torch chose."""
    steps = list(forced_steps(loop, expected.tokens))
    logits, chosen = (np.stack(values, axis=1) for values in zip(*steps, strict=True))
    if not np.array_equal(chosen, logits.argmax(axis=-1)):
        raise WrongExport(reason("graph_tokens_differ"))
    tokens = (chosen.astype(np.int64), expected.tokens)
    outputs = ({LOGITS: logits}, {LOGITS: expected.logits})
    result = compare_outputs(*outputs, tokens, _TOLERATED_AS[numbers])
    if not result["correct"]:
        raise WrongExport(reason("after_fresh_prompts", cause=found_in(result)))
    return float(result["difference_relative"])
