"""Bare loop of ONNX Runtime over a graph; prints the median in milliseconds."""

import statistics
import sys
import time

import onnxruntime

from performance.sessions import torch_job
from runner.inputs import synthesise
from runner.measure.environment import read_environment, usable_cpus

WARM_UP = 10


def main() -> None:
    """Load the graph, bind the inputs and time queries."""
    path, model, seconds = sys.argv[1:]
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
    main()
