"""The runtimes against each other on the CPU, and against their own tools on the same graph.

Every turn is `orchestrator run` over all runtimes, then OpenVINO's benchmark_app and a bare loop
over ONNX Runtime, both with the options that our sessions set: so the machine's drift meets all
alike.
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import yaml

from orchestrator.store import ResultRow, Store
from performance.sessions import torch_job
from runner.graph import DYNAMIC
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus
from runner.models import find

TURNS = 3
SECONDS = 6
MODELS = ("bert-base-uncased", "vit-base", "whisper-tiny")
RUNTIMES = ("torch", "torch_compile", "onnxruntime", "openvino")
MATRIX = {
    "version": 1,
    "axes": {"model": list(MODELS), "backend": ["cpu", "openvino"]},
    "backends": {"cpu": {"axes": {"runtime": ["torch", "torch_compile", "onnxruntime"]}}},
    "measure": {"profile": "quick"},
}
PROMISED = 0.03
MEDIAN = re.compile(r"Median:\s+([\d.]+) ms")
Timings = dict[tuple[str, str], list[float]]
"""Milliseconds turn by turn, by model and by runtime or tool."""


def main() -> None:
    """Measure and print."""
    ours: Timings = defaultdict(list)
    theirs: Timings = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = folder / "matrix.yaml"
        matrix.write_text(yaml.safe_dump(MATRIX))
        for _ in range(TURNS):
            for row in run(matrix, folder / "results"):
                ours[row.model, row.runtime].append(row.latency_median_ms or float("nan"))
            for model in MODELS:
                graph = graph_of(folder / "results", model)
                theirs[model, "onnxruntime"].append(onnxruntime_loop(graph, model))
                theirs[model, "openvino"].append(benchmark_app(graph, model, folder))
    for model in MODELS:
        report(model, ours, theirs)


def run(matrix: Path, results: Path) -> list[ResultRow]:
    """The results of one run over all runtimes."""
    command = ["-m", "orchestrator", "run", str(matrix), "--results", str(results)]
    subprocess.run(
        [sys.executable, *command, "--launcher", "process", "--no-verify"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with Store.open_readonly(results / "benchmarks.duckdb") as store:
        return store.results(store.runs()[0].run_id)


def graph_of(results: Path, model: str) -> Path:
    """The ONNX file that both runtimes executed."""
    (graph,) = (results / "graphs").glob(f"{model}-forward-fp32-*/{DYNAMIC}/forward.onnx")
    return graph


def onnxruntime_loop(graph: Path, model: str) -> float:
    """Median of a bare loop in a fresh process, milliseconds."""
    command = [sys.executable, "-m", "performance.onnxruntime_loop", str(graph), model]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(said.stdout.split()[-1])


def benchmark_app(graph: Path, model: str, folder: Path) -> float:
    """Median that OpenVINO's own tool finds at the same shape and options, milliseconds."""
    job = torch_job(model)
    inputs = synthesise(job.model, job.cells[0], job.seed)
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    shapes = ",".join(
        f"{name}{list(value.shape)}".replace(" ", "") for name, value in inputs.items()
    )
    command = [
        str(Path(sys.executable).with_name("benchmark_app")),
        # The tool refuses threads beside a hint; without one the device's own is LATENCY too.
        *("-m", str(graph), "-d", "CPU", "-api", "sync", "-hint", "none"),
        *("-infer_precision", "f32", "-nstreams", "1", "-nireq", "1"),
        *("-nthreads", str(usable_cpus(read_environment())), "-t", str(SECONDS)),
        *("-shape", shapes, "-inference_only", "true"),
        *("-i", ",".join(f"{name}:{folder / name}.npy" for name in inputs)),
        *_floats(inputs),
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = MEDIAN.search(said)
    if found is None:
        raise SystemExit(f"benchmark_app told no median:\n{said[-2000:]}")
    return float(found[1])


def _floats(inputs: Inputs) -> list[str]:
    """The options that keep the tool from reading images as bytes."""
    names = [name for name, value in inputs.items() if value.dtype.kind == "f"]
    return ["-iop", ",".join(f"{name}:f32" for name in names)] if names else []


def report(model: str, ours: Timings, theirs: Timings) -> None:
    """Print lines for people, then one of JSON."""
    parameters = (find(model).parameters or 0) / 1e6
    print(f"{model}, {parameters:.0f} M parameters, batch 1, fp32, equal threads")
    base = statistics.median(ours[model, "torch"])
    speed = {}
    for runtime in RUNTIMES:
        found = statistics.median(ours[model, runtime])
        speed[runtime] = round(base / found, 3)
        print(f"  {runtime:<14} {found:8.2f} ms, {speed[runtime]:.2f} times torch's speed")
    agreement = {}
    for runtime in ("onnxruntime", "openvino"):
        pairs = zip(ours[model, runtime], theirs[model, runtime], strict=True)
        agreement[runtime] = round(statistics.median(a / b for a, b in pairs), 4)
        print(f"  {runtime} by its own tool  {agreement[runtime]:.3f} (promised 1 ± {PROMISED})")
    data = {"measurement": "runtimes", "model": model, "speed": speed, "by_own_tool": agreement}
    print(json.dumps(data), flush=True)


if __name__ == "__main__":
    main()
