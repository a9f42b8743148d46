"""Facts that follow from a model's configuration, so that nobody needs to write them down."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from orchestrator.matrix.signatures import (
    ANY_IMAGE,
    CROPS,
    IMAGE,
    MASKED_IMAGE,
    PAIR,
    PATCHES,
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
from runner.contract.errors import SkipEntry, UsageError, refuse_unknown
from runner.contract.models import Family, Modality
from runner.contract.models.catalogue import CONFIG_FILE

_Name = TypeVar("_Name", Family, Modality)

_ENDINGS: Mapping[str, tuple[str, str]] = {
    "ForMaskedLM": ("AutoModelForMaskedLM", "fill-mask"),
    "ForCausalLM": ("AutoModelForCausalLM", "text-generation"),
    "LMHeadModel": ("AutoModelForCausalLM", "text-generation"),
    "ForSequenceClassification": ("AutoModelForSequenceClassification", "text-classification"),
    "ForTokenClassification": ("AutoModelForTokenClassification", "token-classification"),
    "ForQuestionAnswering": ("AutoModelForQuestionAnswering", "question-answering"),
    "ForNextSentencePrediction": ("AutoModelForNextSentencePrediction", "text-classification"),
    "ForPreTraining": ("AutoModelForPreTraining", "feature-extraction"),
    "ForObjectDetection": ("AutoModelForObjectDetection", "object-detection"),
    "ForSemanticSegmentation": ("AutoModelForSemanticSegmentation", "image-segmentation"),
    "ForDepthEstimation": ("AutoModelForDepthEstimation", "depth-estimation"),
    "ForImageClassification": ("AutoModelForImageClassification", "image-classification"),
    "ForAudioClassification": ("AutoModelForAudioClassification", "audio-classification"),
    "ForCTC": ("AutoModelForCTC", "automatic-speech-recognition"),
    "Model": ("AutoModel", "feature-extraction"),
}
"""The class that builds a model and its task, by how the name of the original's class ends."""
_CONDITIONAL = "ForConditionalGeneration"
_WRITES: Mapping[Modality, tuple[str, str]] = {
    "text": ("AutoModelForSeq2SeqLM", "text2text-generation"),
    "audio": ("AutoModelForSpeechSeq2Seq", "automatic-speech-recognition"),
    "multimodal": ("AutoModelForImageTextToText", "image-text-to-text"),
}
"""The same for classes that end in `ForConditionalGeneration`, by what they read."""
_SOUND = {"ForSequenceClassification": "ForAudioClassification"}
"""Endings of classes that read sound, by what they are called there."""
_KINDS = (
    "models of text, of images (classes, boxes, segments, depth), of sound (letters, classes, "
    "Whisper), CLIP, SigLIP, Qwen-VL, LLaVA-NeXT and LLaVA-OneVision"
)
"""Models of which everything follows from their configuration."""
_CONTENTS: Mapping[Modality, tuple[str, ...]] = {
    "multimodal": ("vision_config", "audio_config"),
    "audio": ("num_mel_bins", "conv_dim"),
    "image": ("num_channels", "image_size", "patch_size"),
    "text": ("vocab_size",),
}
"""Keys of a configuration that tell the content of a sample; the first that has one decides."""
_FAMILIES: Mapping[Modality, Family] = {
    "image": "vision",
    "audio": "audio",
    "multimodal": "multimodal",
    "video": "multimodal",
}
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
    modality = given.get("modality") or _modality_of(config)
    two_parts = modality in ("text", "audio") and _two_parts(config, given)
    architecture, task = _head_of(config, modality, given)
    signature = _signature_of(config, modality, two_parts=two_parts)
    writes = two_parts or architecture in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM")
    text_family: Family = "text_generation" if writes else "embedding"
    facts: Config = {
        "modality": modality,
        "family": _FAMILIES.get(modality, text_family),
        "encoder_decoder": two_parts,
        "architecture": architecture,
        "forward": forward_of(architecture),
        **({"task": task} if task else {}),
        **_longest(config, modality, given),
        **dict(_tensors(config, signature, architecture, given)),
    }
    return facts | given


def _modality_of(config: Config) -> Modality:
    for modality, keys in _CONTENTS.items():
        if any(config.get(key) is not None for key in keys):
            return modality
    known = ", ".join(key for keys in list(_CONTENTS.values())[::-1] for key in keys)
    raise SkipEntry(f"is required: {CONFIG_FILE} has none of {known}", key="modality")


def _two_parts(config: Config, given: Config) -> bool:
    two_parts = given.get("encoder_decoder", config.get("is_encoder_decoder")) or False
    if not isinstance(two_parts, bool):
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(two_parts)} for is_encoder_decoder, "
            "which is neither true nor false",
            key="encoder_decoder",
        )
    return two_parts


def _head_of(config: Config, modality: Modality, given: Config) -> tuple[str, str | None]:
    """The class that builds the model, as given or of the original, and its usual task."""
    if architecture := given.get("architecture"):
        tasks = dict([*_ENDINGS.values(), *_WRITES.values()])
        return architecture, given.get("task") or tasks.get(architecture)
    classes = config.get("architectures") or [""]
    original = classes[0] if isinstance(classes, list) else classes
    if not isinstance(original, str):
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(classes)} for architectures, "
            "which is not a list of names",
            key="architecture",
        )
    if original.endswith(_CONDITIONAL) and modality in _WRITES:
        return _WRITES[modality]
    ending = next((end for end in (*_SOUND, *_ENDINGS) if original.endswith(end)), None)
    if ending is None:
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(original)}, for which none is known; it is "
            f"for {_KINDS}",
            key="architecture",
        )
    return _ENDINGS[_SOUND.get(ending, ending) if modality == "audio" else ending]


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
    config: Config, signature: Signature | None, architecture: str, given: Config
) -> Iterator[tuple[str, Any]]:
    """Inputs by what the model reads, labels where its class learns from such ones."""
    if "inputs" not in given:
        if signature is None:
            raise SkipEntry(
                f"is required: it doesn't follow from the files of a {quote(config['model_type'])}"
                f"; it does for {_KINDS}",
                key="inputs",
            )
        yield "inputs", signature.inputs(config)
        yield from signature.sizes(config).items()
    if signature and "labels" not in given and architecture in signature.labels:
        try:
            yield "labels", signature.labels[architecture](config)
        except SkipEntry:
            if "inputs" not in given:
                raise


def family_word(value: object) -> object:
    """A family as people write it, `text generation` or `text-generation`, as files do."""
    return "_".join(value.replace("-", " ").split()) if isinstance(value, str) else value


def require_family(name: str) -> Family:
    return _required("--family", get_args(Family), name, family_word(name))


def require_modality(name: str) -> Modality:
    return _required("--modality", get_args(Modality), name, name)


def _required(option: str, known: tuple[_Name, ...], name: str, word: object) -> _Name:
    for value in known:
        if value == word:
            return value
    raise UsageError(f"{option}: {refuse_unknown(name, known)}")
