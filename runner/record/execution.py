"""Columns that say how the runtime executed the model."""

from typing import Literal

from runner.cell import Frozen


class Session(Frozen):
    """What only the runtime's session knows."""

    weights_revision: str | None = None
    """Which pretrained weights: `sha256:…` of a folder's files, or a hub's commit; else null."""
    graph: str | None = None
    """Prepared graph and its shape; null for runtimes that build the model themselves."""
    graph_sha256: str | None = None
    """Hash over the graph's files."""
    graph_remedy: str | None = None
    """How the graph was exported, e.g. `dynamic shapes`; the ways that failed come before it."""
    graph_difference_relative: float | None = None
    """Norm of the graph's difference from torch in fp32 by that one's norm, as it was prepared."""
    quantization: str | None = None
    """How numbers became int8; null for other precisions."""
    inference_precision: str | None = None
    """The precision in which the runtime says it computes, in its own words."""
    compile_time_s: float | None = None
    """Seconds that compiling the model for the device took; null where nothing is compiled."""
    cached_compile_time_s: float | None = None
    """The same with a warm cache; null where the runtime has none."""
    execution_options: dict[str, str] | None = None
    """Options that decide how the runtime executes, by its own names."""
    device_uuid: str | None = None
    """Which of several accelerators it was, by its UUID; null where none is told."""
    device_clock_hz: float | None = None
    """The accelerator's clock after the steady phase."""
    device_temperature_c: float | None = None
    """The accelerator's temperature after the steady phase, °C."""
    device_throttle_reasons: list[str] | None = None
    """Why the accelerator's driver held its clock down; empty if it did not."""


class Execution(Session):
    """How the model was executed, if it was."""

    weights: Literal["random", "pretrained"] = "random"
    """Whether parameters were drawn with the seed, or read from a folder or a hub."""
    predicted: bool = False
    """Whether the verdict was predicted before anything was launched."""
