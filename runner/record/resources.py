"""Columns about memory and energy."""

from runner.cell import Frozen


class Resources(Frozen):
    """Memory in bytes, energy in joules; each with how it was measured or why it was not."""

    memory_peak_bytes: int | None = None
    """Highest memory use while the cell ran, bytes."""
    memory_steady_peak_bytes: int | None = None
    """Highest memory use from the end of the warm-up on, bytes."""
    memory_average_bytes: int | None = None
    """Mean memory use over untimed iterations, bytes."""
    memory_load_peak_bytes: int | None = None
    """Highest memory use while the model was loaded, bytes."""
    memory_baseline_bytes: int | None = None
    """Memory use before the runtime was imported, bytes."""
    memory_method: str | None = None
    """How memory was measured."""
    memory_allocator_peak_bytes: int | None = None
    """Highest use that an accelerator's allocator saw, bytes; null where there is none."""
    memory_device_peak_bytes: int | None = None
    """Use of the accelerator's memory less its use before the load, bytes; null likewise."""

    energy_joules: float | None = None
    """Energy that counters added up over the steady phase, joules."""
    energy_per_sample_joules: float | None = None
    """Joules per sample."""
    energy_per_token_joules: float | None = None
    """Joules per new token; null unless tokens are generated."""
    energy_window_s: float | None = None
    """Wall seconds between the two readings of the counters."""
    energy_method: str | None = None
    """Which counters were read, or `unavailable: ` and the reason."""
