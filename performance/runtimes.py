"""The runner against a bare loop in each runtime, over a grid of models and batches, on the CPU.

`python -m performance runtimes bert-tiny openvino 4` measures a part, about a minute a point; no
model, runtime or batch stands for all. Outputs have from 1 kB (ResNet-18, batch 1) to 250 MB
(bert-tiny, batch 16). A short run makes the graph and the job, which the runner executes once more,
side by side with the loop. Both have the allocator that the environment sets.
"""

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from transformers import ResNetConfig

from analysis.statistics.paired import PairedRatio, round_ratio
from orchestrator.store.query.ask import query
from orchestrator.system.files import DATABASE_NAME
from performance.turns import Process, runner_command, take_turns
from performance.watched import watch
from runner.contract.job import Job, SideBySide
from runner.contract.rounds import RoundResult, round_path

MODELS = ("bert-tiny", "vit-tiny", "gpt2-micro", "resnet-18")
RUNTIMES = ("torch", "onnxruntime", "openvino")
BATCHES = ("1", "2", "4", "8", "16")
LOOKS = (3, 6, 12)
"""Rounds, each of two fresh processes, after which a point may end."""
BURSTS, BURST_S, BURST_QUERIES = 16, 0.2, 6
"""Bursts of both in a round, and the seconds of one: more where that many queries take longer."""
PROMISED, PROMISED_SHORT, SHORT_S = 0.03, 0.05, 1e-3
"""Most that a ratio is off 1; for medians below that many seconds another."""


class Round(NamedTuple):
    """One round: the logarithm of our time by the loop's, its median, and our page faults."""

    logarithm: float
    loop_s: float
    page_faults: float


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
                rounds: list[Round] = []
                while len(rounds) not in LOOKS or is_open(rounds):
                    rounds.append(compare(job, query_s, Path(folder)))
                held &= report(model, job, rounds)
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


def compare(job: Job, query_s: float, folder: Path) -> Round:
    """Execute the job by the runner, side by side with a bare loop."""
    out, graphs = Path(tempfile.mkdtemp(dir=folder)), folder / "results/graphs"
    beside = SideBySide(group="runtimes", looks=LOOKS)
    gated = job.model_copy(update={"side_by_side": beside})
    (out / "job.json").write_text(gated.model_dump_json())
    loop = (sys.executable, "-m", "performance.own_tools", str(out / "job.json"), str(graphs))
    commands = [runner_command(sys.executable, out / "job.json", out, graphs), loop]
    # Whoever starts first differs by chance of placement.
    started = {command: Process(command) for command in random.sample(commands, 2)}
    ours, bare = (started[command] for command in commands)
    take_turns((ours, bare), BURSTS, max(BURST_S, BURST_QUERIES * query_s))
    ours.end()
    (told,) = bare.end()
    content = round_path(out, gated.cells[0], 1).read_bytes()
    result = RoundResult.model_validate_json(content)
    medians = told["medians_ns"]
    per_query = [one * gated.cells[0].batch_size for one in result.sample_medians_ns]
    faults = result.page_faults
    each = faults.count / len(result.durations_ns) if faults else 0.0
    ratio = round_ratio(medians, per_query)
    assert ratio is not None, "no burst is shorter than the clock's resolution"
    return Round(ratio.logarithm, median(medians) / 1e9, each)


def ratio_of(rounds: Sequence[Round]) -> PairedRatio:
    return PairedRatio(tuple(one.logarithm for one in rounds), LOOKS)


def is_open(rounds: Sequence[Round]) -> bool:
    """True if more rounds may tell: the interval holds an end of what is promised."""
    if not rounds or len(rounds) == LOOKS[-1]:
        return not rounds
    interval, most = ratio_of(rounds).interval, 1 + promised_of(rounds)
    return any(interval.low < end < interval.high for end in (1 / most, most))


def promised_of(rounds: Sequence[Round]) -> float:
    return PROMISED_SHORT if median(one.loop_s for one in rounds) < SHORT_S else PROMISED


def report(model: str, job: Job, rounds: Sequence[Round]) -> bool:
    """Print a line for people, then one of JSON; True if the ratio is what is promised."""
    cell, interval = job.cells[0], ratio_of(rounds).interval
    loop_s, faults = (median(one[place] for one in rounds) for place in (1, 2))
    ratio, promised = round(interval.value, 4), promised_of(rounds)
    ends = f"{interval.low:.4f} to {interval.high:.4f} in {len(rounds)} rounds"
    print(
        f"{model}, {cell.runtime}, batch {cell.batch_size}: {ratio} ({ends}), promised 1 ±"
        f" {promised}; {loop_s * 1e3:.3f} ms by the loop, {faults:.1f} page faults of ours"
    )
    held = abs(ratio - 1) <= promised
    point = {"model": model, "runtime": cell.runtime, "batch_size": cell.batch_size}
    data = {"ratio": ratio, "loop_s": loop_s, "page_faults": faults, "held": held}
    print(json.dumps({"measurement": "runtimes", **point, **data}), flush=True)
    return held


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
