"""Comparisons side by side: what they accuse, what they find, and how near the truth they come.

`python -m performance side_by_side PART…` measures parts: `equal` and `slower4` (each beside one
busy process too, with `busy`), `slower2`, `truth`, `alone`, `idle`, `agree`. The whole takes some
five hours. A comparison is one command of the program: two matrices whose models differ in layers,
by the process launcher. Ratios of 10,000 comparisons are resampled from the rounds of equal models,
each with a random sign.
"""

import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import psutil
import yaml
from transformers import BertConfig

from analysis.results.paired import ratio_of, rounds_sql
from analysis.statistics.paired import PairedRatio, RoundRatio
from orchestrator.planning.groups import LOOKS
from orchestrator.store.query.ask import query
from orchestrator.system.files import DATABASE_NAME
from performance.turns import Process, runner_command, take_turns
from performance.watched import watch
from runner.contract.job import Job, SideBySide

PARTS = ("equal", "slower4", "slower2", "truth", "alone", "idle", "agree")
MOST_S, MOST_ROUNDS = 180.0, 12
"""Time and rounds in which a difference of 4 % is found."""
RESAMPLED = 10_000
IDLE_S, MOST_IDLE = 20.0, 0.005
ALONE, AGREE, APART = 0.02, 0.05, 0.15
"""Shares by which medians may be off those alone, ratios off each other; differences to decide."""
TRUE_ITERATIONS = 1_200


@dataclass(frozen=True)
class Compared:
    """One comparison: the later model by the earlier one."""

    verdict: str
    rounds: list[RoundRatio]
    seconds: float

    @property
    def ratio(self) -> PairedRatio:
        return PairedRatio.of(self.rounds, LOOKS)

    @property
    def text(self) -> str:
        value, low, high = (100 * (end - 1) for end in vars(self.ratio.interval).values())
        rounds = len(self.ratio.logarithms)
        ends = f"{value:+.1f} % ({low:.1f} to {high:.1f})"
        return f"{self.verdict}, {ends}, {rounds} rounds, {self.seconds:.0f} s"


def main(words: Sequence[str]) -> int:
    """Measure the parts that the words name, or all; 1 if one is not what is promised."""
    if unknown := set(words) - {*PARTS, "busy"}:
        print(f"{', '.join(unknown)}: no part; there are {', '.join(PARTS)} and busy")
        return 2
    loads = (True,) if "busy" in words else (False, True)
    parts = {
        "equal": lambda: min([equal(busy=busy) for busy in loads]),
        "slower4": lambda: min([slower(20, 21, 128, 12, busy=busy) for busy in loads]),
        "slower2": lambda: slower(40, 41, 64, 10, busy=False),
        "truth": truth,
        "alone": alone,
        "idle": idle,
        "agree": agree,
    }
    chosen = [name for name in PARTS if name in words] or PARTS
    held = [parts[name]() for name in chosen]
    return int(not all(held))


def equal(*, busy: bool) -> bool:
    """Compare equal models: at most one of 24 is accused, and of those resampled 1 %."""
    results = [*comparisons(20, 20, 128, 12, busy=busy)]
    accused = sum(one.verdict in ("regression", "improvement") for one in results)
    pool = [one for compared in results for one in compared.rounds]
    chance = random.Random(1)
    share = fmean(resampled(pool, chance) for _ in range(RESAMPLED))
    held = accused <= 1 and share <= 0.01
    return report("equal", held, busy=busy, accused=accused, of=len(results), resampled=share)


def resampled(pool: Sequence[RoundRatio], chance: random.Random) -> bool:
    """True if a comparison of rounds drawn from these, each of a random sign, finds a change."""
    drawn = [
        one._replace(logarithm=chance.choice((-1, 1)) * one.logarithm)
        for one in chance.choices(pool, k=LOOKS[-1])
    ]
    return any(PairedRatio.of(drawn[:look], LOOKS).is_apart for look in LOOKS)


