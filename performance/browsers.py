"""Browsers: their speed by native's on the same graphs, the page's clock, what driving them costs.

One run measures wasm with 1 and 2 threads, webnn, and onnxruntime in a process of its own, over the
same prepared graphs. Then a page is driven as a round of `standard` does, and its time is split:
starting and closing the browser and the way to the page are the driver's; loading the graph and
iterations are not. Last, one small cell is measured again and again, and none may fail.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import yaml

from performance.runtimes import orchestrator
from runner.backends.graphs.feeds import forward_pass
from runner.backends.onnxruntime_web.browser import started_browser
from runner.backends.onnxruntime_web.graph import WebGraph
from runner.backends.onnxruntime_web.page import WebPage
from runner.backends.onnxruntime_web.query import bind_query
from runner.contract.graph import find_graph
from runner.contract.job import PROFILES, Job
from runner.contract.record import Record, read_record
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.phases import quota_of, run_steady_phase, time_once, warm_up

MODELS = ("bert-tiny", "vit-tiny")
MOST_SHARE = 0.20
"""The driver's share of a cell's wall time, promised for `standard`."""
REPEATS = 10
PATHS = ("wasm-1", "wasm-2", "webnn")


@dataclass(frozen=True)
class Drive:
    """One round in a browser, nanoseconds."""

    wall_ns: int
    loading_ns: int
    iterations_ns: int

    @property
    def share(self) -> float:
        """The share that is neither loading the graph nor an iteration."""
        return 1 - (self.loading_ns + self.iterations_ns) / self.wall_ns


def main() -> int:
    """Measure and print; 1 if the driver takes more than its share, or a repeat fails."""
    parser = argparse.ArgumentParser(prog="performance browsers", description=__doc__)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--profile", choices=[*PROFILES], default="standard")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        results = Path(name, "results")
        measured = measure(options.models, options.profile, results)
        speed = {model: speeds(measured, model) for model in options.models}
        report_speed(speed, measured)
        job = job_of(results, options.models[0])
        share = drive(job, results / "graphs", options.profile).share
        print(
            f"driver's share of a round, {options.profile}  {share:.1%}, at most {MOST_SHARE:.0%}"
        )
        failed = sum(not is_measured(options.models[0], results) for _ in range(options.repeats))
        print(f"repeats of a small cell  {options.repeats}, of which failed {failed}")
    clocks = sorted({record.clock_resolution_s for record in measured if record.backend != "cpu"})
    data = {"measurement": "browsers", "times_native": speed, "clock_resolution_s": clocks}
    print(json.dumps({**data, "driver_share": round(share, 3), "failed": failed}), flush=True)
    return int(failed > 0 or (options.profile == "standard" and share > MOST_SHARE))


def measure(models: Sequence[str], profile: str, results: Path) -> list[Record]:
    """The records of one run of all paths over the same graphs."""
    threads = {"axes": {"threads": [1, 2]}}
    native = {"axes": {"runtime": ["onnxruntime"], "threads": [1, 2]}}
    matrix = {
        "version": 1,
        "axes": {"model": [*models], "backend": ["cpu", "wasm", "webnn"]},
        "backends": {"cpu": native, "wasm": threads},
        "measure": {"profile": profile},
    }
    path = results.with_name("matrix.yaml")
    path.write_text(yaml.safe_dump(matrix))
    orchestrator("run", str(path), "--results", str(results), "--launcher", "process")
    records = [read_record(file) for file in sorted(results.glob("*/records/*/*.parquet"))]
    if lacking := [f"{one.cell_id}: {one.ending}" for one in records if one.status != "ok"]:
        raise SystemExit("\n".join(lacking))
    return records


def speeds(records: Sequence[Record], model: str) -> dict[str, float]:
    """Native's median by each path's, with as many threads; webnn's by native's fastest."""
    medians = {
        f"{one.backend}-{one.threads}" if one.backend != "webnn" else "webnn": one.latency_median_s
        for one in records
        if one.model == model
    }
    medians["cpu"] = min(medians["cpu-1"] or 0, medians["cpu-2"] or 0)
    native = {path: medians[path.replace("wasm", "cpu").replace("webnn", "cpu")] for path in PATHS}
    return {path: round((native[path] or 0) / (medians[path] or 1), 3) for path in PATHS}


def job_of(results: Path, model: str) -> Job:
    """The job in a browser that the run has executed."""
    file = next(iter(sorted(results.glob(f"*/jobs/*wasm*{model}*.json"))))
    return Job.model_validate_json(file.read_text())


def drive(job: Job, graphs: Path, profile: str) -> Drive:
    """Drive a page through one round, as the runner does."""
    cell, measure = job.cells[0], PROFILES[profile]
    graph, folder = find_graph(job, cell, graphs)
    inputs = synthesise(job.model, cell, job.weights_seed)
    _, feeds = forward_pass(graph, job.model, inputs)
    began = monotonic()
    with started_browser(cell.backend, software=False) as browser:  # noqa: SIM117
        with closing(WebPage(browser, cell.backend, cell.threads or 1)) as page:
            opened = monotonic()
            loaded = WebGraph(page, cell.backend, graph, folder, feeds)
            loading_ns = monotonic() - opened
            query = bind_query(loaded, job.model, inputs)
            warm = warm_up(lambda: time_once(query, monotonic), monotonic, measure)
            steady = run_steady_phase(
                lambda: time_once(query, monotonic), quota_of(measure), series=query.series
            )
    iterations_ns = sum(warm.durations_ns) + sum(steady)
    return Drive(monotonic() - began, loading_ns, iterations_ns)


def is_measured(model: str, results: Path) -> bool:
    """True if the small cell is measured once more, in a run of its own."""
    options = ("--backend", "wasm", "--model", model, "--results", str(results))
    quick = ("--profile", "quick", "--launcher", "process", "--no-verify")
    try:
        orchestrator("bench", *options, *quick)
    except SystemExit as failure:
        print(failure, file=sys.stderr)
        return False
    return True


def report_speed(speed: dict[str, dict[str, float]], records: Sequence[Record]) -> None:
    """Print one line for each path, and the clock's."""
    for model, ratios in speed.items():
        for path, ratio in ratios.items():
            print(f"{model}  {path:<7} {ratio:.2f} times native's speed")
    steps = [one.clock_resolution_s or 0.0 for one in records if one.backend != "cpu"]
    print(f"step of the page's clock  {min(steps) * 1e6:.1f} to {max(steps) * 1e6:.1f} µs")


if __name__ == "__main__":
    sys.exit(main())
