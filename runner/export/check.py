"""Whether an ONNX file answers as torch does, on inputs that it was not exported with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from runner.backends.base import Array
from runner.backends.graphs.feeds import LOGITS, forward_inputs
from runner.backends.graphs.generation import DecodeLoop
from runner.backends.graphs.outputs import float_outputs
from runner.backends.graphs.parts import run_parts
from runner.contract.cell import Precision
from runner.contract.errors import BenchError
from runner.contract.graph import Numbers, Part
from runner.contract.models import ModelSpec
from runner.correctness.compare_outputs import compare
from runner.export.samples import Continuation, Sample
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


class HostExecutor:
    """A part whose values are arrays on the host."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def place(self, name: str, array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """The array itself."""
        del name
        return array

    def __call__(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """Execute."""
        return self._answer(feeds)

    def read(self, value: Any) -> npt.NDArray[Any]:
        """The array itself."""
        array: npt.NDArray[Any] = value
        return array


def generation_difference(
    model: ModelSpec, files: Mapping[Part, Path], samples: Sequence[Sample], numbers: Numbers
) -> float:
    """The largest relative difference from torch in fp32, of the forward pass and of each step.

    Raises:
        WrongExport: it is larger than allowed, or other tokens are the most likely ones.
    """
    answers = {part: answering(path) for part, path in files.items()}
    takes = {part: takes_of(path) for part, path in files.items()}
    executors = {part: HostExecutor(answer) for part, answer in answers.items()}

    def forward(inputs: Inputs) -> Mapping[str, Array]:
        return float_outputs(answers["prefill"](forward_inputs(model, inputs)))

    found = [difference(forward, samples, numbers)]
    for sample in samples:
        if sample.generated is not None:
            loop = DecodeLoop(model, takes, executors, sample.inputs)
            found.append(_step_difference(loop, sample.generated, numbers))
    return max(found)


def _step_difference(loop: DecodeLoop, expected: Continuation, numbers: Numbers) -> float:
    """The same for the steps after one prompt, each of them told the token that torch took."""
    logits = [loop.start(), *(loop.advance(tokens) for tokens in expected.tokens[:, :-1].T)]
    ours = np.stack(logits, axis=1)
    tokens = (ours.argmax(axis=-1), expected.tokens)
    outputs = ({LOGITS: ours}, {LOGITS: expected.logits})
    found = compare(*outputs, tokens, TOLERATED_AS[numbers])
    if not found["correct"]:
        raise WrongExport(f"generating after fresh prompts, {found['correct_reason']}")
    return float(found["difference_relative"])
