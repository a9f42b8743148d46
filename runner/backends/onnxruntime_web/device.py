"""Devices of the three backends in a browser, and whether a software adapter stands in for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.contract.axes import Backend, Precision
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.host import cpu_model
from runner.contract.job import Job, chosen_device
from runner.contract.reasons import reason

SOFTWARE = "software"
"""The choice of the adapter that computes WebGPU on the CPU."""


@dataclass(frozen=True)
class WebDevice:
    """The device behind a page."""

    name: str
    is_software: bool = False
    """True for an adapter that computes on the CPU: its times say nothing of WebGPU's speed."""


def wants_software(job: Job) -> bool:
    """True if WebGPU shall be computed on the CPU, whatever else there is."""
    backend = job.cells[0].backend
    return backend == "webgpu" and chosen_device(backend) == SOFTWARE


def takes_software(job: Job) -> bool:
    """True if it may be: where that is asked for, and to verify."""
    return wants_software(job) or job.purpose == "verify"


def web_device(backend: Backend, facts: Mapping[str, Any], *, software: bool) -> WebDevice:
    """The device that a page tells."""
    cpu = cpu_model()
    if backend == "webgpu":
        return _gpu(facts.get("adapter"), cpu, software=software)
    if backend == "webnn" and (error := facts["context"].get("error")):
        raise Unavailable(reason("no_webnn", error=error))
    return WebDevice(cpu)


def require_precision(precision: Precision, facts: Mapping[str, Any]) -> None:
    """Check that the adapter, if there is one, computes in that number format."""
    adapter = facts.get("adapter")
    if precision == "fp16" and adapter and not adapter["half"]:
        raise Unsupported(reason("webgpu_no_f16"))


def _gpu(adapter: Mapping[str, Any] | None, cpu: str, *, software: bool) -> WebDevice:
    if adapter is None:
        raise Unavailable(reason("no_webgpu_adapter"))
    if not adapter["isFallbackAdapter"]:
        words = (adapter[name] for name in ("vendor", "architecture", "device", "description"))
        return WebDevice(" ".join(filter(None, words)))
    if not software:
        raise Unavailable(reason("software_adapter_untimed"))
    return WebDevice(f"SwiftShader (software) on {cpu}", is_software=True)
