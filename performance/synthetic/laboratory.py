"""The synthetic laboratory: its hosts, its ways to devices, and the software of a time."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runner.contract.axes import Backend, Precision, Runtime
from runner.contract.record.ids import digest

Row = dict[str, Any]


@dataclass(frozen=True)
class Path:
    """One backend with one of its runtimes."""

    backend: Backend
    runtime: Runtime
    precisions: tuple[Precision, ...]
    speed: float
    """Speed relative to torch on a CPU."""
    floor_ms: float
    """Least duration of a query, milliseconds."""
    libraries: tuple[str, ...]

    @property
    def accelerated(self) -> bool:
        """True if it needs a GPU."""
        return self.backend == "cuda"


PATHS = (
    Path("cpu", "torch", ("fp32", "bf16"), 1.0, 0.4, ("torch", "transformers")),
    Path("cpu", "onnxruntime", ("fp32", "int8"), 1.5, 0.05, ("onnxruntime", "numpy")),
    Path("openvino", "openvino", ("fp32", "int8"), 1.8, 0.06, ("openvino", "numpy")),
    Path("cuda", "torch", ("fp32", "fp16"), 24.0, 1.1, ("torch", "transformers")),
    Path("cuda", "onnxruntime", ("fp32", "fp16"), 30.0, 0.25, ("onnxruntime", "numpy")),
)

OPENED = datetime(2024, 1, 1, 20, tzinfo=UTC)
VISITS_A_RELEASE = 14
_GIGABYTE = 10**9
_HOSTS = (
    # name, processor, cores, memory in GB, speed, noise, accelerator, its memory in GB
    ("lab-01", "Synthetic Server 9654", 96, 768, 4.0, 0.006, "Synthetic H100", 80),
    ("lab-02", "Synthetic Server 9654", 96, 768, 4.1, 0.006, "Synthetic H100", 80),
    ("lab-03", "Synthetic Server 8480", 56, 512, 3.1, 0.008, "Synthetic A100", 40),
    ("lab-04", "Synthetic Server 8480", 56, 512, 3.0, 0.009, "Synthetic A100", 40),
    ("lab-05", "Synthetic Workstation 7950", 16, 128, 2.2, 0.012, "Synthetic RTX 4090", 24),
    ("lab-06", "Synthetic Workstation 7950", 16, 128, 2.3, 0.014, "Synthetic RTX 4090", 24),
    ("lab-07", "Synthetic Desktop 13700", 16, 64, 1.8, 0.018, "Synthetic RTX 3060", 12),
    ("lab-08", "Synthetic Desktop 13700", 16, 64, 1.7, 0.020, "Synthetic RTX 3060", 12),
    ("lab-09", "Synthetic Laptop 1360", 12, 16, 1.0, 0.035, "Synthetic RTX 3050", 4),
    ("lab-10", "Synthetic Laptop 1360", 12, 16, 0.9, 0.040, "Synthetic RTX 3050", 4),
    ("lab-11", "Synthetic Cloud Core", 2, 8, 0.5, 0.060, None, 0),
    ("lab-12", "Synthetic Cloud Core", 4, 24, 0.6, 0.050, None, 0),
)
HOSTS = len(_HOSTS)


def hosts() -> Iterator[Row]:
    """Each host, with its accelerator and without: that is another device."""
    for number, (name, cpu, cores, memory, speed, noise, gpu, gpu_memory) in enumerate(_HOSTS):
        for accelerated in (False, True):
            device = (gpu or cpu) if accelerated else cpu
            yield {
                "host": number,
                "accelerated": accelerated,
                "present": gpu is not None or not accelerated,
                "hostname": name,
                "hardware_id": digest(f"{name} {cpu} {device}"),
                "device_name": device,
                "cpu_model": cpu,
                "cpu_flags": ["avx", "avx2", "f16c", "fma", "sse4_2", *_flags(cores)],
                "cpu_cores_physical": max(1, cores // 2),
                "cpu_cores_logical": cores,
                "cpu_affinity": list(range(min(cores, 16))),
                "memory_total_bytes": memory * _GIGABYTE,
                "room_bytes": (gpu_memory if accelerated else memory) * _GIGABYTE * 0.9,
                "speed": speed,
                "noise": noise,
                "watts": 4.0 * cores if cores >= 16 else None,
            }


def releases(visits: int, seed: int) -> Iterator[Row]:
    """The software on each host's path, release by release, and what it did to speed."""
    chance = random.Random(seed)
    for release in range(visits // VISITS_A_RELEASE + 1):
        commit = digest(f"commit {release}") + digest(f"more {release}") + digest("end")[:8]
        for number, path in enumerate(PATHS):
            pace = 0.995**release * chance.lognormvariate(0, 0.015)
            pace *= 1.25 if chance.random() < 0.08 else 1.0
            broken = 0.06 if chance.random() < 0.07 else 0.003
            for host in range(HOSTS):
                yield {
                    "release": release,
                    "path": number,
                    "host": host,
                    "pace": pace,
                    "broken": broken,
                    "git_commit": commit,
                    **_environment(path, release, host),
                }


def _flags(cores: int) -> list[str]:
    return ["avx512f", "amx_bf16"] if cores > 16 else []


def _environment(path: Path, release: int, host: int) -> Row:
    image_digest = f"sha256:{digest(path.backend)}{digest(str(release))}".ljust(71, "0")
    facts = {
        "operating_system": "Synthetic Linux 12",
        "kernel": f"6.{8 + (release + host) // 4}.0",
        "python_version": "3.11.9",
        "libraries": dict.fromkeys(path.libraries, f"2.{release // 2}.{release % 2}"),
        "image": f"accelmatrix-{path.backend}:0.1.0",
        "image_digest": image_digest,
        "image_labels": {"backend": path.backend, "release": str(release)},
        "runner_version": "0.1.0",
        "orchestrator_version": "0.1.0",
    }
    return {**facts, "environment_id": digest(str(facts))}
