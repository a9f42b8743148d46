"""A size that a model doesn't take is refused in words that name it and what is allowed."""

from typing import Any

import pytest

from orchestrator.shape_limits import why_not_shape
from runner.models import ModelSpec
from tests.jobs import fake_cell
from tests.orchestrator.matrices import sized_model

GRID: dict[str, Any] = {
    "image_prompt": "grid",
    "config": {"vision_config": {"patch_size": 14, "spatial_merge_size": 2}},
    "max_sequence_length": 300,
}


def reason(model: ModelSpec, **fields: Any) -> str | None:
    return why_not_shape(fake_cell(model="sized", **fields), model)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"image_size": 450}, "sized takes image_size of multiples of 28, not 450"),
        ({"image_size": 28}, "sized takes image_size of at least 56, not 28"),
        ({"image_size": 1148}, "sized takes image_size of at most 1120, not 1148"),
        ({"audio_seconds": 31}, "sized takes audio_seconds of at most 30, not 31"),
        ({"image_size": 450, "sequence_length": 1025},
         "sized takes image_size of multiples of 28, not 450"),
        ({"sequence_length": 1025}, "sized takes at most 1024 tokens, not 1025"),
        ({"sequence_length": 1000, "new_tokens": 25, "mode": "generation"},
         "sized takes at most 1024 tokens, not 1000 and 25 new ones"),
    ],
)  # fmt: skip
def test_each_size_has_its_reason(fields: dict[str, Any], expected: str) -> None:
    assert reason(sized_model(), **fields) == expected


@pytest.mark.parametrize(
    "fields", [{"image_size": 56}, {"image_size": 1120}, {"audio_seconds": 30}]
)
def test_the_ends_of_a_range_are_taken(fields: dict[str, Any]) -> None:
    assert reason(sized_model(), **fields) is None


def test_an_image_takes_places_of_the_prompt() -> None:
    model = sized_model(**GRID)
    assert reason(model, sequence_length=44, image_size=448) is None
    assert reason(model, sequence_length=45, image_size=448) == (
        "sized takes at most 300 tokens, not 45 and 256 of an image"
    )


def test_behind_an_encoder_new_tokens_have_a_limit_of_their_own() -> None:
    model = sized_model(encoder_decoder=True, max_new_tokens=64)
    fields = {"sequence_length": 1024, "mode": "generation"}
    assert reason(model, **fields, new_tokens=64) is None
    assert reason(model, **fields, new_tokens=65) == "sized generates at most 64 tokens, not 65"
