"""Baselines: what simple methods answer to the same questions from the same examples."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from analysis.predict.examples.placements import Example, Placement, Target
from analysis.predict.features import features
from analysis.predict.trees import fit_plain_trees
from analysis.statistics.arrays import Values, ValueTable, np

PredictionBaseline = Callable[[Target, Sequence[Example], Sequence[Placement]], Values]
"""The target's values at placements, (n,), from examples."""
_RIDGE_PENALTY = 1.0
_TURNS = 30


def efficient_roofline(
    target: Target, examples: Sequence[Example], questions: Sequence[Placement]
) -> Values:
    """The time at the device's peaks by the efficiency of the configuration.

    That is the median of its examples, else of its device's kind, else of all. Memory is weights
    and values between layers likewise.
    """
    placements = [example.placement for example in examples]
    ratios = _log_amounts(target, examples) - _log_peak_amounts(target, placements)
    offsets = _medians(map(_configuration_keys, placements), ratios)
    known = (
        next(offsets[key] for key in _configuration_keys(placement) if key in offsets)
        for placement in questions
    )
    logarithms = _log_peak_amounts(target, questions) + np.fromiter(known, float)
    return _values(target, logarithms, questions)


def two_way_ratio(
    target: Target, examples: Sequence[Example], questions: Sequence[Placement]
) -> Values:
    """The model's mean by the configuration's, on logarithms; each where it is known.

    Means are of times and energies by counted operation, for other sizes of a model; and of memory.
    """
    placements = [example.placement for example in examples]
    y = _log_amounts(target, examples) - _log_units(target, placements)
    model_codes, models = _codes([placement.model for placement in placements])
    path_codes, paths = _codes([placement.configuration for placement in placements])
    whole = float(y.mean())
    by_model: Values = np.zeros(len(models))
    by_path: Values = np.zeros(len(paths))
    for _ in range(_TURNS):
        by_model = _means(model_codes, y - whole - by_path[path_codes])
        by_model -= by_model[model_codes].mean()
        by_path = _means(path_codes, y - whole - by_model[model_codes])
    levels = [
        whole
        + _level(by_model, models.get(placement.model))
        + _level(by_path, paths.get(placement.configuration))
        for placement in questions
    ]
    return _values(target, np.array(levels) + _log_units(target, questions), questions)


def feature_ridge(
    target: Target, examples: Sequence[Example], questions: Sequence[Placement]
) -> Values:
    placements = [example.placement for example in examples]
    table, question_table = _numbers(placements), _numbers(questions)
    filled = np.where(np.isnan(table).all(axis=0), 0.0, table)
    means, scales = np.nanmean(filled, axis=0), np.nanstd(filled, axis=0)
    scales[scales < 1e-9] = 1.0
    known = _codes([placement.configuration for placement in placements])[1]
    x, question_x = (
        np.hstack([np.nan_to_num((raw - means) / scales), _indicators(points, known)])
        for raw, points in ((table, placements), (question_table, questions))
    )
    y = _log_amounts(target, examples)
    centre = x.mean(axis=0)
    normal = (x - centre).T @ (x - centre) + _RIDGE_PENALTY * np.eye(x.shape[1])
    weights = np.linalg.solve(normal, (x - centre).T @ (y - y.mean()))
    return _values(target, y.mean() + (question_x - centre) @ weights, questions)


def plain_trees(
    target: Target, examples: Sequence[Example], questions: Sequence[Placement]
) -> Values:
    """LightGBM with its default settings on the target itself."""
    del target
    placements = [example.placement for example in examples]
    tables = [_numbers(placements), _numbers(questions)]
    for name in ("configuration", "architecture"):
        known = _codes([getattr(one, name) for one in placements])[1]
        codes = (
            [known.get(getattr(one, name), np.nan) for one in of] for of in (placements, questions)
        )
        tables = [np.column_stack([*pair]) for pair in zip(tables, codes, strict=True)]
    values = np.array([example.value for example in examples])
    width = tables[0].shape[1]
    return fit_plain_trees(tables[0], values, [width - 2, width - 1]).values(tables[1])


PREDICTION_BASELINES: Mapping[str, PredictionBaseline] = {
    "roofline": efficient_roofline,
    "two-way": two_way_ratio,
    "ridge": feature_ridge,
    "LightGBM": plain_trees,
}


def _configuration_keys(placement: Placement) -> tuple[Hashable, ...]:
    return placement.configuration, placement.device.kind, ""


def _log_amounts(target: Target, examples: Sequence[Example]) -> Values:
    return np.log([target.amount(one.value, one.placement) for one in examples])


def _values(target: Target, logarithms: Values, questions: Sequence[Placement]) -> Values:
    pairs = zip(np.exp(logarithms).tolist(), questions, strict=True)
    return np.array([target.value(amount, placement) for amount, placement in pairs])


def _log_peak_amounts(target: Target, placements: Sequence[Placement]) -> Values:
    """Logarithms of seconds at the device's peaks, or of bytes that are counted."""
    amounts = []
    for placement in placements:
        counts, device = placement.counts, placement.device
        if target.quantity == "memory":
            amounts.append(counts.weight_bytes + counts.activation_bytes)
        else:
            traffic = counts.traffic_bytes + 2 * counts.activation_bytes
            amounts.append(counts.flops / device.flops_per_s + traffic / device.bytes_per_s)
    return np.log(amounts)


def _log_units(target: Target, placements: Sequence[Placement]) -> Values:
    if target.quantity == "memory":
        return np.zeros(len(placements))
    return np.log([max(placement.counts.flops, 1.0) for placement in placements])


def _numbers(placements: Sequence[Placement]) -> ValueTable:
    devices = [placement.device for placement in placements]
    peaks = np.log([(one.flops_per_s, one.bytes_per_s) for one in devices])
    return np.hstack([features(placements), peaks])


def _indicators(placements: Sequence[Placement], known: Mapping[Hashable, int]) -> ValueTable:
    table = np.zeros((len(placements), len(known)))
    for row, placement in enumerate(placements):
        if placement.configuration in known:
            table[row, known[placement.configuration]] = 1.0
    return table


def _codes(keys: Sequence[Hashable]) -> tuple[Values, dict[Hashable, int]]:
    """The number of each key, and the numbers by key."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys]), numbers


def _means(codes: Values, values: Values) -> Values:
    return np.bincount(codes, weights=values) / np.bincount(codes)


def _medians(keys: "map[tuple[Hashable, ...]]", values: Values) -> dict[Hashable, float]:
    groups: dict[Hashable, list[float]] = {}
    for several, value in zip(keys, values.tolist(), strict=True):
        for key in several:
            groups.setdefault(key, []).append(value)
    return {key: float(np.median(group)) for key, group in groups.items()}


def _level(levels: Values, code: int | None) -> float:
    return 0.0 if code is None else float(levels[code])
