"""Verdicts of verified cells for tests, with values that a test may change."""

from datetime import date
from typing import Any

from orchestrator.app.measure.verification import Verification, VerifiedCell


def a_cell(mark: str = "ok", reason: str | None = None, **changes: Any) -> VerifiedCell:
    """A cell of bert-micro on the CPU's torch."""
    values = {
        "cell_id": "x",
        "model": "bert-micro",
        "backend": "cpu",
        "runtime": "torch",
        "precision": "fp32",
        "mode": "inference",
        "mark": mark,
        "reason": reason,
        "device": "AMD EPYC",
    }
    return VerifiedCell.model_validate(values | changes)


def a_verification(*cells: VerifiedCell, **changes: Any) -> Verification:
    """What one run found of these cells."""
    values: dict[str, Any] = {
        "verified_on": date(2026, 11, 21),
        "command": "orchestrator verify",
        "version": "0.1.0",
        "git_commit": None,
        "launcher": "process",
        "machine": "AMD EPYC",
        "operating_system": "Debian 12",
        "libraries": {},
        "cells": cells,
    }
    return Verification(**values | changes)
