"""Folders of models that read an image in a prompt are described as the catalogue does."""

from typing import Any

import pytest

from orchestrator.matrix.model_config import implied
from runner.contract.errors import SkipEntry
from runner.contract.models import ModelSpec, catalogue

CLASSES = {
    "llava_next": "LlavaNextForConditionalGeneration",
    "llava_onevision": "LlavaOnevisionForConditionalGeneration",
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
}
READERS = [name for name, spec in catalogue().items() if spec.image_prompt]


def described(name: str, **changes: Any) -> ModelSpec:
    """The model that a folder with this configuration, but for some keys, is taken for."""
    config = dict(catalogue()[name].config)
    config |= {"architectures": [CLASSES[config["model_type"]]]}
    for key, value in changes.items():
        part, _, last = key.rpartition("__")
        config |= {part: config[part] | {last: value}} if part else {last: value}
    facts = {"name": "mine", "config": config}
    return ModelSpec.model_validate(facts | implied(config, facts))


@pytest.mark.parametrize("name", READERS)
def test_a_folder_is_described_as_the_catalogues_model(name: str) -> None:
    mine, published = described(name), catalogue()[name]
    same = ("family", "task", "modality", "architecture", "forward", "image_prompt")
    for field in (*same, "max_sequence_length"):
        assert getattr(mine, field) == getattr(published, field), field
    for ours, theirs in zip(mine.inputs, published.inputs, strict=True):
        assert (ours.name, ours.kind, ours.shape, ours.values) == (
            theirs.name, theirs.kind, theirs.shape, theirs.values,
        )  # fmt: skip
    assert mine.labels is not None
    assert mine.labels.high == mine.inputs[0].high
    assert (mine.inputs[0].high or 0) >= (published.inputs[0].high or 0)
    assert mine.image_size is not None
    assert published.image_size is not None
    assert mine.image_size.multiple_of == published.image_size.multiple_of
    if not name.endswith("-micro"):
        assert mine.image_size.default == published.image_size.default


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("qwen2-vl-2b", {"image_token_id": None}, "has no image_token_id"),
        ("qwen2-vl-2b", {"image_token_id": -1}, "says -1 for image_token_id"),
        ("qwen2-vl-2b", {"vision_config__patch_size": None}, "has no patch_size"),
        ("llava-v1.6-mistral-7b", {"vision_config__image_size": None}, "has no image_size"),
        ("llava-v1.6-mistral-7b", {"image_grid_pinpoints": [[28, 336]]}, "of at least 336"),
        ("llava-onevision-0.5b", {"vision_aspect_ratio": "pad"}, "not such as anyres_max_9"),
    ],
)
def test_what_the_arithmetic_of_images_needs_is_asked_for(
    name: str, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SkipEntry, match=sentence):
        described(name, **changes)
