"""Whether an ONNX file answers as torch does, on inputs that it was not exported with."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from runner.agreement import compare
from runner.backends.base import Array
from runner.cell import Precision
from runner.errors import BenchError
from runner.export.samples import Sample
from runner.graph import Numbers, Part
from runner.graph_parts import run_parts
from runner.inputs import Inputs
from runner.measure.environment import read_environment, usable_cpus

TOLERATED_AS: Mapping[Numbers, Precision] = {
    "fp32": "fp32",
    "fp16": "fp16",
    "int8_dynamic": "int8",
    "int8_qdq": "int8",
}
"""The precision of `runner.agreement.TOLERANCES` that a file of these numbers must keep to: what a
session is allowed later is what its graph is allowed here. In fp32 that is 1e-4: of the models
tried at real size CLAP differs most, by 3.6e-5, and a wrong graph by 1e-3 or more."""

CRASHING = ("NchwcTransformer",)
"""Passes of ONNX Runtime's optimiser that end the process: in 1.31.1 this one, which lays out
convolutions, on GPT-2 in fp16 with a cache. A check can do without."""

FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class WrongExport(BenchError):
    """The file runs and answers otherwise than torch."""


Answer = Callable[[Inputs], Mapping[str, Array]]
"""Runs a model: its inputs by name to its outputs by name."""


def answering(path: Path) -> Answer:
    """The file in ONNX Runtime on the CPU; inputs that it does not take are left out."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_cpus(read_environment())
    options.log_severity_level = 4  # what goes wrong is raised too
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"], disabled_optimizers=list(CRASHING)
    )
    types = {taken.name: FLOATS.get(taken.type) for taken in session.get_inputs()}
    names = [given.name for given in session.get_outputs()]

    def answer(inputs: Inputs) -> Mapping[str, Array]:
        feed = {name: np.asarray(inputs[name], dtype) for name, dtype in types.items()}
        return dict(zip(names, session.run(names, feed), strict=True))

    return answer


def takes_of(path: Path) -> tuple[str, ...]:
    """The names of what the file takes."""
    graph: Any = onnx.load_model(path, load_external_data=False).graph
    return tuple(value.name for value in graph.input)


def answering_in_parts(files: Mapping[Part, Path]) -> Answer:
    """The same of files that are run one after the other."""
    calls = {part: answering(path) for part, path in files.items()}
    return partial(run_parts, {part: takes_of(path) for part, path in files.items()}, calls)


def difference(answer: Answer, samples: Iterable[Sample], numbers: Numbers) -> float:
    """The largest relative difference from torch in fp32, over all outputs of all samples.

    Raises:
        WrongExport: it is larger than allowed, or names or shapes of outputs differ.
    """
    differences: list[float] = []
    for sample in samples:
        found = compare(answer(sample.inputs), sample.outputs, None, TOLERATED_AS[numbers])
        if not found["correct"]:
            raise WrongExport(f"on fresh inputs, {found['correct_reason']}")
        differences.append(found["difference_relative"])
    return max(differences)
