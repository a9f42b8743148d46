"""Words of the codes of a record, which a merge keeps beside them for questions in SQL."""

from typing import Any

from analysis.compatibility.verdicts import verdict_of
from analysis.results.source import OWN_SOURCES
from orchestrator.screen.words.doubts import doubt_text
from orchestrator.screen.words.reasons import MEASURE_HERE, reason_text, remedy_text
from runner.contract.reasons import Reason, reason_from
from runner.contract.record.record import Row
from runner.contract.record.verdict import Doubt


def record_words(row: Row) -> dict[str, Any]:
    ended = reason_from(row["reason_code"], row["reason_facts"])
    differs = reason_from(row["correct_code"], row["correct_facts"])
    doubts = row["doubts"]
    return {
        "reason": ended and reason_text(ended),
        "remedy": _remedy(row, ended or differs),
        "correct_reason": differs and reason_text(differs),
        "grade_reasons": doubts and [doubt_text(Doubt(**doubt)) for doubt in doubts],
    }


def _remedy(row: Row, explanation: Reason | None) -> str | None:
    verdict = verdict_of(row["status"], row["proof"], row["correct"])
    if row["source"] not in OWN_SOURCES:
        return MEASURE_HERE if verdict == "wrong" or row["status"] != "ok" else None
    is_unchecked = verdict == "unverified" and explanation is None
    return None if is_unchecked else remedy_text(verdict, explanation)
