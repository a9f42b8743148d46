"""Mappings and sets whose keys have parts, as JSON can hold them: lists of pairs, and of lists."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, PlainSerializer

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


def _key(data: Any) -> Any:
    return tuple(map(_key, data)) if isinstance(data, list) else data


def _mapping(pairs: Iterable[tuple[Any, Any]] | Mapping[Any, Any]) -> Mapping[Any, Any]:
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    return {_key(key): value for key, value in items}


Pairs: TypeAlias = Annotated[
    Mapping[_Key, _Value],
    BeforeValidator(_mapping),
    PlainSerializer(lambda mapping: [*mapping.items()], when_used="json"),
]
PlainKey: TypeAlias = Annotated[Hashable, BeforeValidator(_key)]
