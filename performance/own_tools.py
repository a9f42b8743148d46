"""The runtimes' own benchmark tools, with the options that our sessions set.

OpenVINO has benchmark_app. For ONNX Runtime this module is the tool, as a process of its own: a
bare loop over a graph.
"""

import re
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime

from performance.sessions import torch_job
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus

MEDIAN = re.compile(r"Median:\s+([\d.]+) ms")
Command = tuple[str, ...]
WARM_UP = 10


def median_ms(output: str) -> float:
    match = MEDIAN.search(output)
    if match is None:
        raise SystemExit(f"the tool printed no median:\n{output[-2000:]}")
    return float(match[1])


def onnxruntime_loop(graph: Path, model: str, seconds: int) -> tuple[Command, str]:
    """Command of a bare loop, and the line that it prints as it begins to measure."""
    loop = (sys.executable, "-m", "performance.own_tools")
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


def time_onnxruntime(path: str, model: str, seconds: str) -> None:
    """Load the graph, bind the inputs, time queries and print the median in milliseconds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_cpus(read_environment())
    options.inter_op_num_threads = 1
    job = torch_job(model)
    inputs = synthesise(job.model, job.cells[0], job.weights_seed)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name in (argument.name for argument in session.get_inputs()):
        binding.bind_cpu_input(name, inputs[name])
    for output in session.get_outputs():
        binding.bind_output(output.name)
    for _ in range(WARM_UP):
        session.run_with_iobinding(binding)
    print("measuring", flush=True)
    durations = []
    end = time.perf_counter() + float(seconds)
    while time.perf_counter() < end:
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        durations.append(time.perf_counter() - start)
    print(f"Median: {statistics.median(durations) * 1e3} ms")


if __name__ == "__main__":
    time_onnxruntime(*sys.argv[1:])
