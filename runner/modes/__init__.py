"""What is measured: one plain function per mode over a backend's session."""

from collections.abc import Mapping

from runner.cell import Mode
from runner.modes.base import Measurement, ModeFunction
from runner.modes.inference import measure_inference

MODES: Mapping[Mode, ModeFunction] = {"inference": measure_inference}

__all__ = ["MODES", "Measurement", "ModeFunction"]
