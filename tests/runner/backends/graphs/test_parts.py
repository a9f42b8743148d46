"""Parts are run in order, and hand on what later ones take."""

from collections.abc import Mapping
from typing import Any

import pytest

from runner.backends.graphs.outputs import run_parts

Names = tuple[str, ...]


class Adding:
    """Runs parts that give the sum of what they take; remembers what that was."""

    def __init__(self, **parts: tuple[Names, Names]) -> None:
        """Parts of these inputs and outputs."""
        self.taken: dict[str, Mapping[str, int]] = {}
        self._takes: Any = {name: takes for name, (takes, _) in parts.items()}
        self._calls: Any = {
            name: lambda values, name=name, gives=gives: self._run(name, values, gives)
            for name, (_, gives) in parts.items()
        }

    def __call__(self, **inputs: int) -> dict[str, int]:
        return run_parts(self._takes, self._calls, inputs)

    def _run(self, name: str, values: Mapping[str, int], gives: Names) -> dict[str, int]:
        self.taken[name] = values
        return dict.fromkeys(gives, sum(values.values()))


def test_one_part_takes_what_it_names() -> None:
    adding = Adding(forward=(("a", "b"), ("logits",)))
    assert adding(a=1, b=2, unused=4) == {"logits": 3}
    assert adding.taken == {"forward": {"a": 1, "b": 2}}


def test_what_a_part_gives_goes_to_later_ones() -> None:
    adding = Adding(
        vision=(("pixels",), ("image", "pooled")),
        embed=(("ids", "image"), ("embeds",)),
        language=(("embeds", "mask"), ("logits",)),
    )
    outputs = adding(pixels=1, ids=2, mask=4)
    assert list(adding.taken) == ["vision", "embed", "language"]
    assert adding.taken["language"] == {"embeds": 3, "mask": 4}
    assert outputs == {"pooled": 1, "logits": 7}


def test_what_two_parts_take_is_there_for_both() -> None:
    adding = Adding(
        vision=(("pixels",), ("image",)),
        embed=(("ids", "image"), ("embeds",)),
        language=(("embeds", "image"), ("logits",)),
    )
    assert adding(pixels=1, ids=2) == {"logits": 4}


def test_what_nobody_gives_is_missed() -> None:
    with pytest.raises(KeyError, match="a"):
        Adding(forward=(("a",), ("logits",)))(b=1)
