"""Broken models are wrong, and honest ones right: the proof that the check checks."""

from collections.abc import Mapping

import pytest

from performance.sabotage.__main__ import (
    HONEST,
    PRECISIONS,
    SabotageVerdict,
    Shares,
    shares_of,
    verdicts,
)
from performance.sabotage.faults import sabotages
from runner.contract.axes import Precision
from runner.contract.models import model_sets
from tests.support.siblings import siblings

MICRO = frozenset(name.removesuffix("-micro") for name in model_sets()["micro"])
GENERATING = frozenset(
    {"t5", "opt", "gpt2", "llama", "whisper", "llava-onevision", "llava-next"}
    | {"qwen2", "qwen3", "qwen2-vl", "qwen3-vl"}
)
ROTARY = frozenset({"llama", "llava-onevision", "llava-next"} | {"qwen2", "qwen3"})
ROTARY_AND_GRIDS = ROTARY | {"qwen2-vl", "qwen3-vl"}
WITHOUT_BIASED_NORMS = frozenset({"t5", "llama", "qwen2", "qwen3"})
PATCHED = frozenset(
    {"clip", "vit", "clap", "xclip", "llava-onevision", "llava-next", "qwen2-vl", "qwen3-vl"}
)
TIED = GENERATING - {"llama", "llava-next"} | {"bert"}
_NORM_BIASES = [f"bias of the {place} norm lost" for place in ("first", "middle", "last")]
_STEPS = [sabotage.name for sabotage in sabotages("fp32") if sabotage.in_steps]
LACKING: Mapping[str, frozenset[str]] = {
    "cross-attention zero": MICRO - {"t5", "whisper", "xclip", "detr"},
    "scores not scaled": frozenset({"t5"}),
    "scores too large by the root of 2": frozenset({"t5"}),
    "shared heads repeated in the wrong order": MICRO - ROTARY,
    "last two layers swapped": frozenset({"clap"}),
    "dropout left on": MICRO - {"bert", "t5", "gpt2", "clap", "wav2vec2"},
    "batch norms by the batch": MICRO - {"clap"},
    "windows moved by one": MICRO - {"whisper", "wav2vec2", "detr"},
    "biases of all linear layers lost": frozenset({"t5", "llama", "qwen3"}),
    "token types lost": MICRO - {"bert", "clap"},
    "head untied from the embedding": MICRO - TIED,
    "causal mask dropped": frozenset({"bert", "vit", "clap", "wav2vec2", "detr"}),
    "padding mask dropped": frozenset({"vit", "whisper", "wav2vec2", "detr"}),
    "patches moved by one": MICRO - PATCHED,
    "rotary positions lost": MICRO - ROTARY_AND_GRIDS,
    "rotary base wrong": MICRO - ROTARY_AND_GRIDS,
    "positions shifted by one": frozenset({"llama", "wav2vec2", "qwen2", "qwen3", "qwen2-vl"}),
    **dict.fromkeys(_NORM_BIASES, WITHOUT_BIASED_NORMS),
    **dict.fromkeys(_STEPS, MICRO - GENERATING),
    "cache without the last token": MICRO - GENERATING | {"t5", "whisper"},
}
"""The architectures of the set `micro` that have no part which a fault could break: no biased norm,
no causal mask, no mask at all, no rotary position, no table of positions, no patches, no cache."""
TOO_SMALL: Mapping[str, frozenset[str]] = {"t5-micro": frozenset({"last two layers swapped"})}
"""Models too small for a fault: of two layers the first alone holds the table of distances."""


FEW = ("qwen3-micro",)
"""The model of the slow suite; `python -m performance faults sabotage` takes all."""
EVERY_MODEL = siblings(sorted({*model_sets()["micro"], *model_sets()["small"]}), keep=FEW)


EXCUSED = "scores too large by the root of 2"
"""A fault of vit-micro that int8's rounding hides."""


def wrong(model: str, precision: Precision, shares: Shares) -> list[str]:
    """The faults that were missed, and those that were found though they are excused."""
    return [
        f"{name}: {shares[name]}, {verdict}"
        for name, verdict in verdicts(model, precision, shares).items()
        if verdict in ("MISSED", "stale excuse")
    ]


def lacking(model: str) -> set[str]:
    """The faults that cannot be in the model, which may be another size of a micro one."""
    families = [name for name in MICRO if f"{name}-micro" == model]
    family = families[0] if families else model.split("-", maxsplit=1)[0]
    absent = {fault for fault, models in LACKING.items() if family in models}
    return absent | TOO_SMALL.get(model, frozenset())


@pytest.mark.parametrize(
    ("honest", "share", "verdict"),
    [
        (0.34, 0.85, "below rounding"),
        (0.34, 0.34, "MISSED"),
        (0.02, 0.3, "MISSED"),
        (0.34, 1.2, "stale excuse"),
        (0.34, None, "stale excuse"),
    ],
)
def test_an_excused_fault_shows_beside_the_honest_model_and_is_not_found(
    honest: float, share: float | None, verdict: SabotageVerdict
) -> None:
    shares = {HONEST: honest, EXCUSED: share}
    assert verdicts("vit-micro", "int8", shares) == {HONEST: "right", EXCUSED: verdict}


def test_without_an_excuse_what_applies_must_be_found() -> None:
    shares = {HONEST: 1.1, "a": 0.9, "b": 1.1, "c": None}
    found = verdicts("vit-micro", "fp32", shares)
    assert found == {HONEST: "MISSED", "a": "MISSED", "b": "right", "c": "right"}


@pytest.mark.slow
def test_the_faults_of_a_classifier_are_found_in_int8() -> None:
    (shares,) = shares_of("vit-micro", ["int8"]).values()
    assert wrong("vit-micro", "int8", shares) == []
    assert {name for name, share in shares.items() if share is None} == lacking("vit-micro")


def test_what_no_architecture_could_lack_is_not_in_the_list() -> None:
    assert set(LACKING) <= {sabotage.name for sabotage in sabotages("fp32")}
    assert all(models < MICRO for models in LACKING.values())


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("model", EVERY_MODEL)
def test_every_fault_is_found_in_every_precision(model: str) -> None:
    by_precision = shares_of(model, PRECISIONS)
    assert {name: wrong(model, name, shares) for name, shares in by_precision.items()} == {
        name: [] for name in PRECISIONS
    }
    absent = {name for name, share in by_precision["fp32"].items() if share is None}
    assert absent == lacking(model)
