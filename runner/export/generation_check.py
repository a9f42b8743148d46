"""Whether the two parts of a generating graph go on as torch does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.agreement import compare
from runner.backends.base import Array
from runner.backends.graph_generation_feeds import LOGITS, forward_inputs
from runner.backends.graph_generation_loop import DecodeLoop
from runner.backends.graph_outputs import float_outputs
from runner.export.generation_samples import Continuation
from runner.export.onnx_check import (
    TOLERATED_AS,
    Answer,
    WrongExport,
    answering,
    difference,
    takes_of,
)
from runner.export.samples import Sample
from runner.graph import Numbers, Part
from runner.inputs import Inputs
from runner.models import ModelSpec


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
