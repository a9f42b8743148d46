"""Heads of models: the class that their weights were saved from, and what follows from its name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from orchestrator.matrix.signatures import Config
from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry, UsageError, refuse_unknown
from runner.contract.models import Family, Modality
from runner.contract.weights import CONFIG_FILE


@dataclass(frozen=True)
class Head:
    """The class that builds a model, and its task."""

    architecture: str
    """The transformers class that builds the model."""
    task: str | None
    """The task in Hugging Face's words; None where the class has no usual one."""


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
KINDS = (
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


def head_of(config: Config, modality: Modality, given: Config) -> Head:
    """The entry's own architecture, or that of the class which the weights were saved from."""
    if architecture := given.get("architecture"):
        tasks = dict([*_ENDINGS.values(), *_WRITES.values()])
        return Head(architecture, given.get("task") or tasks.get(architecture))
    original = _original(config)
    if original.endswith(_CONDITIONAL) and modality in _WRITES:
        return Head(*_WRITES[modality])
    ending = next((end for end in (*_SOUND, *_ENDINGS) if original.endswith(end)), None)
    if ending is None:
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(original)}, for which none is known; it is "
            f"for {KINDS}",
            key="architecture",
        )
    return Head(*_ENDINGS[_SOUND.get(ending, ending) if modality == "audio" else ending])


def modality_of(config: Config) -> Modality:
    """The content of a sample, by the sizes that the configuration names."""
    for modality, keys in _CONTENTS.items():
        if any(config.get(key) is not None for key in keys):
            return modality
    known = ", ".join(key for keys in list(_CONTENTS.values())[::-1] for key in keys)
    raise SkipEntry(f"is required: {CONFIG_FILE} has none of {known}", key="modality")


def family_of(head: Head, modality: Modality, *, two_parts: bool) -> Family:
    """The purpose of a model: text that is written, or what its samples are."""
    if modality != "text":
        return _FAMILIES[modality]
    writes = two_parts or head.architecture in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM")
    return "text_generation" if writes else "embedding"


def family_word(value: object) -> object:
    """A family as people write it, `text generation` or `text-generation`, as files do."""
    return "_".join(value.replace("-", " ").split()) if isinstance(value, str) else value


def require_family(name: str) -> Family:
    """The family that an option names.

    Raises:
        UsageError: there is none of that name.
    """
    families: tuple[Family, ...] = get_args(Family)
    word = family_word(name)
    for family in families:
        if family == word:
            return family
    raise UsageError(f"--family: {refuse_unknown(name, families)}")


def require_modality(name: str) -> Modality:
    """The content that an option names.

    Raises:
        UsageError: there is none of that name.
    """
    modalities: tuple[Modality, ...] = get_args(Modality)
    for modality in modalities:
        if modality == name:
            return modality
    raise UsageError(f"--modality: {refuse_unknown(name, modalities)}")


def _original(config: Config) -> str:
    classes = config.get("architectures") or [""]
    original = classes[0] if isinstance(classes, list) else classes
    if not isinstance(original, str):
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(classes)} for architectures, "
            "which is not a list of names",
            key="architecture",
        )
    return original
