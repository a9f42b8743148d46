"""Which of several devices a backend shall take: a choice of the user's, not of a cell's."""

import os
from collections.abc import Mapping

from runner.cell import Backend

VARIABLE = "ACCELMATRIX_DEVICE"
"""One device for all backends, such as `GPU.1`, or one each: `openvino=GPU.1,cuda=0`."""


def chosen_device(backend: Backend, environment: Mapping[str, str] = os.environ) -> str | None:
    """The device that the user names for this backend, in the backend's own words.

    `CPU`, `GPU.1`, `NPU` or `AUTO` for openvino, an index or a UUID for cuda and rocm. None leaves
    the choice to the backend. A name that stands for one backend goes before one for all.
    """
    entries = [entry.strip() for entry in environment.get(VARIABLE, "").split(",")]
    for entry in entries:
        name, equals, device = entry.partition("=")
        if equals and name.strip() == backend:
            return device.strip() or None
    return next((entry for entry in entries if entry and "=" not in entry), None)
