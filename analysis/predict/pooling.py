"""Widths of intervals, drawn towards wider ones where few groups or few siblings tell them.

A name may begin like that of a known model by chance: `vit_base` is the name of several makes. With
one or two such models known, an interval that was calibrated where a line has many of them promises
too much; so both widths are pooled by the number of siblings, and the result is calibrated again.
"""

from collections.abc import Hashable, Iterable, Mapping

from analysis.predict.examples.placements import Placement
from analysis.predict.novelty import HIDDEN
from analysis.statistics.arrays import Values, np

_FEW_SIBLINGS = 9.0
"""The square of the number of siblings with which both widths count alike: three."""
_FEW_GROUPS = 160.0
"""Groups from which on differences between errors that trees tell count more than half."""


def siblings_in(lines: Mapping[Hashable, int], placements: Iterable[Placement]) -> Values:
    """The number of models of each placement's line; (n,)."""
    return np.array([float(lines.get(HIDDEN["line"](one), 0)) for one in placements])


def pooled_widths(own: Values, wider: Values, siblings: Values) -> Values:
    """The mean of both widths, the own one counting the more, the more siblings are known; (n,)."""
    weight = siblings**2
    return np.asarray((weight * own + _FEW_SIBLINGS * wider) / (weight + _FEW_SIBLINGS))


def spread_share(groups: int) -> float:
    """The part of differences between errors that trees of so many groups may tell.

    Rows of a group err alike, so that trees of few groups tell noise, which widens intervals.
    """
    return groups**2 / (groups**2 + _FEW_GROUPS**2)
