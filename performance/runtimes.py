"""Runtimes against each other on the CPU, and against their own tools on the same graph.

One run gives all runtimes' medians. Then the job of each runtime that has a tool of its own
(OpenVINO's benchmark_app, a bare loop over ONNX Runtime, both with the options that our sessions
set) is executed once more by the runner, side by side with that tool, and the medians are compared.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from orchestrator.store.records.validate import read_record
from orchestrator.store.store import Store
from performance.own_tools import benchmark_app, median_ms, onnxruntime_loop
from performance.side_by_side import Stoppable, alternate
from runner.contract.graph import DYNAMIC
from runner.contract.job import Job
from runner.contract.models import find

ROUNDS = 3
SECONDS = 30
MODELS = ("bert-base-uncased", "vit-base", "whisper-tiny")
RUNTIMES = ("torch", "torch_compile", "onnxruntime", "openvino")
BY_OWN_TOOL = ("onnxruntime", "openvino")
PROMISED = 0.03


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in MODELS:
            medians = run(matrix_of(model, RUNTIMES, folder), folder / "results")
            compared = {
                runtime: [compare(model, runtime, folder) for _ in range(ROUNDS)]
                for runtime in BY_OWN_TOOL
            }
            report(model, medians, compared)


def compare(model: str, runtime: str, folder: Path) -> float:
    """Our median by that of the runtime's own tool."""
    out = Path(tempfile.mkdtemp(dir=folder))
    job = long_job(model, runtime, folder)
    (out / "job.json").write_text(job.model_dump_json())
    runner = (sys.executable, "-m", "runner", "--job", str(out / "job.json"), "--out", str(out))
    graphs = ("--graphs", str(folder / "results/graphs"))
    ours = Stoppable((*runner, *graphs), '"steady"')
    tool = Stoppable(*own_tool(model, runtime, folder))
    _, output = alternate(ours, tool, SECONDS)
    record = read_record(out / f"{job.cells[0].id}.parquet")
    return (record.latency_median_s or float("nan")) * 1e3 / median_ms(output)


def long_job(model: str, runtime: str, folder: Path) -> Job:
    """The job that the run executed, measured for longer."""
    (cell_job,) = (folder / "results").glob(f"*/jobs/*{runtime}-{model}-*.json")
    job = Job.model_validate_json(cell_job.read_text())
    times = {"min_s": SECONDS, "max_s": SECONDS}
    return job.model_copy(update={"measure": job.measure.model_copy(update=times)})


def own_tool(model: str, runtime: str, folder: Path) -> tuple[tuple[str, ...], str]:
    """Command of the tool over the same graph, and the line that it prints as it begins."""
    (graph,) = (folder / "results/graphs").glob(f"{model}-forward-fp32-*/{DYNAMIC}/forward.onnx")
    if runtime == "openvino":
        return benchmark_app(graph, model, SECONDS, folder)
    return onnxruntime_loop(graph, model, SECONDS)


def matrix_of(model: str, runtimes: Sequence[str], folder: Path) -> Path:
    """A matrix of these runtimes at the model's default shape."""
    on_cpu = [runtime for runtime in runtimes if runtime != "openvino"]
    backends = [*(["cpu"] if on_cpu else []), *(["openvino"] if "openvino" in runtimes else [])]
    matrix = {
        "version": 1,
        "axes": {"model": [model], "backend": backends},
        "measure": {"profile": "quick"},
    }
    if on_cpu:
        matrix["backends"] = {"cpu": {"axes": {"runtime": on_cpu}}}
    path = folder / f"{model}-{len(runtimes)}-{runtimes[0]}.yaml"
    path.write_text(yaml.safe_dump(matrix))
    return path


def run(matrix: Path, results: Path) -> dict[str, float]:
    """Median milliseconds of one run, by runtime."""
    options = ("--launcher", "process", "--no-verify")
    orchestrator("run", str(matrix), "--results", str(results), *options)
    with Store.open_readonly(results / "benchmarks.duckdb") as store:
        rows = store.results(store.runs()[0].run_id)
    return {row.runtime: row.latency_median_ms or float("nan") for row in rows}


def orchestrator(*arguments: str) -> None:
    """Run one command, and show its output only if it fails."""
    command = [sys.executable, "-m", "orchestrator", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def report(model: str, medians: dict[str, float], compared: dict[str, list[float]]) -> None:
    """Print lines for people, then one of JSON."""
    parameters = (find(model).parameters or 0) / 1e6
    print(f"{model}, {parameters:.0f} M parameters, batch 1, fp32, equal threads")
    speed = {runtime: round(medians["torch"] / median, 3) for runtime, median in medians.items()}
    for runtime in RUNTIMES:
        times = f"{speed[runtime]:.2f} times torch's speed"
        print(f"  {runtime:<14} {medians[runtime]:8.2f} ms, {times}")
    for runtime, ratios in compared.items():
        turns = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        median = statistics.median(ratios)
        print(f"  {runtime:<14} by its own tool {median:.3f} of {turns}; promised 1 ± {PROMISED}")
    agreement = {
        runtime: [round(ratio, 4) for ratio in ratios] for runtime, ratios in compared.items()
    }
    data = {"measurement": "runtimes", "model": model, "speed": speed, "by_own_tool": agreement}
    print(json.dumps(data), flush=True)


if __name__ == "__main__":
    main()
