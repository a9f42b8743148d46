"""Verdicts on regressions made by hand, with values that a test may change."""

import math
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from analysis.regress.cases import Case
from analysis.regress.judgements import REGRESSION_VERDICTS, Judgement, Judgements
from analysis.regress.launches import LaunchedResult, PastResult
from analysis.regress.noise import NoiseSource, SeriesNoise
from analysis.regress.steps import Levels, LevelStep
from analysis.regress.verdicts import LevelShift, RegressionVerdict, VerdictReason
from analysis.results.metrics import METRICS
from analysis.results.series import SCOPE, SERIES
from analysis.statistics.ratios import THRESHOLD, Estimate
from analysis.statistics.variance import ShiftSpread
from orchestrator.commands.regress.answer import RegressionAnswer, RegressionRequest
from orchestrator.commands.results.selection import SelectionRequest
from tests.support.data import sample
from tests.support.records import RECORDED_AT

BASE, RUN = "20261121-120000-aaaa", "20261122-120000-bbbb"
_ROW = sample("row")["row"]
_DEGREES = 8.0


def an_observation(value: float, launches: int = 5, **facts: Any) -> LaunchedResult:
    """A result whose launches agree; its cell id follows from model and batch size."""
    known = {**_ROW, "source": "accelmatrix", "part": None, "run_id": RUN, **facts}
    known.setdefault("cell_id", f"cpu-{known['model']}-fp32-b{known['batch_size']}-s128-inference")
    others = ("git_commit", "image_digest", "interleaved_with", "measured_at", "result_id")
    for name in (*SERIES, SCOPE, "found", *others):
        known.setdefault(name, None)
    return LaunchedResult(known, value, (value,) * launches)


def a_judgement(
    verdict: RegressionVerdict = "regression",
    change: float = 0.12,
    *,
    metric: str = "latency",
    source: NoiseSource = "history",
    reason: VerdictReason | None = None,
    history: Sequence[float] = (),
    step: float | None = None,
    accepted: str | None = None,
    facts: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    **changes: Any,
) -> Judgement:
    """A verdict on a cell that took 4 ms and changed by this share, with a noise of 1 %."""
    known = facts or {}
    earlier = an_observation(4.0, **{**known, "run_id": BASE, **(before or {})})
    after = an_observation(4.0 * (1 + change), **known)
    noise = SeriesNoise(
        source, f"{source}, 8 degrees of freedom", lambda *_: ShiftSpread(0.01, _DEGREES)
    )
    case = Case(
        *(earlier, after, _levels(history, step)),
        difference=LevelShift(math.log1p(change), (5, 5), noise),
        accepted=accepted,
    )
    usual = {"p_value": 0.004, "changes": None if verdict == "no change" else ()}
    return Judgement(
        *(after.cell_id, METRICS[metric], verdict, reason, earlier, after),
        **{"case": case, **usual, **changes},
    )


def a_refusal(reason: str, cell: str = "cpu-gpt2-fp32-b1-s128-inference") -> Judgement:
    """A cell that cannot be compared, of which neither side has a value."""
    why = VerdictReason("other_series", facts={"differences": reason})
    return Judgement(cell, METRICS["latency"], "not comparable", why, None, None)


def an_answer(
    *judgements: Judgement, command: str | None = None, of_one_database: bool = True, **request: Any
) -> RegressionAnswer:
    """The answer that these verdicts make."""
    sides = {key: request.pop(key) for key in ("only_before", "only_after") if key in request}
    ordered = sorted(judgements, key=lambda one: REGRESSION_VERDICTS.index(one.verdict))
    known = Judgements(
        *(BASE, RUN, THRESHOLD, tuple(ordered)),
        only_before=sides.get("only_before", ()),
        only_after=sides.get("only_after", ()),
    )
    selected = SelectionRequest(Path("results/benchmarks.duckdb"))
    asked = RegressionRequest(selected, "last", **request)
    return RegressionAnswer(asked, known, command, of_one_database)


def _levels(history: Sequence[float], step: float | None) -> Levels:
    """A history of one launch a run and day, whose last result is a step of this share."""
    results = [
        PastResult(
            *(f"result-{day}", f"run-{day}", RECORDED_AT + timedelta(days=day), "c" * 40, "A"),
            (math.log(value),),
        )
        for day, value in enumerate(history)
    ]
    if step is None:
        return Levels((tuple(results),), ())
    ratio = Estimate(1 + step, 1 + step - 0.02, 1 + step + 0.02)
    return Levels(
        (tuple(results[:-1]), tuple(results[-1:])), (LevelStep(results[-1], ratio, None),)
    )
