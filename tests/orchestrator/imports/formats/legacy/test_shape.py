"""A shape as a format: what it does with a value that no walk comes to the end of."""

from typing import Any, NoReturn

import pytest

from orchestrator.imports.formats.legacy.shape import Shape, has_any, has_map, is_map_of_maps
from orchestrator.imports.reading import NotReadable, Reading
from tests.orchestrator.imports.documents import json_document


def too_deep(_: Any) -> NoReturn:
    raise RecursionError


def test_a_value_that_is_nested_too_deeply_is_not_readable() -> None:
    shape = Shape("deep", lambda _: True, too_deep)
    assert shape.recognises(json_document({}))
    with pytest.raises(NotReadable, match="nested too deeply"):
        shape.read(json_document({}))


def test_nor_does_looking_at_it_fail() -> None:
    shape = Shape("deep", too_deep, lambda _: Reading(nothing="nothing"))
    assert not shape.recognises(json_document({}))


def test_predicates_take_any_value() -> None:
    assert has_map({"a": {}}, "a")
    assert not has_map({"a": []}, "a")
    assert not has_map([], "a")
    assert has_any({"a": None, "b": 0}, "a", "b")
    assert not has_any({"a": None}, "a", "b")
    assert is_map_of_maps({"a": 1, "b": {}})
    assert not is_map_of_maps({"a": 1})
