"""Models of the catalogue as PyTorch builds them."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from runner.backends.torch import is_out_of_memory, open_session
from runner.backends.torch_model import build_model, count_parameters
from runner.cell import Job
from runner.errors import Unsupported
from runner.harness import Harness
from runner.inputs import synthesise
from runner.models import ModelSpec, catalogue, find
from runner.record import read_record
from tests.fakes import KeptProgress
from tests.jobs import a_job, fake_cell


def torch_job(model: ModelSpec, **changes: Any) -> Job:
    values: dict[str, Any] = {"model": model.name, "backend": "cpu", "runtime": "torch", **changes}
    sequence = 8 if model.takes_sequence else None
    return a_job([fake_cell(**{"sequence_length": sequence, **values})], model)


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_parameter_counts_are_the_published_ones(model: ModelSpec) -> None:
    assert count_parameters(model) == model.parameters


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_every_model_gives_finite_outputs_of_the_right_type(
    model: ModelSpec, precision: str
) -> None:
    job = torch_job(model, precision=precision)
    with closing(open_session(job, threads=2)) as session:
        outputs = session.bind(job.cells[0], synthesise(job.model, job.cells[0], 0))()
        assert session.all_finite(outputs)
        expected = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        assert outputs.logits.dtype == expected  # type: ignore[attr-defined]
        assert session.parameters == model.parameters


def test_the_seed_decides_the_weights() -> None:
    first, again, other = (
        torch.cat(
            [p.flatten() for p in build_model(find("bert-tiny"), seed, torch.float32).parameters()]
        )
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_outputs_depend_on_the_inputs() -> None:
    job = torch_job(find("bert-tiny"))
    with closing(open_session(job, threads=1)) as session:
        one, other = (
            session.bind(job.cells[0], synthesise(job.model, job.cells[0], seed))()
            for seed in (0, 1)
        )
        assert not torch.allclose(one.logits, other.logits)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "changes", [{"precision": "int8"}, {"backend": "cuda"}], ids=["precision", "backend"]
)
def test_what_torch_cannot_do_here_is_unsupported(changes: dict[str, str]) -> None:
    with pytest.raises(Unsupported, match=next(iter(changes.values()))):
        open_session(torch_job(find("bert-tiny"), **changes), threads=1)


def test_a_config_that_transformers_does_not_know_is_unsupported() -> None:
    model = find("bert-tiny").model_copy(update={"config": {"model_type": "no-such-type"}})
    with pytest.raises(Unsupported, match="transformers cannot build bert-tiny"):
        open_session(torch_job(model), threads=1)


def test_a_model_moved_behind_the_runners_back_is_contradicted() -> None:
    job = torch_job(find("bert-tiny"))
    with closing(open_session(job, threads=1)) as session:
        session.bind(job.cells[0], synthesise(job.model, job.cells[0], 0))
        session._model.to("meta")
        proof, evidence = session.prove()
        assert proof == "contradicted"
        assert evidence == {"claimed": "cpu", "parameters": "meta", "inputs": "cpu"}


def test_torchs_allocator_is_understood() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert is_out_of_memory(caught.value)


def test_a_real_record_is_complete(tmp_path: Path) -> None:
    job = torch_job(find("bert-tiny"))
    Harness(job, tmp_path, KeptProgress()).run()
    record = read_record(tmp_path / f"{job.cells[0].id}.parquet")
    missing = {name for name, value in record if value is None}
    assert (record.status, record.proof) == ("ok", "proven")
    assert missing <= {
        "reason",
        "phase",
        "log",
        "latency_p90_s",
        "cpu_governor",
        "hostname",
        "image",
        "image_digest",
        "git_commit",
        "container_memory_limit_bytes",
        "container_cpu_limit",
    }
    assert record.parameters == 4_416_698


def test_a_misspelt_config_key_is_unsupported() -> None:
    spec = find("bert-tiny")
    model = spec.model_copy(update={"config": {**spec.config, "num_hiden_layers": 1}})
    with pytest.raises(Unsupported, match="bert has no num_hiden_layers in its config"):
        open_session(torch_job(model), threads=1)


def test_outputs_are_checked_however_they_are_nested() -> None:
    spec = find("bert-tiny")
    job = torch_job(spec.model_copy(update={"forward": {"return_dict": False}}))
    with closing(open_session(job, threads=1)) as session:
        assert session.all_finite(session.bind(job.cells[0], synthesise(spec, job.cells[0], 0))())
        assert not session.all_finite((torch.ones(1), [torch.tensor([float("nan")])]))
        with pytest.raises(Unsupported, match="no tensor that could be checked"):
            session.all_finite(())
