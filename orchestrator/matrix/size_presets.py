"""Published sizes of three architectures, from which a custom model takes its dimensions.

Sources: BERT and its miniatures (Devlin 2018, Turc 2019); GPT-2 (Radford 2019), below it DistilGPT2
and, at BERT's miniature dimensions, tiny and mini; ViT (Dosovitskiy 2020) and DeiT (Touvron 2020).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.matrix.signatures import IMAGE, TEXT, Config, Signature
from runner.contract.models import Family, Modality


@dataclass(frozen=True)
class Ladder:
    """One architecture in its published sizes."""

    name: str
    """The architecture's name as people write it."""
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
    signature: Signature
    """The tensors of one query and of training, given the final configuration."""

    def config_of(self, size: str) -> Config:
        """The configuration of one size."""
        return self.config | dict(zip(self.dimensions, self.sizes[size], strict=True))


_ENCODER = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")

LADDERS: Mapping[tuple[Family, Modality], Ladder] = {
    ("embedding", "text"): Ladder(
        name="BERT",
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
        signature=TEXT,
    ),
    ("text_generation", "text"): Ladder(
        name="GPT-2",
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
        signature=TEXT,
    ),
    ("vision", "image"): Ladder(
        name="ViT",
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
        signature=IMAGE,
    ),
}
