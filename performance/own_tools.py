"""The runtimes' own benchmark tools over the query of a job, with the options of our sessions.

OpenVINO has benchmark_app. For the others this module is the tool, as a process of its own: a bare
loop over ONNX Runtime with IO binding, or over torch's model, as their users write it.
"""

import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from runner.backends.graphs.feeds import forward_pass
from runner.contract.graph import find_graph
from runner.contract.job import Job
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus

MEDIAN = re.compile(r"Median:\s+([\d.]+) ms")
WARM_UP = 10


def own_tool(job_file: Path, graphs: Path, seconds: int) -> tuple[tuple[str, ...], str]:
    """Command of the tool of the job's runtime, and the line that it prints as it begins."""
    job = Job.model_validate_json(job_file.read_bytes())
    if job.cells[0].runtime == "openvino":
        command = benchmark_app(*graph_of(job, graphs), job_file.parent)
        return (*command, "-t", str(seconds)), "Measuring performance"
    loop = (sys.executable, "-m", "performance.own_tools")
    return (*loop, str(job_file), str(graphs), str(seconds)), "measuring"


def median_s(output: str) -> float:
    match = MEDIAN.search(output)
    if match is None:
        raise SystemExit(f"the tool printed no median:\n{output[-2000:]}")
    return float(match[1]) / 1e3


def graph_of(job: Job, graphs: Path) -> tuple[Path, Inputs]:
    """The file of the job's prepared graph, which has one part, and the inputs that it takes."""
    graph, folder = find_graph(job, job.cells[0], graphs)
    inputs = synthesise(job.model, job.cells[0], job.weights_seed)
    executed, taken = forward_pass(graph, job.model, inputs)
    (part,) = executed.parts.values()
    return folder / part.file, taken


def benchmark_app(graph: Path, inputs: Inputs, folder: Path) -> tuple[str, ...]:
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    shapes = (f"{name}{list(value.shape)}".replace(" ", "") for name, value in inputs.items())
    # Without their type the tool reads images as bytes.
    floats = ",".join(f"{name}:f32" for name, value in inputs.items() if value.dtype.kind == "f")
    return (
        str(Path(sys.executable).with_name("benchmark_app")),
        # The tool refuses threads beside a hint; without one the device's own is LATENCY too.
        *("-m", str(graph), "-d", "CPU", "-api", "sync", "-hint", "none"),
        *("-infer_precision", "f32", "-nstreams", "1", "-nireq", "1", "-pin", "NO"),
        *("-nthreads", str(usable_cpus(read_environment()))),
        *("-shape", ",".join(shapes), "-inference_only", "true"),
        *("-i", ",".join(f"{name}:{folder / name}.npy" for name in inputs)),
        *(("-iop", floats) if floats else ()),
    )


def onnxruntime_call(job: Job, graphs: Path) -> Callable[[], object]:
    import onnxruntime

    path, inputs = graph_of(job, graphs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_cpus(read_environment())
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for argument in session.get_inputs():
        binding.bind_cpu_input(argument.name, inputs[argument.name])
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def torch_call(job: Job) -> Callable[[], object]:
    import torch

    from runner.backends.torch.backend import open_session

    session = open_session(job, usable_cpus(read_environment()))
    inputs = synthesise(job.model, job.cells[0], job.weights_seed)
    model, arguments = session._model, session.bind(job.cells[0], inputs).arguments
    return torch.inference_mode()(lambda: model(**arguments))


def time_calls(job_file: str, graphs: str, seconds: str) -> None:
    """Load the model, time calls for so long, and print their median in milliseconds."""
    job = Job.model_validate_json(Path(job_file).read_bytes())
    is_torch = job.cells[0].runtime == "torch"
    call = torch_call(job) if is_torch else onnxruntime_call(job, Path(graphs))
    for _ in range(WARM_UP):
        call()
    print("measuring", flush=True)
    durations = []
    end = time.perf_counter() + float(seconds)
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    print(f"Median: {statistics.median(durations) * 1e3} ms")


if __name__ == "__main__":
    time_calls(*sys.argv[1:])
