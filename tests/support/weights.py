"""Folders of weights for tests that load none of them."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BERT: dict[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "vocab_size": 100,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
TENSORS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "embeddings.weight": ("F32", (100, 16)),
    "dense.weight": ("BF16", (4, 4)),
    "position_ids": ("I64", (1, 64)),
}
"""Data type and shape by name: 1616 parameters and a buffer of whole numbers."""
_BYTES = {"F32": 4, "BF16": 2, "I64": 8}


def write_safetensors(
    path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]] = TENSORS, fill: int = 0
) -> None:
    """Write a file of that format in which every byte of every tensor is the same."""
    filled = {
        name: (dtype, shape, bytes([fill]) * math.prod(shape) * _BYTES[dtype])
        for name, (dtype, shape) in tensors.items()
    }
    save_tensors(path, filled)


def save_tensors(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...], bytes]]) -> None:
    """Write a file of that format: type, shape and bytes by name, in this order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape, content) in tensors.items():
        begin, end = end, end + len(content)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    content = b"".join(values for _, _, values in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


def a_weights_folder(folder: Path, config: Mapping[str, Any] = BERT, fill: int = 0) -> Path:
    """A model's folder as a hub would give it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", fill=fill)
    return folder
