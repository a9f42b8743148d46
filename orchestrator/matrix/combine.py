"""GitHub Actions' matrix semantics: product, then exclude, then include."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=str)
AxisValue = str | int | float


class Combiner(Generic[_Key]):
    """The combinations of products, less the excluded ones, with the included values.

    An included entry that fits no combination is one of its own, behind the others. Entries are
    looked up by value, so the time grows with combinations, not with entries.
    """

    def __init__(
        self,
        include: Sequence[Mapping[_Key, AxisValue]],
        exclude: Sequence[Mapping[_Key, AxisValue]],
    ) -> None:
        self._include = include
        self._exclude = exclude
        self._added: set[int] = set()
        self._hit: set[int] = set()

    def combinations(
        self, products: Iterable[Mapping[_Key, Sequence[AxisValue]]]
    ) -> Iterator[dict[_Key, AxisValue]]:
        """Every combination, lazily; those of an entry's own come last."""
        for lists in products:
            yield from self._of_product(lists)
        for position, entry in enumerate(self._include):
            if position not in self._added:
                yield dict(entry)

    @property
    def useless_excludes(self) -> list[int]:
        """Positions of `exclude` entries that dropped nothing, once all combinations are out."""
        return [position for position in range(len(self._exclude)) if position not in self._hit]

    def _of_product(
        self, lists: Mapping[_Key, Sequence[AxisValue]]
    ) -> Iterator[dict[_Key, AxisValue]]:
        possible = [entry for entry in enumerate(self._exclude) if entry[1].keys() <= lists.keys()]
        excluded = _by_values(possible, lists)
        included = _by_values(enumerate(self._include), lists)
        for values in product(*lists.values()):
            combination = dict(zip(lists, values, strict=True))
            if excluded and (hits := _matching(excluded, combination)):
                self._hit.update(hits)
                continue
            if included and (fitting := _matching(included, combination)):
                self._added.update(fitting)
                for position in sorted(fitting):
                    combination.update(self._include[position])
            yield combination


_Read = Callable[[Mapping[_Key, AxisValue]], object]
"""Reads the values of some axes of a combination."""
_Lookup = list[tuple[_Read[_Key], dict[object, list[int]]]]


def _by_values(
    entries: Iterable[tuple[int, Mapping[_Key, AxisValue]]], lists: Mapping[_Key, object]
) -> _Lookup[_Key]:
    """Positions of entries by the values they have on the original axes."""
    lookup: dict[tuple[_Key, ...], tuple[_Read[_Key], dict[object, list[int]]]] = {}
    for position, entry in entries:
        axes = tuple(axis for axis in lists if axis in entry)
        reader = itemgetter(*axes) if axes else lambda _: ()
        read, positions = lookup.setdefault(axes, (reader, {}))
        positions.setdefault(read(entry), []).append(position)
    return list(lookup.values())


def _matching(lookup: _Lookup[_Key], combination: Mapping[_Key, AxisValue]) -> list[int]:
    return [
        position for read, positions in lookup for position in positions.get(read(combination), ())
    ]
