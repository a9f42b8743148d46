"""Ridge regression with an effect for each value of each group, e.g. for each device and model.

It is the mixed model of Henderson (1975, "Best linear unbiased estimation and prediction under a
selection model", Biometrics 31) with variances that are set and not estimated: an effect is drawn
towards 0 the more, the fewer examples tell it, and one that nobody has seen is 0.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analysis.prediction.features import FEATURES, features
from analysis.prediction.names import words_of
from analysis.prediction.placements import Placement
from analysis.statistics.arrays import Matrix, Values, np

if TYPE_CHECKING:
    from analysis.statistics.solvers import sparse

_ITERATIONS = 60
_SLOPE_PENALTY = 4.0
"""How much stronger a slope is drawn to 0 than a level."""


@dataclass(frozen=True)
class EffectGroup:
    """What placements may have in common."""

    keys: Callable[[Placement], Iterable[Hashable]]
    """The values that a placement has in it; most have one."""
    penalty: float = 1.0
    """The examples at which an effect is half of what they say."""
    slopes: tuple[str, ...] = ()
    """Numbers on which the effect of a value depends."""


_SIZES = ("batch size", "length")
GROUPS: Mapping[str, EffectGroup] = {
    "all": EffectGroup(lambda _: ("",), 0.1, tuple(FEATURES)),
    "kind": EffectGroup(lambda p: (p.device.kind,), 0.5, tuple(FEATURES)),
    "device": EffectGroup(lambda p: (p.device.key,), 0.5, ("intensity", "batch size")),
    "path": EffectGroup(lambda p: (p.path,), 1.0, ("intensity", "arithmetic")),
    "precision": EffectGroup(lambda p: (p.precision,), 1.0, ("intensity",)),
    "mode": EffectGroup(lambda p: (p.mode,), 1.0, ("intensity",)),
    "software": EffectGroup(lambda p: ((*p.path, p.software),), 1.0, ("intensity",)),
    "configuration": EffectGroup(
        lambda p: (p.configuration,), 1.0, ("intensity", "arithmetic of a sample", "batch size")
    ),
    "architecture": EffectGroup(lambda p: (p.architecture,), 1.0, ("arithmetic of a sample",)),
    "word": EffectGroup(lambda p: words_of(p.model), 6.0),
    "model": EffectGroup(lambda p: (p.model,), 0.3),
    "architecture by path": EffectGroup(lambda p: ((p.architecture, p.path, p.precision),), 1.0),
    "architecture by kind": EffectGroup(lambda p: ((p.architecture, p.device.kind),), 1.0),
    "architecture by software": EffectGroup(lambda p: ((p.architecture, p.path, p.software),), 1.0),
    "architecture on device": EffectGroup(lambda p: ((p.architecture, p.device.key),), 1.0),
    "model by kind": EffectGroup(lambda p: ((p.model, p.device.kind),), 0.6),
    "model by path": EffectGroup(lambda p: ((p.model, p.path, p.precision),), 1.0),
    "model by software": EffectGroup(lambda p: ((p.model, p.path, p.software),), 1.5),
    "model on device": EffectGroup(lambda p: ((p.model, p.device.key),), 1.0),
    "series": EffectGroup(lambda p: ((p.model, p.configuration),), 1.0, _SIZES),
}
"""By their names in explanations, from what all share to what one model has on one device."""


@dataclass(frozen=True)
class Effects:
    """Fitted effects."""

    levels: Mapping[str, Mapping[Hashable, tuple[float, ...]]]
    """By group and value: the level, then the slopes."""
    means: tuple[float, ...]
    """The mean of each number over the examples."""
    scales: tuple[float, ...]
    """Its standard deviation."""

    def contributions(self, placements: Sequence[Placement]) -> Matrix:
        """What each group adds at each placement; (n, len(GROUPS))."""
        z = standardised(features(placements), self.means, self.scales)
        columns = [
            _contribution(placements, z, group, self.levels[name]) for name, group in GROUPS.items()
        ]
        return np.column_stack(columns)


def _contribution(
    placements: Sequence[Placement],
    z: Matrix,
    group: EffectGroup,
    levels: Mapping[Hashable, tuple[float, ...]],
) -> Values:
    places = _places(group)
    width = 1 + len(places)
    index = {key: row + 1 for row, key in enumerate(levels)}
    table = np.vstack([np.zeros(width), *levels.values()])
    total = np.zeros(len(placements))
    columns = np.column_stack([np.ones(len(placements)), z[:, places]])
    keys = [tuple(group.keys(placement)) for placement in placements]
    for nth in range(max(map(len, keys), default=0)):
        rows = np.array([index.get(one[nth], 0) if nth < len(one) else 0 for one in keys])
        total += (table[rows] * columns).sum(axis=1)
    return total


def standardised(values: Matrix, means: Sequence[float], scales: Sequence[float]) -> Matrix:
    """Numbers about their means, by their scales; 0 where there is none."""
    return np.nan_to_num((values - np.array(means)) / np.array(scales), nan=0.0)


def _places(group: EffectGroup) -> list[int]:
    names = list(FEATURES)
    return [names.index(name) for name in group.slopes]


@dataclass(frozen=True)
class Design:
    """The columns of the regression for given placements: one for each level and slope."""

    matrix: "sparse.csr_matrix"
    """Scaled by the penalties; (n, columns)."""
    columns: tuple[tuple[str, Hashable, int], ...]
    """Group, value, and 0 for the level or the number of the slope."""
    scale: Values
    means: tuple[float, ...]
    scales: tuple[float, ...]
    groups: Values
    """The number of each column's group."""

    def fit(self, rows: Values, y: Values) -> Values:
        """The coefficients from these rows, in scaled columns."""
        from analysis.statistics.solvers import lsmr

        solution = lsmr(self.matrix[rows], y[rows], damp=1.0, maxiter=_ITERATIONS)
        return np.asarray(solution[0])

    def contributions(self, rows: Values, coefficients: Values) -> Matrix:
        """What each group adds at these rows; (rows, len(GROUPS))."""
        part = self.matrix[rows]
        columns = [
            part[:, self.groups == number] @ coefficients[self.groups == number]
            for number in range(len(GROUPS))
        ]
        return np.column_stack(columns)

    def effects(self, coefficients: Values) -> Effects:
        """The same coefficients by group and value."""
        levels: dict[str, dict[Hashable, list[float]]] = {name: {} for name in GROUPS}
        for (name, key, _), value in zip(self.columns, coefficients * self.scale, strict=True):
            levels[name].setdefault(key, []).append(float(value))
        return Effects(
            {name: {key: tuple(v) for key, v in of.items()} for name, of in levels.items()},
            self.means,
            self.scales,
        )


