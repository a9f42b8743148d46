"""What cannot fit is foreseen, what was measured to fit is not refused."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.planning.memory import known_parameters, memory_need_bytes, shortage, tokens_of
from runner.contract.axes import Backend, Mode, Precision
from runner.contract.cell import DEFAULT_RUNTIMES, Cell
from runner.contract.job import Limits
from runner.contract.models import ModelSpec, find
from tests.support.jobs import fake_cell
from tests.support.matrices import sized_model
from tests.support.words import words_of

MACHINE = 24 << 30
MEASURED_GB: list[tuple[str, dict[str, Any], float]] = [
    ("bert-base-uncased", {}, 0.9),
    ("t5-small", {}, 0.8),
    ("gpt2", {}, 1.0),
    ("whisper-tiny", {}, 0.6),
    ("wav2vec2-base-960h", {"audio_seconds": 5}, 1.0),
    ("detr-resnet-50", {"image_size": 800}, 1.1),
    ("qwen2-0.5b", {}, 2.9),
    ("qwen2-0.5b", {"mode": "training"}, 10.8),
    ("qwen2-0.5b", {"mode": "generation", "new_tokens": 8}, 2.9),
    ("llava-onevision-0.5b", {"image_size": 384}, 6.7),
    ("qwen2-vl-2b", {"image_size": 448}, 9.6),
    ("llava-v1.6-mistral-7b", {"image_size": 336, "precision": "bf16"}, 15.7),
]
"""Resident memory with torch on a CPU, batch 1, 128 tokens, as it was measured on 2026-11-21."""


def a_cell(model: ModelSpec, **fields: Any) -> Cell:
    """A cell of 128 tokens on the CPU, unless told otherwise."""
    backend: Backend = fields.pop("backend", "cpu")
    values = {"backend": backend, "runtime": DEFAULT_RUNTIMES[backend], "precision": "fp32"}
    length = 128 if model.takes_sequence else None
    sizes = {"batch_size": 1, "sequence_length": length, "mode": "inference"}
    return Cell(**{"model": model.name, **values, **sizes} | fields)


def need(model: ModelSpec, **fields: Any) -> float:
    return memory_need_bytes(a_cell(model, **fields), model)


def told(model: ModelSpec, machine: int | None = MACHINE, **fields: Any) -> str | None:
    limits = Limits(memory_bytes=fields.pop("limit", None))
    return words_of(shortage(a_cell(model, **fields), model, limits, machine))


@pytest.mark.parametrize(("name", "fields", "measured"), MEASURED_GB)
def test_what_was_measured_to_fit_is_not_refused(
    name: str, fields: dict[str, Any], measured: float
) -> None:
    model = find(name)
    limit = round(measured * 1e9)
    assert told(model, limit=limit, **fields) is None
    assert told(model, machine=limit, **fields) is None
    assert need(model, **fields) > 0.2 * limit


def test_limits_go_before_what_the_machine_has() -> None:
    gpt2 = find("gpt2")
    assert told(gpt2, limit=400_000_000) == (
        "needs at least 0.623 GB of memory, and 0.4 GB may be used"
    )
    assert told(gpt2, machine=400_000_000) is not None
    assert told(gpt2, machine=None) is None
    assert told(gpt2, machine=400_000_000, limit=1 << 30) is None


def test_a_decoder_on_webnn_holds_its_weights_for_each_new_token() -> None:
    decoder, fields = find("opt-125m"), {"mode": "generation", "new_tokens": 64}
    on_wasm, on_webnn = (need(decoder, backend=name, **fields) for name in ("wasm", "webnn"))
    assert on_webnn > on_wasm + 60 * 4 * 125e6
    assert told(decoder, backend="webnn", **fields) is not None
    assert told(decoder, backend="wasm", **fields) is None


@pytest.mark.parametrize("backend", ["cuda", "rocm", "mps", "webgpu", "fake"])
def test_memory_of_accelerators_is_not_guessed(backend: str) -> None:
    assert not CATALOGUE[backend].host_memory
    assert told(find("gpt2"), machine=1, backend=backend) is None


@pytest.mark.parametrize("backend", [name for name, spec in CATALOGUE.items() if spec.host_memory])
def test_the_hosts_memory_is_watched_for_every_backend_that_uses_it(backend: str) -> None:
    assert told(find("gpt2"), machine=1, backend=backend) is not None


def test_more_work_needs_more() -> None:
    gpt2 = find("gpt2")
    batches = [need(gpt2, batch_size=size) for size in (1, 64, 4096)]
    lengths = [need(gpt2, batch_size=64, sequence_length=length) for length in (128, 512, 1024)]
    tokens = [
        need(gpt2, batch_size=64, mode="generation", new_tokens=count) for count in (1, 64, 512)
    ]
    for needs in (batches, lengths, tokens):
        assert all(less < more for less, more in pairwise(needs))
    assert need(gpt2, mode="training") > 3.5 * (need(gpt2) - 100e6)


def test_whole_numbers_are_made_from_fp32_and_so_are_prepared_graphs() -> None:
    bert = find("bert-base-uncased")
    weights = 4 * (bert.parameters or 0)
    assert need(bert, precision="bf16") < weights
    for name in ("torch", "onnxruntime"):
        assert need(bert, precision="int8", runtime=name) >= weights
    assert need(bert, precision="bf16", backend="openvino", runtime="openvino") >= weights


@given(
    st.sampled_from(["bert-tiny", "gpt2", "t5-small", "vit-base"]),
    st.sampled_from(["inference", "generation", "training", "startup"]),
    st.sampled_from(["fp32", "bf16", "fp16", "int8"]),
    st.integers(1, 10**6),
)
def test_every_cell_has_a_need_above_its_weights(
    name: str, mode: Mode, precision: Precision, batch_size: int
) -> None:
    model = find(name)
    new = 8 if mode == "generation" else None
    found = need(model, mode=mode, precision=precision, batch_size=batch_size, new_tokens=new)
    assert (model.parameters or 0) < found < float("inf")


@given(
    st.dictionaries(
        st.sampled_from(["hidden_size", "num_attention_heads", "n_layer", "vocab_size", "n_inner"]),
        st.none() | st.booleans() | st.integers(-1, 10**6) | st.text(max_size=2),
    )
)
def test_any_config_has_a_need(config: dict[str, object]) -> None:
    custom = find("gpt2").model_copy(update={"parameters": None, "config": config})
    assert 0 < need(custom, mode="generation", new_tokens=4) < float("inf")


def tokens(model: ModelSpec, **fields: Any) -> float:
    return tokens_of(fake_cell(model=model.name, **{"sequence_length": None} | fields), model)


def test_an_image_is_counted_in_patches() -> None:
    assert tokens(find("vit-base")) == 14 * 14
    varying = sized_model(config={"patch_size": 14})
    assert tokens(varying, image_size=448) == 32 * 32
    assert tokens(varying, image_size=448, sequence_length=10) == 32 * 32 + 10
    in_prompt = tokens(find("qwen2-vl-2b"), sequence_length=128, image_size=448)
    assert in_prompt == 128 + 2 + 16 * 16


def test_sound_is_counted_in_frames_of_20_ms() -> None:
    assert tokens(sized_model(config={}), audio_seconds=5) == 250


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "vit-base"])
def test_parameters_that_nobody_published_are_guessed_within_a_tenth(name: str) -> None:
    spec = find(name)
    guessed = known_parameters(spec.model_copy(update={"parameters": None}))
    assert guessed == pytest.approx(spec.parameters, rel=0.1)
