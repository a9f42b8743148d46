"""Scores, which are errors by the widths of their intervals: their quantiles, whole and by device.

Groups of scores weigh alike however many they have: Lee, Barber and Willett (2023),
"Distribution-free inference with hierarchical data". One's own machine may err by far more than the
devices that make up most of a database. Its own hidden results tell that, and count the more, the
more groups of them there are: conformal prediction by category (Vovk 2012, "Conditional validity of
inductive conformal predictors"), drawn towards that of all where little tells the category.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.predict.examples.placements import Placement
from analysis.predict.novelty import HIDDEN
from analysis.statistics.arrays import Places, Values, np

COVERAGE = 0.90
"""The share of intervals that hold what is measured later."""
_FEW = 4.0
"""Groups on a device with which its own scores count as much as those of all devices."""
_LEAST_RATIO = 0.1
"""The least that a device's own scores count for, as those of few results may all be zero."""
_FEW_SIBLINGS = 9.0
"""The square of the number of siblings with which both widths count alike: three."""
_FEW_GROUPS = 160.0
"""Groups from which on differences between errors that trees tell count more than half."""


def conformal_quantile(scores: Values, group: Places, *, larger: int = 1) -> float:
    """The score below which 90 % of a new group's scores are expected to lie.

    The new group counts as one of scores that are larger than all (`larger` is 0 for the quantile
    of the known groups themselves). Between two scores the quantile is interpolated: of twenty
    groups the next larger one holds several percent more. The largest score where that is not
    enough.
    """
    sizes = np.bincount(group)
    order = np.argsort(scores)
    shares = np.cumsum(1 / sizes[group[order]]) / (np.count_nonzero(sizes) + larger)
    return float(np.interp(COVERAGE, shares, scores[order]))


@dataclass(frozen=True)
class DeviceErrors:
    """The errors on one device, by those that the intervals of all devices allow for."""

    ratio: float
    groups: int

    def widening(self, expected: float) -> float:
        """The factor of widths on the device: the expected one, drawn to what its scores show."""
        share = self.groups / (self.groups + _FEW)
        return float(expected ** (1 - share) * max(self.ratio, _LEAST_RATIO) ** share)


def errors_by_device(
    scores: Values, group: Places, placements: Sequence[Placement], quantile: float
) -> Mapping[str, DeviceErrors]:
    """The errors on each device that has a score; `quantile` is that of all scores."""
    rows: dict[str, list[int]] = {}
    for row, placement in enumerate(placements):
        rows.setdefault(placement.device.key, []).append(row)
    return {
        device: DeviceErrors(
            conformal_quantile(scores[of], group[of], larger=0) / quantile,
            len(np.unique(group[of])),
        )
        for device, of in rows.items()
        if quantile > 0
    }


def siblings_in(lines: Mapping[Hashable, int], placements: Iterable[Placement]) -> Values:
    return np.array([float(lines.get(HIDDEN["line"](one), 0)) for one in placements])


def pooled_widths(own: Values, wider: Values, siblings: Values) -> Values:
    """The mean of both widths, the own one counting the more, the more siblings are known; (n,).

    A name may begin like that of a known model by chance: `vit_base` is the name of several makes.
    With one or two such models known, an interval that was calibrated where a line has many of them
    promises too much; so both are pooled, and the result is calibrated again.
    """
    weight = siblings**2
    return np.asarray((weight * own + _FEW_SIBLINGS * wider) / (weight + _FEW_SIBLINGS))


def spread_share(groups: int) -> float:
    """The part of differences between errors that trees of so many groups may tell.

    Rows of a group err alike, so that trees of few groups tell noise, which widens intervals.
    """
    return groups**2 / (groups**2 + _FEW_GROUPS**2)
