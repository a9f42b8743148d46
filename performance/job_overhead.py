"""Seconds of a run that are neither warm-up nor timed, from the command to the table.

The command runs until everything is there that it keeps: the reference, bytecode, a database. Then
it runs again, and its runner executes the same job files alone, so that progress lines tell how
long each phase takes. A cell's own seconds are those from one record to the next, less its warm-up
and its timed iterations. The limits are ratios to a bare process that imports torch and runs the
model once, since a machine's speed changes from hour to hour.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from orchestrator.launchers.environment import process_environment
from orchestrator.store.records.validate import read_record
from performance.scratch import write_matrix
from performance.watched import Seconds, Watched, watch
from runner.contract.job import Job

ROOT = Path(__file__).parents[1]
REPEATS = 3
"""Runs of the command, of its runner and of the bare process; medians count."""
AXES = {"model": "bert-tiny", "backend": "cpu", "batch_size": [1, 2, 4, 8], "sequence_length": 32}
MEASURE = {"profile": "quick", "iterations": 5, "min_duration": "1s", "max_duration": "1s"}
LIMITS: Mapping[str, float] = {
    "a cell": 0.16,
    "command to first launch": 0.26,
    "last cell to table": 0.13,
    "load of a fresh process": 0.79,
    "reference of one model": 0.79,
}
"""The highest ratios to the bare process: it takes 3.8 s on a quiet machine with two cores."""
BARE_PROCESS = "bare process, one query"
BARE = """
import json, sys, torch
from transformers import AutoConfig, AutoModel
config = json.loads(sys.argv[1])
model = AutoModel.from_config(AutoConfig.for_model(config.pop("model_type"), **config)).eval()
with torch.inference_mode():
    model(torch.zeros(1, 32, dtype=torch.long))
"""


def main() -> int:
    """Measure all parts and print them; 1 if one takes longer than its limit."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        parts = measure_parts(write_matrix(folder, AXES, measure=MEASURE), folder)
    bare = parts.pop(BARE_PROCESS)
    print(f"{BARE_PROCESS:<26} {bare}")
    for name, seconds in parts.items():
        limit = LIMITS.get(name)
        print(f"{name:<26} {seconds}" + ("" if limit is None else judged(seconds, limit, bare)))
    within = all(parts[name].wall <= limit * bare.wall for name, limit in LIMITS.items())
    data = {name: seconds.rounded for name, seconds in {BARE_PROCESS: bare, **parts}.items()}
    print(json.dumps({"measurement": "job_overhead", "seconds": data, "within": within}))
    return 0 if within else 1


def judged(seconds: Seconds, limit: float, bare: Seconds) -> str:
    """The words behind seconds: what the bare process takes, and whether they keep the limit."""
    ratios = f"{seconds.wall / bare.wall:.2f} and {seconds.cpu / bare.cpu:.2f} times the bare one"
    verdict = "over its limit," if seconds.wall > limit * bare.wall else "at most"
    return f"; {ratios}; {verdict} {limit:g}"


def measure_parts(matrix: Path, folder: Path) -> dict[str, Seconds]:
    """All parts by name, those without a limit last."""
    results = folder / "results"
    run = ["-m", "orchestrator", "run", str(matrix), "--launcher", "process"]
    run += ["--results", str(results), "--scratch"]
    watch(run)
    reference_job = next(results.glob("*/jobs/reference-*.json"))
    commands = [watch(run) for _ in range(REPEATS)]
    job_file = max(results.glob("*/jobs/cpu-*.json"))
    config = Job.model_validate_json(job_file.read_bytes()).model.config
    references = [_launch(reference_job, folder / f"reference{i}") for i in range(REPEATS)]
    launches = [
        dict(_phases(job_file, folder / f"out{i}", results / "references")) for i in range(REPEATS)
    ]
    parts = {
        BARE_PROCESS: bare_process(config),
        "command to first launch": _middle([command.until(": 4 cells") for command in commands]),
        "last cell to table": _middle([_ending(command) for command in commands]),
        "reference of one model": _middle([process.end for process in references]),
    }
    return parts | {name: _middle([launch[name] for launch in launches]) for name in launches[0]}


def bare_process(config: Mapping[str, Any]) -> Seconds:
    """Seconds of a process that imports torch and runs the model of this configuration once."""
    command = ["-c", BARE, json.dumps(dict(config))]
    return _middle([watch(command).end for _ in range(REPEATS)])


def _launch(job_file: Path, out: Path, *options: str) -> Watched:
    """The runner over a job file, in the environment that the launcher gives it."""
    out.mkdir()
    job = Job.model_validate_json(job_file.read_bytes())
    arguments = ["-m", "runner", "--job", str(job_file), "--out", str(out), *options]
    return watch(arguments, process_environment(job))


def _phases(job_file: Path, out: Path, references: Path) -> Iterator[tuple[str, Seconds]]:
    """The load, a cell's own seconds, what each phase has of them, and the end of the process."""
    process = _launch(job_file, out, "--references", str(references))
    job = Job.model_validate_json(job_file.read_bytes())
    records = [read_record(out / f"{cell.id}.parquet") for cell in job.cells]
    moments = [(json.loads(line.text), line.at) for line in process.output]
    begun = [(event.get("phase"), at) for event, at in moments]
    loaded = next(at for phase, at in begun if phase == "first")
    yield "load of a fresh process", loaded
    spent: dict[str, Seconds] = {}
    for (phase, at), (_, after) in pairwise(begun):
        if phase and at.wall >= loaded.wall:
            spent[phase] = spent.get(phase, Seconds(0, 0)) + (after - at)
    for phase, column in (("warmup", "warmup_time_s"), ("steady", "steady_time_s")):
        timed = sum(getattr(record, column) for record in records)
        spent[phase] = Seconds(spent[phase].wall - timed, 0)  # processors work for both
    yield "a cell", sum(spent.values(), Seconds(0, 0)).by(len(records))
    for phase, seconds in spent.items():
        yield f"  in phase {phase}", seconds.by(len(records))
    yield "end of the process", process.end - begun[-1][1]


def _ending(command: Watched) -> Seconds:
    """From the line of the last cell to the first of the table."""
    return command.output[0].at - command.until("[4/4]")


def _middle(values: list[Seconds]) -> Seconds:
    return Seconds(median(value.wall for value in values), median(value.cpu for value in values))


if __name__ == "__main__":
    sys.exit(main())
