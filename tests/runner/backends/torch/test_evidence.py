"""Proof that a device did the work, and traces."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent

from runner.backends.evidence import Kernels, Observation
from runner.backends.torch.backend import TorchSession, open_session
from runner.backends.torch.evidence import judge_tensors, kernel_time_s, launch_time_s, prove
from runner.backends.torch.query import TorchQuery
from runner.inputs import synthesise
from tests.support.tiny_models import tiny_decoder, torch_job

JOB = torch_job(tiny_decoder())


@pytest.fixture
def session() -> Iterator[TorchSession]:
    with closing(open_session(JOB, threads=1)) as session:
        yield session


@pytest.fixture
def query(session: TorchSession) -> TorchQuery:
    return session.bind(JOB.cells[0], synthesise(JOB.model, JOB.cells[0], 0))


def test_the_facts_behind_a_proof(session: TorchSession, query: TorchQuery) -> None:
    proof, evidence = session.prove(query)
    times = {name: float(evidence.pop(name)) for name in ("wall_s", "cpu_time_s")}
    assert proof == "proven"
    assert min(times.values()) > 0
    assert evidence == {
        "claimed": "cpu",
        "parameters": "cpu",
        "buffers": "none",
        "inputs": "cpu",
        "outputs": "cpu",
        "parameter_types": "torch.float32",
        "buffer_types": "none",
        "products": "fp32 6",
    }


@pytest.mark.parametrize(
    ("moved", "inputs", "places"),
    [("", "cpu", "meta"), ("lm_head", "cpu", "cpu+meta"), ("", "meta", "meta")],
    ids=["the model", "a part", "model and inputs"],
)
def test_what_was_moved_behind_the_runners_back_is_contradicted(
    moved: str, inputs: str, places: str, session: TorchSession, query: TorchQuery
) -> None:
    session._model.get_submodule(moved).to("meta")
    for name, value in query.arguments.items():
        if isinstance(value, torch.Tensor):
            query.arguments[name] = value.to(inputs)
    proof, evidence = session.prove(query)
    assert (proof, evidence["claimed"]) == ("contradicted", "cpu")
    assert (evidence["parameters"], evidence["inputs"]) == (places, inputs)


def test_outputs_elsewhere_are_contradicted_and_no_kernel_is_no_proof() -> None:
    module = torch.nn.Linear(2, 2, device="meta")
    query = TorchQuery(module, {"input": torch.empty(1, 2, device="meta")}, {}, lambda: None)
    proof, evidence = prove(query, torch.nn.Linear(2, 2), torch.device("cpu"))
    assert (proof, evidence["parameters"], evidence["outputs"]) == ("contradicted", "cpu", "meta")
    proof, evidence = prove(query, module, torch.device("meta"))
    assert (proof, float(evidence["kernel_time_s"])) == ("partial", 0)


def test_a_query_that_fails_proves_nothing(session: TorchSession, query: TorchQuery) -> None:
    query.arguments["input_ids"] = torch.full((2, 8), 10**6)
    proof, evidence = session.prove(query)
    assert proof == "partial"
    assert evidence["error"].startswith("IndexError: ")
    assert evidence["outputs"] == "none"


RETURNED = Observation[object](None, None, wall_s=1.0, cpu_time_s=0.1)


@pytest.mark.parametrize(
    ("kernels", "proof"),
    [
        (None, "proven"),
        (Kernels(0.0, 1.0), "partial"),
        (Kernels(0.19, 1.0), "partial"),
        (Kernels(0.2, 1.0), "proven"),
        (Kernels(1.1, 1.0), "proven"),
        (Kernels(0.0, 0.0), "partial"),
        (Kernels(0.01, 1.0, launch_share=0.25), "proven"),
        (Kernels(0.01, 1.0, launch_share=0.19), "partial"),
        (Kernels(0.0, 1.0, launch_share=0.9), "partial"),
        (Kernels(0.01, 1.0, "RuntimeError: lost", launch_share=0.9), "partial"),
        (Kernels(0.9, 1.0, "RuntimeError: lost"), "partial"),
    ],
)
def test_kernels_must_fill_a_good_part_of_the_iteration(
    kernels: Kernels | None, proof: str
) -> None:
    places = {"parameters": {"cuda"}, "outputs": {"cuda"}}
    assert judge_tensors("cuda", places, RETURNED, kernels) == proof
    elsewhere = {"parameters": {"cuda"}, "outputs": {"cpu"}}
    assert judge_tensors("cuda", elsewhere, RETURNED, kernels) == "contradicted"


def test_another_gpu_than_the_claimed_one_is_contradicted() -> None:
    places = {"parameters": {"cuda:1"}, "inputs": {"cuda:1"}, "outputs": {"cuda:1"}}

    def judged(claimed: str, **changes: set[str]) -> str:
        return judge_tensors(claimed, {**places, **changes}, RETURNED, Kernels(0.5, 1.0))

    assert judged("cuda:1") == "proven"
    assert judged("cuda:1", inputs={"cuda:0"}) == "contradicted"
    assert judged("cuda:0") == "contradicted"
    assert judged("cuda:1", outputs=set()) == "partial"
    assert judged("cuda:1", **{name: set() for name in places}) == "none"


def event(start: int, end: int, name: str = "gemm", **fields: Any) -> FunctionEvent:
    return FunctionEvent(0, name, 0, start, end, **{"device_type": DeviceType.CUDA, **fields})


def test_kernel_time_is_the_time_in_which_any_kernel_ran_and_nothing_else() -> None:
    overlapping = [event(30, 50), event(0, 10), event(40, 60), event(45, 48)]
    assert kernel_time_s(overlapping) == pytest.approx(40e-6)
    others = [
        event(0, 10, "Memcpy HtoD (Pageable -> Device)"),
        event(0, 10, "Memset (Device)"),
        event(0, 10, "my range", is_user_annotation=True),
        event(0, 10, "aten::mm", device_type=DeviceType.CPU),
    ]
    assert kernel_time_s([]) == kernel_time_s(others) == 0
    assert kernel_time_s([*others, event(5, 15)]) == pytest.approx(10e-6)
    with torch.profiler.profile() as profiler:
        torch.ones(4) @ torch.ones(4)
    assert profiler.events()
    assert kernel_time_s(profiler.events() or ()) == 0


def test_launch_time_counts_operators_that_launched_kernels_and_no_others() -> None:
    def operator(start: int, end: int, *launched: str) -> FunctionEvent:
        made = event(start, end, "aten::mm", device_type=DeviceType.CPU)
        for kernel in launched:
            made.append_kernel(kernel, 0, 1)
        return made

    launching = [operator(0, 10, "gemm"), event(5, 15), operator(20, 30, "Memcpy HtoD", "gemm")]
    others = [operator(40, 90), operator(40, 90, "Memcpy HtoD"), operator(40, 90, "Memset")]
    assert launch_time_s([*launching, *others]) == pytest.approx(25e-6)
    assert launch_time_s(others) == launch_time_s([]) == 0


CPU = torch.device("cpu")