def design_of(placements: Sequence[Placement], penalty: float = 1.0) -> Design:
    """The columns for these placements."""
    raw = features(placements)
    means = np.nan_to_num(np.nanmean(np.where(np.isnan(raw).all(axis=0), 0.0, raw), axis=0))
    scales = np.nan_to_num(np.nanstd(np.where(np.isnan(raw).all(axis=0), 0.0, raw), axis=0))
    scales[scales < 1e-9] = 1.0
    z = standardised(raw, means, scales)
    builder = _Builder(z, penalty)
    for number, (name, group) in enumerate(GROUPS.items()):
        builder.add(number, name, group, placements)
    return builder.design(tuple(means.tolist()), tuple(scales.tolist()))


@dataclass
class _Builder:
    z: Matrix
    penalty: float
    rows: list[Values] = field(default_factory=list)
    places: list[Values] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    columns: list[tuple[str, Hashable, int]] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def add(
        self, number: int, name: str, group: EffectGroup, placements: Sequence[Placement]
    ) -> None:
        """Add the columns of a group."""
        pairs = [
            (row, key) for row, placement in enumerate(placements) for key in group.keys(placement)
        ]
        keys = {key: place for place, key in enumerate(dict.fromkeys(key for _, key in pairs))}
        rows = np.array([row for row, _ in pairs])
        codes = np.array([keys[key] for _, key in pairs])
        slopes = _places(group)
        width = 1 + len(slopes)
        first = len(self.columns)
        for nth in range(width):
            penalty = group.penalty * self.penalty * (_SLOPE_PENALTY if nth else 1.0)
            factor = 1 / np.sqrt(penalty)
            ones = np.ones(len(rows)) if nth == 0 else self.z[rows, slopes[nth - 1]]
            self.rows.append(rows)
            self.places.append(first + codes * width + nth)
            self.values.append(ones * factor)
        for key in keys:
            for nth in range(width):
                penalty = group.penalty * self.penalty * (_SLOPE_PENALTY if nth else 1.0)
                self.columns.append((name, key, nth))
                self.scale.append(1 / np.sqrt(penalty))
                self.groups.append(number)

    def design(self, means: tuple[float, ...], scales: tuple[float, ...]) -> Design:
        """All columns that were added."""
        shape = (len(self.z), len(self.columns))
        entries = (
            np.concatenate(self.values),
            (np.concatenate(self.rows), np.concatenate(self.places)),
        )
        from analysis.statistics.solvers import sparse

        matrix = sparse.csr_matrix(entries, shape=shape)
        return Design(
            matrix, tuple(self.columns), np.array(self.scale), means, scales, np.array(self.groups)
        )
