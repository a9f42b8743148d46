"""A bare loop over the query of a job in each runtime, with the options of our sessions.

It is written as the runtime's users write it: over torch's model, ONNX Runtime's IO binding, or an
OpenVINO request whose input tensors are set once, as its benchmark_app has them. As a process of
its own it takes bursts in turns with the runner, by the same lines on stdin.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from performance.turns import WAITS
from runner.backends.graphs.feeds import forward_pass
from runner.contract.graph import find_graph
from runner.contract.job import BURST_ITERATIONS, Job
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus

WARM_UP_S = 1.0
DROPPED = 2
"""Calls at the beginning of a burst that do not count."""


def graph_of(job: Job, graphs: Path) -> tuple[Path, Inputs]:
    """The file of the job's prepared graph, which has one part, and the inputs that it takes."""
    graph, folder = find_graph(job, job.cells[0], graphs)
    inputs = synthesise(job.model, job.cells[0], job.weights_seed)
    executed, taken = forward_pass(graph, job.model, inputs)
    (part,) = executed.parts.values()
    return folder / part.file, taken


def openvino_call(job: Job, graphs: Path) -> Callable[[], object]:
    import openvino

    path, inputs = graph_of(job, graphs)
    options = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": str(usable_cpus(read_environment())),
        "ENABLE_CPU_PINNING": "NO",
    }
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({name: list(value.shape) for name, value in inputs.items()})
    request = core.compile_model(model, "CPU", options).create_infer_request()
    for name, value in inputs.items():
        request.set_tensor(name, openvino.Tensor(value))
    return lambda: request.infer(share_outputs=True)  # else Python copies all outputs


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


def bare_loop(call: Callable[[], object], burst_s: float) -> list[int]:
    """Durations of calls for so long, nanoseconds."""
    durations: list[int] = []
    end = time.perf_counter() + burst_s
    while len(durations) < BURST_ITERATIONS or time.perf_counter() < end:
        start = time.perf_counter_ns()
        call()
        durations.append(time.perf_counter_ns() - start)
    return durations


def take_bursts(job_file: str, graphs: str) -> None:
    """Load the model, take bursts as they are ordered, and print their medians."""
    job = Job.model_validate_json(Path(job_file).read_bytes())
    makers = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}
    make = makers.get(job.cells[0].runtime)
    call = make(job, Path(graphs)) if make else torch_call(job)
    bare_loop(call, WARM_UP_S)
    medians: list[float] = []
    while True:
        print(json.dumps(WAITS), flush=True)
        order = json.loads(sys.stdin.readline())
        if "burst_s" not in order:
            break
        medians.append(statistics.median(bare_loop(call, order["burst_s"])[DROPPED:]))
    print(json.dumps({"medians_ns": medians}), flush=True)


if __name__ == "__main__":
    take_bursts(*sys.argv[1:])
