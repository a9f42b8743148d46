"""The runtimes against each other on the CPU, and against their own tools on the same graph.

Every turn is, model by model, `orchestrator run` over all runtimes between two rounds of OpenVINO's
benchmark_app and a bare loop over ONNX Runtime, which set the options that our sessions set. What
ours took is divided by the mean of the tool's before and after, so that slow drift cancels.
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

from orchestrator.store import Store
from performance.sessions import torch_job
from runner.graph import DYNAMIC
from runner.inputs import Inputs, synthesise
from runner.measure.environment import read_environment, usable_cpus
from runner.models import find

TURNS = 3
SECONDS = 6
MODELS = ("bert-base-uncased", "vit-base", "whisper-tiny")
RUNTIMES = ("torch", "torch_compile", "onnxruntime", "openvino")
BY_OWN_TOOL = ("onnxruntime", "openvino")
PROMISED = 0.03
MEDIAN = re.compile(r"Median:\s+([\d.]+) ms")
Timings = dict[tuple[str, str], list[float]]
"""Milliseconds, or ratios, turn by turn, by model and runtime."""


def main() -> None:
    """Measure and print."""
    ours: Timings = defaultdict(list)
    ratios: Timings = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in MODELS:
            prepare(matrix_of(model, folder), folder / "results")
        for _ in range(TURNS):
            for model in MODELS:
                before = by_own_tools(model, folder)
                found = run(matrix_of(model, folder), folder / "results")
                after = by_own_tools(model, folder)
                for runtime, median_ms in found.items():
                    ours[model, runtime].append(median_ms)
                for runtime in BY_OWN_TOOL:
                    theirs = statistics.mean((before[runtime], after[runtime]))
                    ratios[model, runtime].append(found[runtime] / theirs)
    for model in MODELS:
        report(model, ours, ratios)


def matrix_of(model: str, folder: Path) -> Path:
    """A matrix of all runtimes at the model's default shape."""
    matrix = {
        "version": 1,
        "axes": {"model": [model], "backend": ["cpu", "openvino"]},
        "backends": {"cpu": {"axes": {"runtime": ["torch", "torch_compile", "onnxruntime"]}}},
        "measure": {"profile": "quick"},
    }
    path = folder / f"{model}.yaml"
    path.write_text(yaml.safe_dump(matrix))
    return path


def prepare(matrix: Path, results: Path) -> None:
    """Export the graphs."""
    orchestrator("prepare", str(matrix), "--results", str(results), "--launcher", "process")


def run(matrix: Path, results: Path) -> dict[str, float]:
    """Median milliseconds of one run, by runtime."""
    options = ("--launcher", "process", "--no-verify")
    orchestrator("run", str(matrix), "--results", str(results), *options)
    with Store.open_readonly(results / "benchmarks.duckdb") as store:
        rows = store.results(store.runs()[0].run_id)
    return {row.runtime: row.latency_median_ms or float("nan") for row in rows}


def orchestrator(*arguments: str) -> None:
    """Run one command, and show what it said only if it fails."""
    command = [sys.executable, "-m", "orchestrator", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def by_own_tools(model: str, folder: Path) -> dict[str, float]:
    """Median milliseconds without us, by runtime."""
    graph = graph_of(folder / "results", model)
    return {
        "onnxruntime": onnxruntime_loop(graph, model),
        "openvino": benchmark_app(graph, model, folder),
    }


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


def report(model: str, ours: Timings, ratios: Timings) -> None:
    """Print lines for people, then one of JSON."""
    parameters = (find(model).parameters or 0) / 1e6
    print(f"{model}, {parameters:.0f} M parameters, batch 1, fp32, equal threads")
    medians = {runtime: statistics.median(ours[model, runtime]) for runtime in RUNTIMES}
    speed = {runtime: round(medians["torch"] / found, 3) for runtime, found in medians.items()}
    for runtime in RUNTIMES:
        times = f"{speed[runtime]:.2f} times torch's speed"
        print(f"  {runtime:<14} {medians[runtime]:8.2f} ms, {times}")
    agreement = {}
    for runtime in BY_OWN_TOOL:
        turns = ratios[model, runtime]
        agreement[runtime] = round(statistics.median(turns), 4)
        spread = ", ".join(f"{turn:.3f}" for turn in turns)
        print(
            f"  {runtime} by its own tool  {agreement[runtime]:.3f} of {spread}"
            f" (promised 1 ± {PROMISED})"
        )
    data = {"measurement": "runtimes", "model": model, "speed": speed, "by_own_tool": agreement}
    print(json.dumps(data), flush=True)


if __name__ == "__main__":
    main()
