"""Sabotaged models against the correctness check: every broken one must be `correct = false`.

Each micro model gets, in each precision, one fault at a time, such as an attention that returns
zeros, and goes through the runner's own verification. The table shows the nearest difference by its
tolerance: above 1 the fault is found. A fault that is known to be smaller than the rounding is
excused as long as it shows beside the honest model; once it is found, its excuse is stale.
`python -m performance sabotage small fp32,int8` takes other models and precisions.
"""

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args
from unittest.mock import patch

import numpy as np

from performance.sabotage.faults import Sabotage, sabotages
from performance.sabotage.parts import Inapplicable, mark_unused_norms
from performance.sessions import modes_of, verification_job
from runner.backends.torch import backend
from runner.backends.torch.backend import open_session
from runner.contract.axes import Precision
from runner.contract.job import Job
from runner.contract.models import model_sets
from runner.correctness.reference import compute_outputs, reference_arrays
from runner.correctness.verify import verify_session
from runner.measure.clock import monotonic

HONEST = "honest"
"""The row of the model without a fault."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
Shares = Mapping[str, float | None]
"""By sabotage, the worst difference by its tolerance; None if it does not apply."""
SabotageVerdict = Literal["right", "below rounding", "stale excuse", "MISSED"]
LEAST_EXCUSED = 0.3
"""The share of its tolerance that an excused fault must exceed at least."""
_ONE_LAYER = "one layer's weights at half the bits"
_BASE = "rotary base wrong"
_SHARP = "scores too large by the root of 2"
_LAST_KEY = "cache without the last token"
_BELOW_ROUNDING: Mapping[tuple[str, Precision], frozenset[str]] = {
    ("bert-tiny", "int8"): frozenset({_SHARP}),
    ("clip-micro", "int8"): frozenset({"outputs 2 % too large"}),
    ("detr-micro", "int8"): frozenset({_SHARP}),
    ("gpt2-micro", "int8"): frozenset({_LAST_KEY}),
    ("llama-micro", "int8"): frozenset({_LAST_KEY}),
    ("llava-next-micro", "int8"): frozenset({_LAST_KEY}),
    ("llava-onevision-micro", "int8"): frozenset({_LAST_KEY}),
    ("opt-micro", "int8"): frozenset({_LAST_KEY}),
    ("qwen2-vl-micro", "int8"): frozenset({_LAST_KEY}),
    ("qwen3-micro", "int8"): frozenset({_BASE}),
    ("qwen3-vl-micro", "int8"): frozenset({_BASE, _LAST_KEY}),
    ("vit-micro", "int8"): frozenset({_SHARP}),
    ("vit-tiny", "int8"): frozenset({_ONE_LAYER, _SHARP, "patches moved by one"}),
    ("wav2vec2-micro", "int8"): frozenset({_SHARP}),
}
"""Faults smaller than three times the rounding of their precision: none of those that stand for a
part that does nothing. Gated layers round coarsest in int8; twelve layers average over patches that
are only moved; a softmax that is a little too sharp, or has lost one key of 32, changes little."""


class Judge:
    """The verification of one model, broken in one way after the other."""

    def __init__(self, model: str, folder: Path) -> None:
        self._jobs = {mode: verification_job(model, mode, "fp32") for mode in modes_of(model)}
        self._folder = folder
        for mode, job in self._jobs.items():
            np.savez(folder / f"{mode}.npz", allow_pickle=False, **reference_arrays(job, monotonic))

    def shares(self, precision: Precision) -> Shares:
        """Break the model in each way and compare it."""
        jobs = {mode: _in_precision(job, precision) for mode, job in self._jobs.items()}
        shares: dict[str, float | None] = {}
        with closing(open_session(jobs["inference"], threads=1)) as session:
            mark_unused_norms(session._model, partial(compute_outputs, session, jobs["inference"]))
            shares[HONEST] = max(self._share(session, job, honest=True) for job in jobs.values())
            for sabotage in sabotages(precision):
                job = jobs.get("generation" if sabotage.in_steps else "inference")
                shares[sabotage.name] = (
                    None if job is None else self._sabotaged(session, job, sabotage)
                )
        return shares

    def _sabotaged(self, session: Any, job: Job, sabotage: Sabotage) -> float | None:
        try:
            if sabotage.in_weights and job.cells[0].precision == "int8":
                with _broken_weights(sabotage), closing(open_session(job, threads=1)) as other:
                    return self._share(other, job)
            with sabotage.fault(session._model):
                return self._share(session, job)
        except Inapplicable:
            return None

    def _share(self, session: Any, job: Job, *, honest: bool = False) -> float:
        """The difference by its tolerance; infinite where another evidence makes it wrong, and for
        an honest model that is not compared.
        """
        columns = verify_session(session, job, self._folder, monotonic)
        if columns["correct"] is None and "tolerance_share" not in columns:
            raise RuntimeError(str(columns["correct_code"]))
        if honest and columns["correct"] is None:
            return np.inf
        share = float(columns.get("tolerance_share", np.inf))
        return np.inf if columns["correct"] is False and share <= 1 else share


def shares_of(model: str, precisions: Sequence[Precision]) -> dict[Precision, Shares]:
    with warnings.catch_warnings(action="ignore"), TemporaryDirectory() as folder:
        judge = Judge(model, Path(folder))
        return {precision: judge.shares(precision) for precision in precisions}


def verdicts(model: str, precision: Precision, shares: Shares) -> dict[str, SabotageVerdict]:
    """What the study says of each share.

    A fault is excused if it differs by more than the honest model does, as one that nobody notices
    would not. An excuse for a fault that is found, or that does not apply, is stale.
    """
    excused = _BELOW_ROUNDING.get((model, precision), frozenset())
    honest = shares[HONEST]
    assert honest is not None
    least = max(honest, LEAST_EXCUSED)
    found: dict[str, SabotageVerdict] = {HONEST: "right" if honest <= 1 else "MISSED"}
    for name in shares.keys() - {HONEST}:
        found[name] = _verdict(shares[name], least if name in excused else None)
    return found


def _verdict(share: float | None, least_excused: float | None) -> SabotageVerdict:
    if share is None or share > 1:
        return "right" if least_excused is None else "stale excuse"
    if least_excused is None or share <= least_excused:
        return "MISSED"
    return "below rounding"


@contextmanager
def _broken_weights(sabotage: Sabotage) -> Iterator[None]:
    """Sessions that are opened within have the fault before their weights are quantised."""
    original = backend.fill_parameters
    with ExitStack() as stack:

        def fill(model: Any, seed: int) -> None:
            original(model, seed)
            stack.enter_context(sabotage.fault(model))

        with patch.object(backend, "fill_parameters", fill):
            yield


def _in_precision(job: Job, precision: Precision) -> Job:
    cell = job.cells[0].model_copy(update={"precision": precision})
    return job.model_copy(update={"cells": (cell,)})


def main() -> int:
    """Print a row for each model, precision and sabotage; 1 if a fault is missed."""
    chosen = sys.argv[1] if len(sys.argv) > 1 else "micro"
    models = model_sets().get(chosen) or tuple(chosen.split(","))
    wanted = sys.argv[2].split(",") if len(sys.argv) > 2 else PRECISIONS
    counts: Counter[SabotageVerdict] = Counter()
    for model in models:
        precisions = [name for name in PRECISIONS if name in wanted]
        for precision, shares in shares_of(model, precisions).items():
            found = verdicts(model, precision, shares)
            counts.update(found.values())
            print_rows(f"{model:24} {precision:5}", shares, found)
            data = {"measurement": "sabotage", "model": model, "precision": precision}
            print(json.dumps(data | {"shares": shares}), flush=True)
    print(f"{counts['MISSED']} verdicts are not what they must be")
    print(f"{counts['stale excuse']} excuses are stale: `_BELOW_ROUNDING` can do without them")
    return int(counts["MISSED"] > 0)


def print_rows(subject: str, shares: Shares, found: Mapping[str, SabotageVerdict]) -> None:
    """Print a row for each sabotage that applies, or whose excuse is stale."""
    for name, share in shares.items():
        if share is None and found[name] == "right":
            continue
        shown = f"{'–':>10}" if share is None else f"{share:10.3g}"
        mark = "" if found[name] == "right" else f"  {found[name]}"
        caught = "" if share is None else "  not caught" if share <= 1 else "  caught"
        print(f"{subject} {name:40} {shown}{caught}{mark}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
