"""GitHub Actions' matrix semantics: product, then exclude, then include."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=str)
Value = str | int | float


class Combiner(Generic[Key]):
    """The combinations of products, less the excluded ones, with the included values.

    - `exclude` drops an original combination that has all the values of an entry.
    - `include` adds an entry's values to each original combination whose original values it
      doesn't change; a later entry may overwrite what an earlier one added.
    - An entry that fits none becomes a combination of its own, behind the others.

    Entries are looked up by value, so the time grows with combinations, not with entries.
    """

    def __init__(
        self, include: Sequence[Mapping[Key, Value]], exclude: Sequence[Mapping[Key, Value]]
    ) -> None:
        self._include = include
        self._exclude = exclude
        self._added: set[int] = set()
        self._hit: set[int] = set()

    def combinations(
        self, products: Iterable[Mapping[Key, Sequence[Value]]]
    ) -> Iterator[dict[Key, Value]]:
        """Every combination, lazily; those of an entry's own come last."""
        for lists in products:
            yield from self._of_product(lists)
        for place, entry in enumerate(self._include):
            if place not in self._added:
                yield dict(entry)

    @property
    def useless_excludes(self) -> list[int]:
        """Positions of `exclude` entries that dropped nothing, once all combinations are out."""
        return [place for place in range(len(self._exclude)) if place not in self._hit]

    def _of_product(self, lists: Mapping[Key, Sequence[Value]]) -> Iterator[dict[Key, Value]]:
        fitting = [entry for entry in enumerate(self._exclude) if entry[1].keys() <= lists.keys()]
        excluded = _by_values(fitting, lists)
        included = _by_values(enumerate(self._include), lists)
        for values in product(*lists.values()):
            combination = dict(zip(lists, values, strict=True))
            if hits := _matching(excluded, combination):
                self._hit.update(hits)
                continue
            for place in sorted(_matching(included, combination)):
                self._added.add(place)
                combination.update(self._include[place])
            yield combination


_Lookup = dict[tuple[Key, ...], dict[tuple[Value, ...], list[int]]]


def _by_values(
    entries: Iterable[tuple[int, Mapping[Key, Value]]], lists: Mapping[Key, object]
) -> _Lookup[Key]:
    """Positions of entries by the values they have on the original axes."""
    lookup: _Lookup[Key] = {}
    for place, entry in entries:
        axes = tuple(axis for axis in lists if axis in entry)
        values = tuple(entry[axis] for axis in axes)
        lookup.setdefault(axes, {}).setdefault(values, []).append(place)
    return lookup


def _matching(lookup: _Lookup[Key], combination: Mapping[Key, Value]) -> list[int]:
    return [
        place
        for axes, by_values in lookup.items()
        for place in by_values.get(tuple(map(combination.__getitem__, axes)), ())
    ]
