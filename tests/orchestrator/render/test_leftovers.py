import json
from pathlib import Path

import pytest

from orchestrator.leftovers import Leftover
from orchestrator.render.leftovers import print_leftovers

Capture = pytest.CaptureFixture[str]
FOUND = [
    Leftover("graph", Path("results/graphs/a"), 3 << 20),
    Leftover("reference", Path("results/references/b.npz"), 1 << 20),
]


def test_a_listing_has_sizes_their_sum_and_what_to_do(capsys: Capture) -> None:
    print_leftovers(FOUND, removed=False, as_json=False)
    head, *rows, _, sums = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["path", "kind", "size"]
    assert rows == [
        ["results/graphs/a", "graph", "3MiB"],
        ["results/references/b.npz", "reference", "1MiB"],
    ]
    assert " ".join(sums) == (
        "2, together 4MiB, to remove: `orchestrator prepare --prune --yes` does"
    )


def test_what_was_removed_is_told_as_done(capsys: Capture) -> None:
    print_leftovers(FOUND, removed=True, as_json=False)
    assert capsys.readouterr().out.endswith("2, together 4MiB, removed\n")


def test_as_json_it_is_plain_data(capsys: Capture) -> None:
    print_leftovers(FOUND[:1], removed=False, as_json=True)
    assert json.loads(capsys.readouterr().out) == [
        {
            "kind": "graph",
            "path": "results/graphs/a",
            "size_bytes": 3 << 20,
            "removed": False,
        }
    ]


def test_nothing_is_told_as_nothing(capsys: Capture) -> None:
    print_leftovers([], removed=True, as_json=False)
    assert capsys.readouterr().out == "there is nothing to remove\n"
