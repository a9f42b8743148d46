"""Candidates: cells on machines, of which one is to be chosen, and why others are left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from analysis.results.series import ASKED_THREADS
from runner.contract.axes import AXIS_NAMES, AxisName
from runner.contract.cell import Cell

CHOSEN_AXES: tuple[AxisName, ...] = (
    *("backend", "runtime", "precision", "batch_size"),
    "training_precision",
)
"""The axes that a recommendation chooses; the others are the question."""
ObjectionKind: TypeAlias = Literal[
    "unsupported",
    "wrong",
    "failed",
    "out_of_memory",
    "does_not_fit",
    "fit_unknown",
    "too_slow",
    "slo_unknown",
    "no_price",
    "other_scope",
    "not_known",
    "smaller",
]
"""The kind of a reason against a candidate."""
OBJECTIONS: Mapping[ObjectionKind, str] = {
    "wrong": "outputs or device not right, as measured",
    "failed": "failed, as measured",
    "out_of_memory": "out of memory, as measured",
    "does_not_fit": "does not fit",
    "fit_unknown": "not known whether it fits",
    "too_slow": "too slow",
    "slo_unknown": "not known whether fast enough",
    "no_price": "no price",
    "other_scope": "another energy scope",
    "smaller": "a larger batch fits",
    "not_known": "neither measured nor predicted",
    "unsupported": "not supported",
}
"""The kinds of reasons in words, those first that measurements or limits tell."""
CellKey: TypeAlias = tuple[Any, ...]
_UNSAID: Mapping[str, str] = {"mode": "inference", "scenario": "single_stream"}


@dataclass(frozen=True)
class CandidateMachine:
    """A machine that candidates may run on."""

    key: str
    """The id of the machine with its device; the device's name where nobody knows one."""
    name: str
    """The device's name."""
    backends: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    hostname: str | None = None
    """One of these names."""


@dataclass(frozen=True)
class Candidate:
    """A cell on a machine."""

    cell: Cell
    machine: CandidateMachine


@dataclass(frozen=True)
class Objection:
    """A reason against a candidate."""

    kind: ObjectionKind
    reason: str
    """A sentence without a full stop; it tells by how much, where there is a number."""


def key_of_cell(cell: Cell) -> CellKey:
    """The values of all axes, by which results of this cell are recognised."""
    return tuple(getattr(cell, name) for name in AXIS_NAMES)


def key_of_facts(facts: Mapping[str, Any]) -> CellKey:
    """The same of a result, from its columns; `asked_threads` are those that its cell names.

    Imported files that tell neither mode nor scenario mean forward passes, one after the other.
    """
    names = (ASKED_THREADS if name == "threads" else name for name in AXIS_NAMES)
    return tuple(facts[name] or _UNSAID.get(name) for name in names)


def question_of(cell: Cell) -> CellKey:
    """The values of the axes that are asked about: candidates with the same ones compete."""
    return tuple(getattr(cell, name) for name in AXIS_NAMES if name not in CHOSEN_AXES)


def path_of(candidate: Candidate) -> tuple[str, str, str, str]:
    """Everything that is chosen but for the batch: machine, backend, runtime and precision."""
    cell = candidate.cell
    return (candidate.machine.key, cell.backend, cell.runtime, cell.precision)
