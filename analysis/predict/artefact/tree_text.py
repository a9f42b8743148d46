"""Boosted trees as text from elsewhere: checked before LightGBM, which trusts it, reads it.

Its parser follows indices and lengths that the text names without a look at their range. What is
checked here are those of numerical trees of one output, which is all that `fit_trees` makes.
"""

import math
import re
from collections.abc import Mapping, Sequence

MOST_TREES = 5_000
MOST_LEAVES = 1_024
_START = "tree\n"
_FIRST_TREE, _END = "Tree=0\n", "end of trees\n"
_VERSION = "v4"
_FOREIGN = re.compile(r"[^ -~\n]")
"""Characters that LightGBM never writes: it knows other ends of lines than Python."""
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_NODES = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
_WHOLE_NUMBERS = frozenset({"split_feature", "decision_type", "left_child", "right_child"})
_THRESHOLD = "threshold"
"""Infinite where what is missing goes one way and every number the other."""
_CATEGORICAL = 1
"""The bit of a decision that is one between categories."""


def require_trees(text: str, columns: int) -> None:
    """Refuse a text that is not one of trees over so many columns.

    Raises:
        ValueError: it is none; the message says what is wrong.
    """
    if not text.startswith(_START) or _FOREIGN.search(text):
        raise ValueError("is no text of LightGBM")
    head, found_trees, rest = text.partition(_FIRST_TREE)
    body, found_end, tail = (found_trees + rest).partition(_END)
    if not (found_trees and found_end) or _FIRST_TREE in tail:
        raise ValueError("has no trees, or no end of them")
    facts = _facts(head)
    _require(facts.get("version") == _VERSION, f"is not of version {_VERSION}")
    for name, value in (("num_class", "1"), ("num_tree_per_iteration", "1"), ("label_index", "0")):
        _require(facts.get(name) == value, f"{name} is not {value}")
    _require(facts.get("max_feature_idx") == str(columns - 1), f"is not of {columns} columns")
    _require(len(facts.get("feature_names", "").split()) == columns, "names other columns")
    _require(len(facts.get("feature_infos", "").split()) == columns, "knows other columns")
    sizes = _whole_numbers(facts.get("tree_sizes", ""), "tree_sizes")
    _require(0 < len(sizes) <= MOST_TREES, f"has {len(sizes)} trees; at most {MOST_TREES:,}")
    _require(all(size > 0 for size in sizes), "tree_sizes are not above 0")
    _require_each(body, sizes, columns)


def _require_each(body: str, sizes: Sequence[int], columns: int) -> None:
    start = 0
    for number, size in enumerate(sizes):
        tree = body[start : start + size]
        head = f"Tree={number}\n"
        _require(tree.startswith(head) and len(tree) == size, f"tree {number} is not where it is")
        _require_tree(_facts(tree.removeprefix(head)), columns, f"tree {number}")
        start += size
    _require(not body[start:].strip(), "has more trees than it tells the sizes of")


def _require_tree(facts: Mapping[str, str], columns: int, name: str) -> None:
    (leaves,) = _whole_numbers(facts.get("num_leaves", ""), name) or (0,)
    _require(1 <= leaves <= MOST_LEAVES, f"{name} has {leaves} leaves")
    _require(facts.get("num_cat") == "0", f"{name} decides between categories")
    _require(facts.get("is_linear", "0") == "0", f"{name} has linear leaves")
    _numbers(facts.get("shrinkage", ""), 1, name)
    for key in _LEAVES:
        _numbers(facts.get(key, ""), leaves if leaves > 1 or key == "leaf_value" else None, name)
    if leaves == 1:
        return
    nodes = leaves - 1
    for key in _NODES:
        if key not in _WHOLE_NUMBERS:
            _numbers(facts.get(key, ""), nodes, name, finite=key != _THRESHOLD)
    whole = {key: _whole_numbers(facts.get(key, ""), name) for key in _WHOLE_NUMBERS}
    _require(all(len(values) == nodes for values in whole.values()), f"{name} lacks nodes")
    _require(all(0 <= one < columns for one in whole["split_feature"]), f"{name}: no such column")
    decisions = whole["decision_type"]
    _require(
        all(0 <= one < 16 and not one & _CATEGORICAL for one in decisions), f"{name}: no decision"
    )
    _require_shape(whole["left_child"], whole["right_child"], leaves, name)


def _require_shape(left: Sequence[int], right: Sequence[int], leaves: int, name: str) -> None:
    """Each node but the first, and each leaf, hangs below exactly one node before it."""
    children = [(parent, child) for side in (left, right) for parent, child in enumerate(side)]
    _require(all(child < 0 or parent < child for parent, child in children), f"{name} has a circle")
    expected = {*range(-leaves, 0), *range(1, leaves - 1)}
    _require(
        len(children) == len(expected) and {child for _, child in children} == expected,
        f"{name}: its nodes do not make a tree",
    )


def _facts(text: str) -> Mapping[str, str]:
    """The lines `key=value`, each key once."""
    pairs = [line.partition("=")[::2] for line in text.splitlines() if "=" in line]
    facts = dict(pairs)
    _require(len(facts) == len(pairs), "repeats a key")
    return facts


def _whole_numbers(text: str, name: str) -> list[int]:
    words = text.split(" ") if text else []
    _require(all(map(_WHOLE.fullmatch, words)), f"{name}: holds what is no whole number")
    return [int(word) for word in words]


def _numbers(text: str, count: int | None, name: str, *, finite: bool = True) -> None:
    """Insist on so many numbers; None for any number of them."""
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        raise ValueError(f"{name}: holds what is no number") from None
    _require(count is None or len(values) == count, f"{name} has {len(values)} numbers")
    is_sound = math.isfinite if finite else _is_number
    _require(all(map(is_sound, values)), f"{name}: holds what is not finite")


def _is_number(value: float) -> bool:
    return not math.isnan(value)


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)
