"""Published sizes of three architectures, from which a custom model takes its dimensions.

Sources: BERT and its miniatures (Devlin 2018, Turc 2019); GPT-2 (Radford 2019), below it DistilGPT2
and, at BERT's miniature dimensions, tiny and mini; ViT (Dosovitskiy 2020) and DeiT (Touvron 2020).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry
from runner.contract.models import Family, Modality
from runner.contract.models.spec import LARGEST_SIZE

Config = dict[str, Any]


@dataclass(frozen=True)
class Ladder:
    """One architecture in its published sizes."""

    task: str
    architecture: str
    config: Config
    """The values that all sizes share."""
    dimensions: tuple[str, ...]
    """The configuration keys that differ between sizes."""
    sizes: Mapping[str, tuple[int, ...]]
    """Their values, size by size."""
    longest: str | None
    """The configuration key that limits the sequence length."""
    inputs: Callable[[Config], list[Config]]
    """The tensors of one query, given the final configuration."""
    labels: Callable[[Config], Config]
    """The tensor that training compares the outputs with, given the final configuration."""
    forward: Mapping[str, bool]

    def config_of(self, size: str) -> Config:
        """The configuration of one size."""
        return self.config | dict(zip(self.dimensions, self.sizes[size], strict=True))


def whole_number(config: Config, name: str, key: str, *, least: int = 1) -> int:
    """A size that the configuration gives.

    Raises:
        SkipEntry: it gives none; the message is about the entry's key, which can give it instead.
    """
    value = config.get(name)
    if value is None:
        raise SkipEntry(f"is required: the configuration has no {name}", key=key)
    if type(value) is not int or not least <= value <= LARGEST_SIZE:
        raise SkipEntry(
            f"is required: the configuration says {quote(value)} for {name}, "
            f"which is not a whole number from {least} to {LARGEST_SIZE:,}",
            key=key,
        )
    return value


def _text(config: Config) -> list[Config]:
    shape, words = ["batch_size", "sequence_length"], whole_number(config, "vocab_size", "inputs")
    return [
        {"name": "input_ids", "kind": "token_ids", "shape": shape, "high": words},
        {"name": "attention_mask", "kind": "ones", "shape": shape},
    ]


def _word_labels(config: Config) -> Config:
    shape, words = ["batch_size", "sequence_length"], whole_number(config, "vocab_size", "labels")
    return {"name": "labels", "kind": "token_ids", "shape": shape, "high": words}


def _image(config: Config) -> list[Config]:
    side, channels = (
        whole_number(config, name, "inputs") for name in ("image_size", "num_channels")
    )
    shape = ["batch_size", channels, side, side]
    return [{"name": "pixel_values", "kind": "normal", "shape": shape}]


def _class_labels(config: Config) -> Config:
    shape, classes = ["batch_size"], whole_number(config, "num_labels", "labels")
    return {"name": "labels", "kind": "token_ids", "shape": shape, "high": classes}


_ENCODER = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")

LADDERS: Mapping[tuple[Family, Modality], Ladder] = {
    ("embedding", "text"): Ladder(
        task="fill-mask",
        architecture="AutoModelForMaskedLM",
        config={"model_type": "bert", "vocab_size": 30522, "max_position_embeddings": 512},
        dimensions=_ENCODER,
        sizes={
            "tiny": (2, 128, 2, 512),
            "mini": (4, 256, 4, 1024),
            "small": (4, 512, 8, 2048),
            "medium": (8, 512, 8, 2048),
            "base": (12, 768, 12, 3072),
            "large": (24, 1024, 16, 4096),
        },
        longest="max_position_embeddings",
        inputs=_text,
        labels=_word_labels,
        forward={},
    ),
    ("text_generation", "text"): Ladder(
        task="text-generation",
        architecture="AutoModelForCausalLM",
        config={"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024},
        dimensions=("n_layer", "n_embd", "n_head"),
        sizes={
            "tiny": (2, 128, 2),
            "mini": (4, 256, 4),
            "small": (6, 768, 12),
            "base": (12, 768, 12),
            "medium": (24, 1024, 16),
            "large": (36, 1280, 20),
        },
        longest="n_positions",
        inputs=_text,
        labels=_word_labels,
        forward={"use_cache": False},
    ),
    ("vision", "image"): Ladder(
        task="image-classification",
        architecture="AutoModelForImageClassification",
        config={
            "model_type": "vit",
            "image_size": 224,
            "patch_size": 16,
            "num_channels": 3,
            "num_labels": 1000,
        },
        dimensions=_ENCODER,
        sizes={
            "tiny": (12, 192, 3, 768),
            "small": (12, 384, 6, 1536),
            "base": (12, 768, 12, 3072),
            "large": (24, 1024, 16, 4096),
        },
        longest=None,
        inputs=_image,
        labels=_class_labels,
        forward={},
    ),
}
