"""The origin's JSON object of custom models: an own name for each model of a hub, with claims.

    {"bert": {"name": "prajjwal1/bert-tiny", "family": "embedding", "size": "tiny"}}

It names models and holds no configuration. So each must be one whose configuration is bundled here;
another architecture of the same family and size would be another model's speed under its name.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.matrix.heads import family_word
from orchestrator.matrix.unknown_models import unknown_model
from orchestrator.system.problems import Problem, quote
from runner.contract.models import ModelSpec, catalogue

_NAME = "name"
_CLAIMS = ("family", "modality")
"""Claims that an entry may make beside, and that must hold."""


def is_origin_object(data: Any) -> bool:
    """True for an object whose values all name a model and hold no configuration."""
    return (
        isinstance(data, dict)
        and bool(data)
        and all(
            isinstance(entry, dict) and _NAME in entry and "config" not in entry
            for entry in data.values()
        )
    )


def origin_models(
    data: Mapping[str, Mapping[str, Any]], folder: Path, problems: list[Problem]
) -> Iterator[ModelSpec]:
    """The models under their own names; what is wrong joins the problems."""
    known = {name: spec for spec in catalogue().values() for name in _names(spec)}
    for own, entry in data.items():
        named = entry[_NAME]
        spec = known.get(named) if isinstance(named, str) else None
        if spec is None:
            sentence = unknown_model(str(named), [*catalogue()], folder)
            problems.append(Problem((own, _NAME), sentence))
            continue
        wrong = [*_contradictions(own, entry, spec)]
        problems += wrong
        if not wrong:
            yield spec if own == spec.name else spec.model_copy(update={"name": own})


def _names(spec: ModelSpec) -> Iterator[str]:
    """The names that mean this model: its own, its hub's id, and that without the owner."""
    yield spec.name
    if spec.hub_id:
        yield spec.hub_id
        yield spec.hub_id.rpartition("/")[2]


def _contradictions(own: str, entry: Mapping[str, Any], spec: ModelSpec) -> Iterator[Problem]:
    for key in _CLAIMS:
        said, is_so = entry.get(key), getattr(spec, key)
        word = family_word(said) if key == "family" and isinstance(said, str) else said
        if said is not None and word != is_so:
            message = f"is {quote(said)}, and {spec.name} is {is_so}"
            yield Problem((own, key), message)
