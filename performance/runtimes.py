"""The runtimes against each other on the CPU, and against their own tools on the same graph.

One run gives all runtimes' medians. Then each runtime that has a tool of its own (OpenVINO's
benchmark_app, a bare loop over ONNX Runtime, both with the options that our sessions set) takes
turns with it, seconds apart: what ours took is divided by the mean of the tool's before and after,
so that drift cancels. Turns go on until the median ratio's 95 % interval lies within the promise
or outside it, or there were enough.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import yaml

from orchestrator.store import Store
from performance.own_tools import benchmark_app, onnxruntime_loop
from runner.graph import DYNAMIC
from runner.measure.intervals import Interval, fewest, median_interval
from runner.models import find

TURNS = 9
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
            compared = {runtime: compare(model, runtime, folder) for runtime in BY_OWN_TOOL}
            report(model, medians, compared)


def compare(model: str, runtime: str, folder: Path) -> list[float]:
    """Ours by the runtime's own tool, turn by turn."""
    matrix = matrix_of(model, (runtime,), folder)
    tool = own_tool(model, runtime, folder)
    theirs, ours = [tool()], list[float]()
    while len(ours) < TURNS:
        ours.append(run(matrix, folder / "results")[runtime])
        theirs.append(tool())
        ratios = [
            mine / statistics.mean(pair) for mine, pair in zip(ours, pairwise(theirs), strict=True)
        ]
        if is_decided(interval(ratios)):
            break
    return ratios


def interval(ratios: Sequence[float]) -> Interval | None:
    """The median ratio's 95 % interval; None while there are too few."""
    return median_interval(ratios, len(ratios)) if len(ratios) >= fewest() else None


def is_decided(found: Interval | None) -> bool:
    """Whether the ratio is as promised, or certainly not."""
    if found is None:
        return False
    apart = found.low > 1 + PROMISED or found.high < 1 - PROMISED
    return apart or (found.low >= 1 - PROMISED and found.high <= 1 + PROMISED)


def own_tool(model: str, runtime: str, folder: Path) -> Callable[[], float]:
    """The tool over the graph that ours executes; answers median milliseconds."""
    (graph,) = (folder / "results/graphs").glob(f"{model}-forward-fp32-*/{DYNAMIC}/forward.onnx")
    if runtime == "openvino":
        return lambda: benchmark_app(graph, model, folder)
    return lambda: onnxruntime_loop(graph, model)


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
    """Run one command, and show what it said only if it fails."""
    command = [sys.executable, "-m", "orchestrator", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def report(model: str, medians: dict[str, float], compared: dict[str, list[float]]) -> None:
    """Print lines for people, then one of JSON."""
    parameters = (find(model).parameters or 0) / 1e6
    print(f"{model}, {parameters:.0f} M parameters, batch 1, fp32, equal threads")
    speed = {runtime: round(medians["torch"] / found, 3) for runtime, found in medians.items()}
    for runtime in RUNTIMES:
        times = f"{speed[runtime]:.2f} times torch's speed"
        print(f"  {runtime:<14} {medians[runtime]:8.2f} ms, {times}")
    for runtime, ratios in compared.items():
        print(f"  {runtime:<14} by its own tool: {told(ratios)}")
    agreement = {
        runtime: [round(ratio, 4) for ratio in ratios] for runtime, ratios in compared.items()
    }
    data = {"measurement": "runtimes", "model": model, "speed": speed, "by_own_tool": agreement}
    print(json.dumps(data), flush=True)


def told(ratios: Sequence[float]) -> str:
    """The median ratio, how sure it is, and whether that is what was promised."""
    found = interval(ratios)
    if found is None:
        return f"{statistics.median(ratios):.3f} of {len(ratios)} turns"
    within = found.low >= 1 - PROMISED and found.high <= 1 + PROMISED
    verdict = "as promised" if within else "not as promised" if is_decided(found) else "undecided"
    return (
        f"{found.median:.3f}, 95 % interval {found.low:.3f} to {found.high:.3f} of {len(ratios)}"
        f" turns; promised 1 ± {PROMISED}: {verdict}"
    )


if __name__ == "__main__":
    main()
