"""Architectures and words in the names of models, for models that come without a configuration."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_PORTS = re.compile(r"^(?:tf|tv|gluon|legacy|ssl|swsl|ig|timm)_(?=[a-z])")
"""Prefixes that say whose weights or code it is: the architecture behind them is the same."""
_STEM = re.compile(r"((?:eca|test)_)?[a-z]+?(?:v\d)?(?=[\d_\-]|$)")
"""The letters that a name begins with and the version behind them, e.g. `swinv2`; a word that
stands for a part which many architectures may have does not name one."""


@lru_cache(maxsize=8192)
def plain_name(model: str) -> str:
    """The name without an owner before it, and without the tag of its weights behind it."""
    name = model.rsplit("/", 1)[-1].lower()
    name = re.sub(r"\.[a-z][a-z0-9_.]*$", "", name)
    return _PORTS.sub("", name)


@lru_cache(maxsize=8192)
def architecture_of(model: str) -> str:
    """The architecture that a name begins with, e.g. `resnet` of `resnet50.a1_in1k`."""
    match = _STEM.match(plain_name(model))
    return match[0] if match else plain_name(model)


@lru_cache(maxsize=8192)
def words_of(model: str) -> tuple[str, ...]:
    """The parts of a name, e.g. `vit`, `base`, `patch16` and `224`."""
    return tuple(dict.fromkeys(filter(None, re.split(r"[_\-.]+", plain_name(model)))))


@lru_cache(maxsize=8192)
def line_of(model: str) -> str:
    """The letters of a name's first two words, e.g. `vit relpos` of `vit_relpos_base_patch16`."""
    return " ".join(re.sub(r"[^a-z]", "", word) for word in words_of(model)[:2])


def architecture_in(config: Mapping[str, Any]) -> str:
    """The architecture that a configuration names, e.g. `bert`."""
    return str(config.get("model_type") or "unknown")
