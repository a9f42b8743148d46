"""Commands of the runtimes' own benchmark tools, with the options that our sessions set."""

import re
import sys
from pathlib import Path

import numpy as np

from performance.sessions import torch_job
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus

MEDIAN = re.compile(r"Median:\s+([\d.]+) ms")
Command = tuple[str, ...]


def median_ms(output: str) -> float:
    """The median in the output of a tool."""
    match = MEDIAN.search(output)
    if match is None:
        raise SystemExit(f"the tool printed no median:\n{output[-2000:]}")
    return float(match[1])


def onnxruntime_loop(graph: Path, model: str, seconds: int) -> tuple[Command, str]:
    """Command of a bare loop, and the line that it prints as it begins to measure."""
    loop = (sys.executable, "-m", "performance.onnxruntime_loop")
    return (*loop, str(graph), model, str(seconds)), "measuring"


def benchmark_app(graph: Path, model: str, seconds: int, folder: Path) -> tuple[Command, str]:
    """Command of OpenVINO's tool at the same shape, and the line that it prints as it begins."""
    job = torch_job(model)
    inputs = synthesise(job.model, job.cells[0], job.weights_seed)
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    shapes = ",".join(
        f"{name}{list(value.shape)}".replace(" ", "") for name, value in inputs.items()
    )
    command = (
        str(Path(sys.executable).with_name("benchmark_app")),
        # The tool refuses threads beside a hint; without one the device's own is LATENCY too.
        *("-m", str(graph), "-d", "CPU", "-api", "sync", "-hint", "none"),
        *("-infer_precision", "f32", "-nstreams", "1", "-nireq", "1"),
        *("-nthreads", str(usable_cpus(read_environment())), "-t", str(seconds)),
        *("-shape", shapes, "-inference_only", "true"),
        *("-i", ",".join(f"{name}:{folder / name}.npy" for name in inputs)),
        *_floats(inputs),
    )
    return command, "Measuring performance"


def _floats(inputs: Inputs) -> list[str]:
    """The options that keep the tool from reading images as bytes."""
    names = [name for name, value in inputs.items() if value.dtype.kind == "f"]
    return ["-iop", ",".join(f"{name}:f32" for name in names)] if names else []
