"""The semantics are GitHub's: against its documented example and a naive reading of its rules."""

from collections.abc import Sequence
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.matrix import Combiner

Entry = dict[str, str | int | float]
Lists = dict[str, list[str | int | float]]


def combine(lists: Lists, include: Sequence[Entry], exclude: Sequence[Entry]) -> list[Entry]:
    return list(Combiner[str](include, exclude).combinations([lists]))


def as_documented(lists: Lists, include: Sequence[Entry], exclude: Sequence[Entry]) -> list[Entry]:
    """GitHub's rules, sentence by sentence, without a thought for speed."""
    originals = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    originals = [
        one for one in originals if not any(entry.items() <= one.items() for entry in exclude)
    ]
    extended = [dict(one) for one in originals]
    new = []
    for entry in include:
        fits = [
            place
            for place, one in enumerate(originals)
            if all(one[key] == value for key, value in entry.items() if key in one)
        ]
        for place in fits:
            extended[place].update(entry)
        if not fits:
            new.append(dict(entry))
    return extended + new


def test_githubs_own_example() -> None:
    lists: Lists = {"fruit": ["apple", "pear"], "animal": ["cat", "dog"]}
    include: list[Entry] = [
        {"color": "green"},
        {"color": "pink", "animal": "cat"},
        {"fruit": "apple", "shape": "circle"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]
    assert combine(lists, include, []) == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_an_entry_that_fits_one_of_several_products_is_no_combination_of_its_own() -> None:
    combiner = Combiner[str]([{"a": 2, "c": 9}], [])
    found = list(combiner.combinations([{"a": [1]}, {"a": [2]}]))
    assert found == [{"a": 1}, {"a": 2, "c": 9}]


def test_tells_which_excludes_dropped_nothing() -> None:
    combiner = Combiner[str]([], [{"a": 1}, {"a": 3}, {"b": 1}])
    assert list(combiner.combinations([{"a": [1, 2]}])) == [{"a": 2}]
    assert combiner.useless_excludes == [1, 2]


_VALUES = st.sampled_from([0, 1, 0.5])
_LISTS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(_VALUES, min_size=1, max_size=3, unique=True), min_size=1
)
_ENTRIES = st.lists(st.dictionaries(st.sampled_from("abcdef"), _VALUES, min_size=1), max_size=6)


@given(_LISTS, _ENTRIES, _ENTRIES)
def test_agrees_with_the_documentation(
    lists: Lists, include: list[Entry], exclude: list[Entry]
) -> None:
    assert combine(lists, include, exclude) == as_documented(lists, include, exclude)
