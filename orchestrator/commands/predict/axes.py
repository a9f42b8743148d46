"""The axes of cells that predictors know."""

from runner.contract.axes import AXES, Axis, AxisName

_NOT_PREDICTED = ("scenario", "target_qps", "slo_ms", "workers")
"""Axes of arrival patterns and of starts, of which counted work says nothing."""
PREDICTED_AXES: tuple[Axis, ...] = tuple(axis for axis in AXES if axis.name not in _NOT_PREDICTED)
PREDICTED_NAMES: tuple[AxisName, ...] = tuple(axis.name for axis in PREDICTED_AXES)
