"""Facts that follow from a model's configuration, so that nobody needs to write them down."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.matrix.heads import KINDS, Head, family_of, head_of, modality_of
from orchestrator.matrix.image_prompts import CROPS, PATCHES
from orchestrator.matrix.signatures import (
    ANY_IMAGE,
    IMAGE,
    MASKED_IMAGE,
    PAIR,
    SPECTROGRAM,
    TEXT,
    TWO_TEXTS,
    WAVE,
    Config,
    Signature,
    forward_of,
    whole_number,
)
from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry
from runner.contract.models import Modality
from runner.contract.models.catalogue import CONFIG_FILE

_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
"""Types that count positions from the padding token's id, so that the first two are never used."""
_SIGNATURES: Mapping[Modality, Mapping[str, Signature]] = {
    "image": dict.fromkeys(("detr", "conditional_detr", "table-transformer"), MASKED_IMAGE),
    "multimodal": {
        **dict.fromkeys(("clip", "siglip"), PAIR),
        **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl"), PATCHES),
        **dict.fromkeys(("llava_next", "llava_onevision"), CROPS),
    },
}
"""The signatures of types of models that read what others of their modality do not."""


def implied(config: Config, given: Config) -> Config:
    """Facts that follow from a configuration, with those that its entry gives in their place."""
    modality = given.get("modality") or modality_of(config)
    two_parts = modality in ("text", "audio") and _two_parts(config, given)
    head = head_of(config, modality, given)
    signature = _signature_of(config, modality, two_parts=two_parts)
    facts: Config = {
        "modality": modality,
        "family": family_of(head, modality, two_parts=two_parts),
        "encoder_decoder": two_parts,
        "architecture": head.architecture,
        "forward": forward_of(head.architecture),
        **({"task": head.task} if head.task else {}),
        **_longest(config, modality, given),
        **dict(_tensors(config, signature, head, given)),
    }
    return facts | given


def _signature_of(config: Config, modality: Modality, *, two_parts: bool) -> Signature | None:
    """The signature of a model that takes such samples; None where it doesn't follow."""
    own = _SIGNATURES.get(modality, {}).get(config["model_type"])
    if own or modality == "text":
        return own or (TWO_TEXTS if two_parts else TEXT)
    if modality == "image":
        return IMAGE if "image_size" in config else ANY_IMAGE
    if modality == "audio" and {"num_mel_bins", "max_source_positions"} <= config.keys():
        return SPECTROGRAM
    if modality == "audio" and "conv_dim" in config:
        return WAVE
    return None


def _two_parts(config: Config, given: Config) -> bool:
    two_parts = given.get("encoder_decoder", config.get("is_encoder_decoder")) or False
    if not isinstance(two_parts, bool):
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(two_parts)} for is_encoder_decoder, "
            "which is neither true nor false",
            key="encoder_decoder",
        )
    return two_parts


def _longest(config: Config, modality: Modality, given: Config) -> Config:
    """Most tokens of a sample, where the configuration limits them."""
    names = ("max_position_embeddings", "n_positions")
    name = next((name for name in names if config.get(name) is not None), None)
    if name is None or modality != "text" or "max_sequence_length" in given:
        return {}
    unused = 2 if config["model_type"] in _OFFSET_POSITIONS else 0
    longest = whole_number(config, name, "max_sequence_length", least=unused + 1) - unused
    return {"max_sequence_length": longest}


def _tensors(
    config: Config, signature: Signature | None, head: Head, given: Config
) -> Iterator[tuple[str, Any]]:
    """Inputs by what the model reads, labels where its class learns from such ones."""
    if "inputs" not in given:
        if signature is None:
            raise SkipEntry(
                f"is required: it doesn't follow from the files of a {quote(config['model_type'])}"
                f"; it does for {KINDS}",
                key="inputs",
            )
        yield "inputs", signature.inputs(config)
        yield from signature.sizes(config).items()
    if signature and "labels" not in given and head.architecture in signature.labels:
        try:
            yield "labels", signature.labels[head.architecture](config)
        except SkipEntry:
            if "inputs" not in given:
                raise
