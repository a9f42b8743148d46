"""Models of the catalogue as PyTorch runs them."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from orchestrator.store import read_record
from runner.backends import load_runtime
from runner.backends.torch import backend
from runner.backends.torch import compile as compiling
from runner.backends.torch.backend import is_out_of_memory, open_session
from runner.contract.cell import Runtime
from runner.contract.errors import Unsupported
from runner.contract.models import find
from runner.inputs import synthesise
from runner.job.harness import Harness
from tests.support.fakes import FakeClock, KeptProgress
from tests.support.machines import SLOW_CPU, SLOW_NS, slow_processor
from tests.support.tiny_models import DECODER, tiny, tiny_decoder, torch_job
from tests.support.words import raises_words


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["bert-tiny", "gpt2", "t5-small", "vit-base"])
def test_published_sizes_give_finite_outputs_of_the_right_type(name: str, precision: str) -> None:
    model = find(name)
    length = 8 if model.takes_sequence else None
    job = torch_job(model, batch_size=1, precision=precision, sequence_length=length)
    with closing(open_session(job, threads=2)) as session:
        outputs: Any = session.bind(job.cells[0], synthesise(model, job.cells[0], 0))()
        assert session.all_finite(outputs)
        assert outputs.logits.dtype == {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        assert session.parameters == model.parameters


def test_a_backend_that_torch_has_no_device_for_is_unsupported() -> None:
    with raises_words(Unsupported, match="no device for backend qnn"):
        open_session(torch_job(tiny_decoder(), backend="qnn"), threads=1)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "no-such-type"}, "transformers cannot build tiny"),
        ({**DECODER, "n_laier": 1}, "gpt2 has no n_laier in its config"),
    ],
)
def test_a_config_unknown_to_transformers_is_unsupported(
    config: dict[str, Any], message: str
) -> None:
    with raises_words(Unsupported, match=message):
        open_session(torch_job(tiny("AutoModelForCausalLM", config)), threads=1)


def test_torchs_allocator_is_understood() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert is_out_of_memory(caught.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 5 GB)"))


def test_outputs_are_checked_however_they_are_nested() -> None:
    model = tiny_decoder().model_copy(update={"forward": {"return_dict": False}})
    job = torch_job(model)
    with closing(open_session(job, threads=1)) as session:
        assert session.all_finite(session.bind(job.cells[0], synthesise(model, job.cells[0], 0))())
        assert not session.all_finite((torch.ones(1), [torch.tensor([float("nan")])]))
        last_is_infinite = torch.ones(3 << 20).index_fill(
            0, torch.tensor([(3 << 20) - 1]), float("inf")
        )
        assert not session.all_finite(last_is_infinite)
        with raises_words(Unsupported, match="no tensor that could be checked"):
            session.all_finite(())


def test_training_in_int8_is_refused() -> None:
    job = torch_job(tiny_decoder(), precision="int8")
    with (
        closing(open_session(job, threads=1)) as session,
        raises_words(Unsupported, match="int8: whole numbers have no gradients"),
    ):
        session.bind_training(job.cells[0], {}, FakeClock())


@pytest.mark.parametrize("runtime", ["torch", "torch_compile"])
@pytest.mark.parametrize("part", ["find_torch_device", "TorchMemory"])
def test_the_devices_initialisation_is_a_part_of_a_start_and_its_name_is_none(
    runtime: Runtime, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, original = FakeClock(), getattr(backend, part)

    def initialised(*arguments: Any) -> Any:
        clock.pass_by(1_000)
        return original(*arguments)

    monkeypatch.setattr(backend, "monotonic", clock)
    monkeypatch.setattr(backend, part, initialised)
    monkeypatch.setattr(compiling, "require_compiler", lambda: clock.pass_by(SLOW_NS))
    with slow_processor(clock):
        session = load_runtime(runtime).open_session(torch_job(tiny_decoder()), 1)
    with closing(session):
        assert session.device_name == SLOW_CPU
        assert session.stages_ns == {"instantiate": 1_001, "weights": 1}


COMMON = {
    *("parameters", "device_name", "evidence", "import_time_s", "load_time_s", "threads"),
    *("interop_threads", "libraries", "timed_region", "harness_overhead_s", "first_latency_s"),
    *("latency_median_s", "throughput", "durations_ns", "memory_peak_bytes", "grade"),
}
GENERATION = {
    *("time_to_first_token_median_s", "time_per_output_token_median_s", "decode_throughput"),
    *("token_throughput", "part_durations_ns"),
}
TRAINING = {
    *("forward_median_s", "loss_median_s", "backward_median_s", "optimizer_median_s"),
    *("training_loss_first", "training_loss_last", "part_durations_ns"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "own"), [
    ({"mode": "inference"}, set()),
    ({"mode": "generation", "new_tokens": 3}, GENERATION),
    ({"mode": "training"}, TRAINING),
], ids=["inference", "generation", "training"])  # fmt: skip
def test_a_record_fills_the_columns_of_its_mode(
    tmp_path: Path, cell: dict[str, Any], own: set[str]
) -> None:
    job = torch_job(tiny_decoder(), **cell)
    brief = job.measure.model_copy(update={"max_s": 0.2})
    Harness(job.model_copy(update={"measure": brief}), tmp_path, KeptProgress()).run()
    record = read_record(tmp_path / f"{job.cells[0].id}.parquet")
    filled = {name for name, value in record if value is not None}
    assert (record.status, record.reason, record.proof) == ("ok", None, "proven")
    assert filled >= COMMON | own
    assert not filled & ((GENERATION | TRAINING) - own)
