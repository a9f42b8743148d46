"""Sentences about a comparison: what differs beside it, and what its intervals are over."""

from typing import Any

import pytest

from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy
from analysis.compare.values import MACHINE_KEY, MetricValue, Replication
from analysis.results.metrics import METRICS
from orchestrator.commands.compare.words import basis_text, comparison_notes

_FACTS = {"source": "accelmatrix", "proof": "proven", "correct": True, "grade": "B"}
_HEATED = "heating in seconds none, now 60"


def a_row(
    name: str, basis: Replication | None = None, settings: tuple[str, ...] = ()
) -> ComparedValue:
    """A result as fast as the baseline, about which nothing can be told."""
    value = MetricValue(_FACTS | {MACHINE_KEY: "host-1"}, 1.0, None, basis)
    facts: dict[str, Any] = {"interval": None, "differs": None, "scaling_efficiency": None}
    return ComparedValue(
        name, value, 1.0, speedup=1.0, more_is_better=False, settings=settings, **facts
    )


def notes_of(*rows: ComparedValue) -> str:
    """The notes on these rows, each beside a baseline of its own."""
    groups = [ComparedGroup({}, "torch", (a_row("torch"), row), 0) for row in rows]
    comparison = ComparisonBy("runtime", METRICS["latency"], tuple(groups), 0)
    return "\n".join(comparison_notes(comparison))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ([(_HEATED,)], f"{_HEATED}."),
        ([(), (_HEATED,), (_HEATED,)], f"{_HEATED} (2 of 3 comparisons)."),
    ],
)
def test_settings_that_differ_are_named_once_with_their_comparisons(
    settings: list[tuple[str, ...]], told: str
) -> None:
    notes = notes_of(*(a_row("onnxruntime", settings=words) for words in settings))
    assert f"Settings differ beside the runtime: {told}" in notes.splitlines()


@pytest.mark.parametrize(
    ("bases", "told"),
    [
        ([Replication(False, 3), Replication(False, 5)], "Intervals are over 3 to 5 processes."),
        (
            [Replication(False, 1, "default", 0.053)],
            "Results of one process hold a default spread of processes:"
            " `orchestrator doctor --calibrate` measures this host's, `--profile standard` takes"
            " several processes.",
        ),
    ],
)
def test_the_replication_behind_the_intervals_is_told(bases: list[Replication], told: str) -> None:
    notes = notes_of(*(a_row("onnxruntime", basis) for basis in bases))
    assert told in notes.splitlines()


def test_a_basis_in_words() -> None:
    bases = (
        *(
            None,
            Replication(False, 5),
            Replication(True, 1),
            Replication(False, 1, "default", 0.053),
        ),
        Replication(True, 1, "calibrated", 0.06, in_queue=True),
    )
    assert [basis_text(basis) for basis in bases] == [
        None,
        "5 processes",
        "1 round of starts alone",
        "1 process and the default spread of 5.3 %",
        "1 round of starts and a calibrated spread of 6 % in this queue",
    ]
