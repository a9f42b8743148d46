"""The runner against each runtime's own tool over a grid of models and batches, on the CPU.

`python -m performance runtimes bert-tiny openvino 4` measures a part, some two minutes a point; no
model, runtime or batch stands for all. Outputs have from 1 kB (ResNet-18, batch 1) to 250 MB
(bert-tiny, batch 16). A short run makes the graph and the job, which is executed once more by the
runner, in turns with the tool. Both have the allocator that the environment sets.
"""

import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from transformers import ResNetConfig

from orchestrator.store.query.ask import query
from orchestrator.store.records.validate import read_record
from orchestrator.system.files import DATABASE_NAME
from performance.own_tools import median_s, own_tool
from performance.side_by_side import Stoppable, alternate
from performance.watched import watch
from runner.contract.confidence import students_t
from runner.contract.job import Job

MODELS = ("bert-tiny", "vit-tiny", "gpt2-micro", "resnet-18")
RUNTIMES = ("torch", "onnxruntime", "openvino")
BATCHES = ("1", "2", "4", "8", "16")
ROUNDS, MOST_ROUNDS = 3, 9
"""Fresh pairs of processes, and how many while their interval leaves the verdict open."""
TURNS, TURN_S, TURN_QUERIES = 20, 1.0, 8
"""Turns of both processes, and the seconds of one: more where that many queries take longer."""
PROMISED, PROMISED_SHORT, SHORT_S = 0.03, 0.05, 1e-3
"""Most that a ratio is off 1; for medians below that many seconds another."""
Point = tuple[float, float, float | None]
"""Our median and the tool's, in seconds, and our page faults an iteration."""


def main(words: Sequence[str]) -> int:
    """Measure the part of the grid that the words name; 1 if a ratio is not what is promised."""
    if unknown := set(words) - {*MODELS, *RUNTIMES, *BATCHES}:
        print(f"{', '.join(unknown)}: neither a model, a runtime nor a batch of the grid")
        return 2
    models, runtimes, batches = (
        [word for word in axis if word in words] or axis for axis in (MODELS, RUNTIMES, BATCHES)
    )
    held = True
    for model, runtime in ((model, runtime) for model in models for runtime in runtimes):
        with tempfile.TemporaryDirectory() as folder:
            for job, query_s in prepared(model, runtime, batches, Path(folder)):
                points: list[Point] = []
                while len(points) < ROUNDS or (len(points) < MOST_ROUNDS and is_open(points)):
                    points.append(compare(job, query_s, Path(folder)))
                held &= report(model, job, points)
    return int(not held)


def prepared(
    model: str, runtime: str, batches: Sequence[str], folder: Path
) -> list[tuple[Job, float]]:
    """A job for each batch, as a short run made it, with the median of its query in seconds."""
    results, path = folder / "results", folder / "resnet-18"
    sizes: dict[str, Any] = {"depths": [2, 2, 2, 2], "hidden_sizes": [64, 128, 256, 512]}
    sizes |= {"num_labels": 256, "architectures": ["ResNetForImageClassification"]}
    config = ResNetConfig(**sizes, layer_type="basic")
    config.save_pretrained(path)
    named = str(path) if model == path.name else model
    command = ["-m", "orchestrator", "bench", "--model", named, "--runtime", runtime]
    command += ["--batch-size", ",".join(batches), "--results", str(results)]
    watch([*command, "--profile", "quick", "--launcher", "process", "--no-verify"])
    medians = "SELECT cell_id, latency_median_s AS s FROM benchmark_results"
    known = {
        row["cell_id"]: row["s"] for row in query(results / DATABASE_NAME, medians).to_pylist()
    }
    jobs = (Job.model_validate_json(file.read_bytes()) for file in results.glob("*/jobs/*.json"))
    timed = (job for job in jobs if job.purpose == "time")
    return [(job.of_cell(cell), known[cell.id]) for job in timed for cell in job.cells]


def compare(job: Job, query_s: float, folder: Path) -> Point:
    """Execute the job by the runner, in turns with the tool of its runtime."""
    out, graphs = Path(tempfile.mkdtemp(dir=folder)), folder / "results/graphs"
    turn_s = max(TURN_S, TURN_QUERIES * query_s)
    seconds = round(TURNS * turn_s)
    measure = job.measure.model_copy(update={"min_s": seconds, "max_s": seconds})
    (out / "job.json").write_text(job.model_copy(update={"measure": measure}).model_dump_json())
    runner = (sys.executable, "-m", "runner", "--job", str(out / "job.json"), "--out", str(out))
    ours = Stoppable((*runner, "--graphs", str(graphs)), '"steady"')
    tool = Stoppable(*own_tool(out / "job.json", graphs, seconds))
    _, output = alternate(ours, tool, seconds, turn_s)
    record = read_record(out / f"{job.cells[0].id}.parquet")
    return record.latency_median_s or float("nan"), median_s(output), record.page_faults


def is_open(points: Sequence[Point]) -> bool:
    """True if the 95 % interval of the mean ratio holds an end of what is promised."""
    logarithms = [math.log(ours / tool) for ours, tool, _ in points]
    margin = students_t(len(points) - 1, 0.95) * stdev(logarithms) / math.sqrt(len(points))
    limit = math.log1p(promised_of(points))
    return abs(abs(fmean(logarithms)) - limit) < margin


def promised_of(points: Sequence[Point]) -> float:
    return PROMISED_SHORT if median(tool for _, tool, _ in points) < SHORT_S else PROMISED


def report(model: str, job: Job, points: Sequence[Point]) -> bool:
    """Print a line for people, then one of JSON; True if the ratio is what is promised."""
    cell, ratios = job.cells[0], [round(ours / tool, 4) for ours, tool, _ in points]
    tool_s, faults = (median(point[index] or 0.0 for point in points) for index in (1, 2))
    promised, each = promised_of(points), ", ".join(map(str, ratios))
    ratio = round(median(ratios), 4)
    print(
        f"{model}, {cell.runtime}, batch {cell.batch_size}: {ratio} of {each}, promised 1 ±"
        f" {promised}; {tool_s * 1e3:.3f} ms by the tool, {faults:.1f} page faults of ours"
    )
    held = abs(ratio - 1) <= promised
    point = {"model": model, "runtime": cell.runtime, "batch_size": cell.batch_size}
    data = {"ratio": ratio, "tool_s": tool_s, "page_faults": faults, "held": held}
    print(json.dumps({"measurement": "runtimes", **point, **data}), flush=True)
    return held


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
