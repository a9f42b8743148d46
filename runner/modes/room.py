"""How much memory a measurement may take without being killed for it."""

import psutil

from runner.cell import Limits
from runner.measure.environment import Environment

SHARE = 0.8
"""Of the memory that a job may use; predictions can be wrong, and a kill is no error to catch."""


def room_bytes(
    limits: Limits, environment: Environment, used_bytes: int, available_bytes: int | None = None
) -> int:
    """Bytes that this process and its children may use in all.

    `SHARE` of the smallest of the job's limit, the container's, and what we use already together
    with what the machine has left.
    """
    if available_bytes is None:
        available_bytes = psutil.virtual_memory().available
    bounds = (
        limits.memory_bytes,
        environment.container_memory_limit_bytes,
        used_bytes + available_bytes,
    )
    return int(SHARE * min(bound for bound in bounds if bound is not None))
