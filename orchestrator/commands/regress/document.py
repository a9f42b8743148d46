"""Verdicts on regressions as plain data, all of them: what JSON holds."""

from collections.abc import Mapping
from typing import Any

from analysis.compare.values import PART
from analysis.regress.judgements import Judgement
from analysis.regress.launches import LaunchedResult
from analysis.regress.steps import LevelStep
from analysis.statistics.ratios import Estimate
from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.sizes import finite


def regression_document(answer: RegressionAnswer) -> dict[str, Any]:
    """The answer as JSON has it; docs/regressions.md explains the keys."""
    judgements, request = answer.judgements, answer.request
    return {
        "baseline": judgements.base,
        "run": judgements.run,
        "threshold": judgements.threshold,
        "per_host": request.per_host,
        "require_grade": request.require_grade,
        "exit_code": answer.exit_code,
        "counts": dict(judgements.counts),
        "judgements": [judgement_data(one) for one in judgements.judgements],
        "shared_changes": list(judgements.shared_changes),
        "only_in_baseline": list(judgements.only_before),
        "only_in_run": list(judgements.only_after),
        "below_grade": [cell for cell, _ in answer.below_grade],
    }


def judgement_data(judgement: Judgement) -> dict[str, Any]:
    """A verdict with all that it rests on, units in their own key."""
    metric, before, after = judgement.metric, judgement.before, judgement.after
    return {
        "cell": judgement.cell_id,
        "part": judgement.facts.get(PART),
        "metric": metric.name,
        "column": metric.column,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        **_side("baseline_", before),
        **_side("", after),
        **ratio_data(judgement.ratio),
        "p_value": judgement.p_value,
        "noise_source": judgement.noise_source,
        "noise_basis": judgement.noise,
        "interleaved": judgement.case.paired if judgement.case else None,
        "launches_needed": judgement.launches_needed,
        "changes": None if judgement.changes is None else list(judgement.changes),
        "steps": [_step(step) for step in judgement.steps],
        "history": [finite(value) for value in judgement.values],
    }


def _side(prefix: str, side: LaunchedResult | None) -> dict[str, Any]:
    facts: Mapping[str, Any] = side.facts if side else {}
    return {
        f"{prefix}value": finite(side.value) if side else None,
        f"{prefix}geometric_mean": side.geometric_mean if side else None,
        f"{prefix}launches": len(side.launches) if side else None,
        f"{prefix}grade": facts.get("grade"),
        f"{prefix}marks": list(side.marks) if side else [],
        f"{prefix}run_id": facts.get("run_id"),
        f"{prefix}measured_at": facts.get("measured_at"),
        f"{prefix}git_commit": facts.get("git_commit"),
        f"{prefix}image_digest": facts.get("image_digest"),
        f"{prefix}hostname": facts.get("hostname"),
    }


def ratio_data(ratio: Estimate | None) -> dict[str, float | None]:
    """A ratio and the ends of its interval under their names in files."""
    return {
        "ratio": finite(ratio.value) if ratio else None,
        "ratio_low": finite(ratio.low) if ratio else None,
        "ratio_high": finite(ratio.high) if ratio else None,
    }


def _step(step: LevelStep) -> dict[str, Any]:
    return {
        "run_id": step.run_id,
        "measured_at": step.date,
        "git_commit": step.first.git_commit,
        **ratio_data(step.ratio),
        "accepted": step.accepted,
    }
