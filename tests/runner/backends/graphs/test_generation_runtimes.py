"""Every runtime that executes prepared graphs generates what torch does."""

from contextlib import closing, nullcontext
from typing import Any

import numpy as np
import pytest

from runner.backends import load_runtime
from runner.backends.base import FloatArray, Iteration
from runner.backends.evidence import Kernels, SeenKernels
from runner.backends.onnxruntime.backend import OnnxSession
from runner.backends.onnxruntime.device import cpu_device
from runner.backends.onnxruntime.evidence import onnx_kernels
from runner.backends.openvino.evidence import openvino_kernels
from runner.contract.axes import Runtime
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.correctness.reference import compute_outputs
from runner.inputs import Inputs, synthesise
from runner.measure.clock import monotonic
from tests.support.fakes import FakeClock
from tests.support.prepared import PreparedGraphs
from tests.support.siblings import siblings
from tests.support.tiny_models import generating_job, tiny_decoder, tiny_encoder_decoder

pytestmark = pytest.mark.slow

MODELS = {
    "decoder": tiny_decoder(),
    "encoder-decoder": tiny_encoder_decoder(),
    "vision-language": find("qwen2-vl-micro"),
}
PROMPT_SEED = 12
"""None that the export or its check had."""
TOLERANCE = 1e-5


@pytest.fixture(
    params=[
        "decoder",
        pytest.param("encoder-decoder", marks=pytest.mark.nightly),
        pytest.param("vision-language", marks=pytest.mark.nightly),
    ]
)
def model(request: pytest.FixtureRequest) -> ModelSpec:
    return MODELS[request.param]


@pytest.fixture(params=["onnxruntime", "openvino"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    chosen: Runtime = request.param
    return chosen


def prompt(job: Job) -> Inputs:
    return synthesise(job.model, job.cells[0], PROMPT_SEED)


def generated(job: Job, prepared: PreparedGraphs) -> np.ndarray[Any, Any]:
    cell = job.cells[0]
    with closing(load_runtime(cell.runtime).open_session(job, 1, prepared.folder)) as session:
        generate = session.bind_generation(cell, prompt(job), FakeClock())
        first, second = generate(), generate()
        assert (first.tokens == second.tokens).all()
        assert first.token_times_ns == sorted(first.token_times_ns)
        assert len(first.token_times_ns) == cell.new_tokens
        return first.tokens


def forward(job: Job, prepared: PreparedGraphs) -> dict[str, FloatArray]:
    runtime = load_runtime(job.cells[0].runtime)
    with closing(runtime.open_session(job, 1, prepared.folder)) as session:
        return compute_outputs(session, job)


def test_the_tokens_are_torchs(
    model: ModelSpec, runtime: Runtime, prepared: PreparedGraphs
) -> None:
    ours = generated(prepared.named(generating_job(model, runtime)), prepared)
    assert (ours == generated(generating_job(model, "torch"), prepared)).all()


def test_the_part_that_fills_a_cache_gives_the_forward_pass_too(
    model: ModelSpec, runtime: Runtime, prepared: PreparedGraphs
) -> None:
    ours = forward(prepared.named(generating_job(model, runtime)), prepared)
    theirs = forward(generating_job(model, "torch"), prepared)
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        largest = TOLERANCE * np.abs(expected).max()
        np.testing.assert_allclose(ours[name], expected, rtol=TOLERANCE, atol=largest)


@pytest.mark.parametrize("name", siblings(["decoder", "encoder-decoder"], keep=["decoder"]))
def test_one_graph_serves_other_batches_lengths_and_counts(
    name: str, runtime: Runtime, prepared: PreparedGraphs
) -> None:
    changes = {"batch_size": 3, "sequence_length": 11, "new_tokens": 9}
    ours = generated(prepared.named(generating_job(MODELS[name], runtime, **changes)), prepared)
    assert ours.shape == (3, 9)
    assert (ours == generated(generating_job(MODELS[name], "torch", **changes), prepared)).all()


def test_a_generations_kernels_are_those_of_all_its_steps(
    runtime: Runtime, prepared: PreparedGraphs
) -> None:
    """The CPU stands for an accelerator, whose proof looks at the mode's own iteration."""
    job = prepared.named(generating_job(MODELS["decoder"], runtime))
    with closing(load_runtime(runtime).open_session(job, 1, prepared.folder)) as session:
        generator = session.bind_generation(job.cells[0], prompt(job), monotonic)
        expected = generator().tokens
        seen = kernels_there(session, lambda: nullcontext(generator))
        assert isinstance(seen, Kernels)
        assert seen.error is None
        assert 0 < seen.share <= 1
        assert (generator().tokens == expected).all()


def kernels_there(session: Any, iteration: Iteration) -> SeenKernels:
    if isinstance(session, OnnxSession):
        return onnx_kernels(session._graphs.latest, cpu_device(), iteration)
    return openvino_kernels(iteration, lambda: session._requests, session._compiler)
