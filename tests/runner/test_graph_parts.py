"""Parts are run in order, and hand on what later ones take."""

from collections.abc import Mapping
from typing import Any

import pytest

from runner.graph import Attempt, Graph, GraphPart, Part
from runner.graph_parts import run_parts


def graph(**parts: tuple[tuple[str, ...], tuple[str, ...]]) -> Graph:
    """A graph whose parts take and give these names."""
    values: dict[str, Any] = {
        name: GraphPart(file=name, sha256="", size_bytes=0, inputs=inputs, outputs=outputs)
        for name, (inputs, outputs) in parts.items()
    }
    return Graph(
        model="m",
        content="forward",
        numbers="fp32",
        shape="dynamic",
        parts=values,
        attempts=(Attempt(remedy="none", failure=None),),
        difference_relative=0,
        parameters=0,
        versions={},
        export_s=0,
    )


class Adding:
    """Runs parts that give the sum of what they take; remembers what that was."""

    def __init__(self, graph: Graph) -> None:
        self.taken: dict[str, Mapping[str, int]] = {}
        self.calls: dict[Part, Any] = {
            name: lambda values, name=name: self._run(graph, name, values) for name in graph.parts
        }

    def _run(self, graph: Graph, name: Part, values: Mapping[str, int]) -> dict[str, int]:
        self.taken[name] = values
        return dict.fromkeys(graph.parts[name].outputs, sum(values.values()))


def test_one_part_takes_what_it_names() -> None:
    one = graph(forward=(("a", "b"), ("logits",)))
    adding = Adding(one)
    assert run_parts(one, adding.calls, {"a": 1, "b": 2, "unused": 4}) == {"logits": 3}
    assert adding.taken == {"forward": {"a": 1, "b": 2}}


def test_what_a_part_gives_goes_to_later_ones() -> None:
    three = graph(
        vision=(("pixels",), ("image", "pooled")),
        embed=(("ids", "image"), ("embeds",)),
        language=(("embeds", "mask"), ("logits",)),
    )
    adding = Adding(three)
    outputs = run_parts(three, adding.calls, {"pixels": 1, "ids": 2, "mask": 4})
    assert list(adding.taken) == ["vision", "embed", "language"]
    assert adding.taken["language"] == {"embeds": 3, "mask": 4}
    assert outputs == {"pooled": 1, "logits": 7}


def test_what_nobody_gives_is_missed() -> None:
    one = graph(forward=(("a",), ("logits",)))
    with pytest.raises(KeyError, match="a"):
        run_parts(one, Adding(one).calls, {"b": 1})