def slower(layers: int, more: int, width: int, count: int, *, busy: bool) -> bool:
    """Compare a model with a deeper one: all but one are found, in time and in few rounds."""
    results = [*comparisons(layers, more, width, count, busy=busy)]
    is_large = more / layers > 1.04
    found = [
        one
        for one in results
        if one.verdict == "regression"
        and (not is_large or (one.seconds <= MOST_S and len(one.ratio.logarithms) <= MOST_ROUNDS))
    ]
    ratio = math.exp(fmean(fmean(one.ratio.logarithms) for one in results))
    held = len(found) >= count - 1
    facts = {"layers": (layers, more), "found": len(found), "of": count, "ratio": round(ratio, 4)}
    return report("slower", held, busy=busy, **facts)


def comparisons(
    layers: int, more: int, width: int, count: int, *, busy: bool
) -> Iterator[Compared]:
    with tempfile.TemporaryDirectory() as name, busy_process() if busy else nullcontext():
        folder = Path(name)
        threads = {"threads": 1} if busy else {}
        before, after = (
            matrix(folder / f"{side}{depth}", depth, width, threads)
            for side, depth in (("before", layers), ("after", more))
        )
        for number in range(count):
            results = folder / f"results{number}"
            against = ("--compare-to", str(before), "--interleave")
            began = time.monotonic()
            data = told("run", str(after), *against, results=results)
            seconds = time.monotonic() - began
            (judged,) = data["verdicts"]["judgements"]
            compared = Compared(judged["verdict"], rounds_of(results), seconds)
            print(f"{layers} against {more} layers{', busy' * busy}: {compared.text}", flush=True)
            yield compared


def rounds_of(results: Path) -> list[RoundRatio]:
    """The rounds of a run beside its baseline, from its database."""
    sql = f"""
        SELECT any_value(p.looks) AS looks, {rounds_sql("p")} FROM paired_ratios p
        JOIN benchmark_results r USING (result_id) WHERE r.interleaved_with IS NOT NULL
    """
    (row,) = query(results / DATABASE_NAME, sql).to_pylist()
    return [RoundRatio(**one) for one in row["rounds"]]


def matrix(folder: Path, layers: int, width: int, axes: dict[str, int]) -> Path:
    """A matrix with a model of so many layers, of one name whatever they are."""
    model = folder / "deep"
    BertConfig(**sizes(layers, width), architectures=["BertModel"]).save_pretrained(model)
    names = {"model": [str(model)], "backend": "cpu", "batch_size": 1, "sequence_length": 128}
    content = {"version": 1, "axes": {**names, **axes}, "measure": {"profile": "quick"}}
    path = folder / "matrix.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def sizes(layers: int, width: int) -> dict[str, int]:
    inner = {"num_attention_heads": 2, "intermediate_size": 4 * width, "vocab_size": 1000}
    return {"hidden_size": width, "num_hidden_layers": layers, **inner}


@contextmanager
def busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def truth() -> bool:
    """The ratio in one process that alternates, beside those that are found side by side."""
    held = True
    for layers, more, width in ((20, 21, 128), (40, 41, 64)):
        exact = alternating(layers, more, width)
        found = [
            fmean(one.ratio.logarithms) for one in comparisons(layers, more, width, 3, busy=False)
        ]
        off = math.exp(fmean(found)) / exact - 1
        facts = {"layers": (layers, more), "exact": round(exact, 4), "off": round(off, 4)}
        held &= report("truth", abs(off) <= 0.01, **facts)
    return held


def alternating(layers: int, more: int, width: int) -> float:
    """The ratio of two models that one process executes in turns, iteration by iteration."""
    import torch
    from transformers import BertModel

    models = []
    for depth in (layers, more):
        torch.manual_seed(0)
        models.append(BertModel(BertConfig(**sizes(depth, width))).eval())
    ids, ratios = torch.randint(0, 1000, (1, 128)), []
    with torch.inference_mode():
        for number in range(TRUE_ITERATIONS + 30):
            taken = {}
            for side in (0, 1) if number % 2 else (1, 0):
                began = time.perf_counter_ns()
                models[side](ids)
                taken[side] = time.perf_counter_ns() - began
            ratios.append(math.log(taken[1] / taken[0]))
    return math.exp(median(ratios[30:]))


def told(*words: str, results: Path) -> dict[str, Any]:
    """The output of a command that measures by local processes; it may end with any verdict."""
    how = ("--launcher", "process", "--no-verify", "--json", "--results", str(results))
    done = watch(["-m", "orchestrator", *words, *how], accepted=range(256))
    data: dict[str, Any] = json.loads("\n".join(line.text for line in done.output))
    return data


