"""Nominal peaks of devices, from data sheets, for those that measured none of their own."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from pydantic import PositiveFloat, PositiveInt

from runner.contract.cell import Frozen

DeviceKind: TypeAlias = Literal["cpu", "gpu", "npu"]
_RATES: Mapping[str, tuple[str, ...]] = {
    "fp32": ("fp32_tflops",),
    "tf32": ("tf32_tflops", "fp32_tflops"),
    "fp16": ("fp16_tflops", "fp32_tflops"),
    "bf16": ("bf16_tflops", "fp16_tflops", "fp32_tflops"),
    "int8": ("int8_tops", "fp16_tflops", "fp32_tflops"),
}
"""The rates that stand for a precision, the first that is known."""
_SPELLINGS = {"amp": "fp16", "amp_bf16": "bf16", "float16": "fp16", "float32": "fp32"}
TERA, GIGA = 1e12, 1e9


class NominalDevice(Frozen):
    """A device as its data sheet describes it, without sparsity."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other names, which tools and files use."""
    kind: DeviceKind
    fp32_tflops: PositiveFloat | None = None
    """10¹² FLOP per second outside of tensor cores, at the clock of the data sheet."""
    tf32_tflops: PositiveFloat | None = None
    fp16_tflops: PositiveFloat | None = None
    """With sums in fp32."""
    bf16_tflops: PositiveFloat | None = None
    int8_tops: PositiveFloat | None = None
    memory_gb_per_s: PositiveFloat | None = None
    memory_gib: PositiveFloat | None = None
    """Memory of an accelerator; null for processors."""
    power_w: PositiveFloat | None = None
    """Power limit of the board, or of the package."""
    compute_units: PositiveInt | None = None
    """Multiprocessors, compute units, or cores."""
    clock_ghz: PositiveFloat | None = None
    """The clock at which a processor's rate is meant; null for accelerators."""
    year: PositiveInt | None = None
    source: str
    """The document with these figures."""

    def flops_per_s(self, precision: str) -> float | None:
        """Arithmetic at its peak in a precision, FLOP per second; None if no rate stands for it."""
        names = _RATES.get(_SPELLINGS.get(precision, precision), _RATES["fp32"])
        rate = next((rate for name in names if (rate := getattr(self, name)) is not None), None)
        return None if rate is None else rate * TERA

    @property
    def bytes_per_s(self) -> float | None:
        """Memory traffic at its peak, bytes per second."""
        return None if self.memory_gb_per_s is None else self.memory_gb_per_s * GIGA


@cache
def nominal_devices() -> tuple[NominalDevice, ...]:
    """All devices whose data sheets are known."""
    text = (files("analysis.predict.examples") / "devices.json").read_text("utf-8")
    return tuple(NominalDevice.model_validate(one) for one in json.loads(text)["devices"])


@cache
def nominal_device(name: str) -> NominalDevice | None:
    """The device of that name, however it is spelt; None if no data sheet of it is known."""
    plain = _plain(name)
    spellings = _spellings()
    if plain in spellings:
        return spellings[plain]
    held = [spelling for spelling in spellings if spelling in plain]
    return spellings[max(held, key=len)] if held else None


@cache
def _spellings() -> Mapping[str, NominalDevice]:
    return {
        _plain(spelling): device
        for device in nominal_devices()
        for spelling in (device.name, *device.aliases)
    }


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
