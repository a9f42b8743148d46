"""Verdicts: the one word for a result, by its status, its proof and whether its outputs agree."""

from collections.abc import Mapping

from analysis.results.selection import OF_A_DEVICE

MEANINGS: Mapping[str, str] = {
    "ok": "works on the claimed device, and its outputs agree with the fp32 CPU reference",
    "verified only": "the same, as `orchestrator verify` checks it, and nothing was timed",
    "unverified": "works, but its outputs could not be compared",
    "partial": "agrees, but only a part of the work is proven to be the claimed device's",
    "unproven": "agrees, but nothing proves which device did the work",
    "contradicted": "answers, but another device than the claimed one did the work",
    "wrong": "works, but its outputs do not agree",
}
"""Meaning of the verdicts that are no status, the best first."""
BEST_FIRST = (
    *MEANINGS,
    *("out_of_memory", "timeout", "failed", "lost", "unavailable", "unsupported"),
)
"""All verdicts, from the best to the least."""
_CONDITIONS: Mapping[str, str] = {
    "contradicted": "proof = 'contradicted'",
    "unverified": "correct IS NULL",
    "wrong": "NOT correct",
    "unproven": "proof = 'none'",
    "partial": "proof = 'partial'",
}
"""Conditions on results that ended well; the first that holds decides."""


def verdict_of(status: str, proof: str, correct: bool | None) -> str:
    """The verdict on a result, whether or not it was timed."""
    if status != "ok":
        return status
    if proof == "contradicted":
        return proof
    if correct is None:
        return "unverified"
    if not correct:
        return "wrong"
    return {"proven": "ok", "none": "unproven"}.get(proof, proof)


def verdict_sql(timed: str) -> str:
    """The verdict in SQL, from the columns `status`, `proof`, `correct` and `software_device`.

    Times of software in a device's place do not count as such.

    Args:
        timed: the condition under which a result was timed.
    """
    whens = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in _CONDITIONS.items())
    ok = f"CASE WHEN ({timed}) AND {OF_A_DEVICE} THEN 'ok' ELSE 'verified only' END"
    return f"CASE WHEN status <> 'ok' THEN status {whens} ELSE {ok} END"