def alone() -> bool:
    """Medians of runtimes side by side by those alone, which are measured in turns."""
    runtimes, offs = ("torch", "onnxruntime", "openvino"), []
    with tempfile.TemporaryDirectory() as name:
        for number in range(3):
            folder = Path(name) / str(number)
            together = medians(told(*bert(",".join(runtimes)), results=folder / "all"))
            apart = {}
            for runtime in runtimes:
                apart |= medians(told(*bert(runtime), results=folder / runtime))
            offs.append({cell: math.log(together[cell] / apart[cell]) for cell in together})
    shares = {cell: math.expm1(median(one[cell] for one in offs)) for cell in offs[0]}
    worst = max(map(abs, shares.values()))
    rounded = {cell: round(share, 4) for cell, share in shares.items()}
    return report("alone", worst <= ALONE, off=rounded)


def bert(runtimes: str) -> tuple[str, ...]:
    return ("bench", "--model", "bert-tiny", "--runtime", runtimes)


def medians(data: dict[str, Any]) -> dict[str, float]:
    return {row["cell_id"]: row["latency_median_ms"] for row in data["results"]}


def idle() -> bool:
    """The share of a core that a candidate takes which waits, its threads included."""
    shares = {}
    with tempfile.TemporaryDirectory() as name:
        for runtime in ("torch", "onnxruntime", "openvino"):
            folder = Path(name) / runtime
            told(*bert(runtime), results=folder)
            files = folder.glob("*/jobs/*.json")
            jobs = (Job.model_validate_json(file.read_bytes()) for file in files)
            job = next(job for job in jobs if job.purpose == "time")
            gated = {"side_by_side": SideBySide(group="idle", looks=(3,))}
            own = folder / "job.json"
            own.write_text(job.model_copy(update=gated).model_dump_json())
            command = runner_command(sys.executable, own, folder, folder / "graphs")
            process = Process(command)
            take_turns([process], 4)
            watched = psutil.Process(process.id)
            before = sum(watched.cpu_times()[:2])
            time.sleep(IDLE_S)
            shares[runtime] = (sum(watched.cpu_times()[:2]) - before) / IDLE_S
            process.end()
    return report("idle", max(shares.values()) <= MOST_IDLE, shares=shares)


def agree() -> bool:
    """Ratios of three runtimes, of two models at two batches, four times."""
    held = True
    for model in ("bert-tiny", "vit-tiny"):
        found: dict[tuple[str, str], list[float]] = {}
        with tempfile.TemporaryDirectory() as name:
            for number in range(4):
                folder = Path(name) / str(number)
                runtimes = ("--runtime", "torch,onnxruntime,openvino", "--batch-size", "1,4")
                began = time.monotonic()
                told("bench", "--model", model, *runtimes, results=folder)
                print(f"{model}: {time.monotonic() - began:.0f} s", flush=True)
                for pair, ratio in pairs_of(folder).items():
                    found.setdefault(pair, []).append(ratio.interval.value)
                    is_open = abs(math.log(ratio.interval.value)) > math.log1p(APART)
                    held &= ratio.is_apart or not is_open
        for pair, ratios in found.items():
            spread = max(ratios) / min(ratios) - 1
            shown = [round(ratio, 3) for ratio in ratios]
            held &= report(
                "agree", spread <= AGREE, pair=pair, ratios=shown, spread=round(spread, 3)
            )
    return held


def pairs_of(folder: Path) -> dict[tuple[str, str], PairedRatio]:
    """The ratios between the cells of a run, one direction of each."""
    sql = f"""
        SELECT split_part(result_id, '/', 2) AS one, split_part(other_id, '/', 2) AS other,
            any_value(looks) AS looks, {rounds_sql()}
        FROM paired_ratios WHERE result_id < other_id GROUP BY ALL
    """
    rows = query(folder / DATABASE_NAME, sql).to_pylist()
    return {(row["one"], row["other"]): ratio_of(row) for row in rows}


def report(part: str, held: bool, **facts: object) -> bool:
    data = {"measurement": "side_by_side", "part": part, **facts, "held": held}
    print(json.dumps(data), flush=True)
    return held


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
