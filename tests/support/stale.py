"""Stale groups for tests, with values that a test may change."""

from typing import Any

from orchestrator.store import Stale
from tests.support.records import RECORDED_AT

_AXES: dict[str, tuple[Any, ...]] = {
    "model": ("bert-tiny", "gpt2"),
    "precision": ("fp32",),
    "mode": ("inference",),
    "scenario": ("single_stream",),
    "batch_size": (1, 8),
    "sequence_length": (128,),
}


def a_stale_group(*, axes: dict[str, tuple[Any, ...]] | None = None, **changes: Any) -> Stale:
    """Two cells that were measured with an older torch."""
    values: dict[str, Any] = {
        "hostname": "example-host",
        "backend": "cpu",
        "runtime": "torch",
        "launcher": "process",
        "changes": ("torch 2.12.0, now 2.13.0",),
        "cells": 2,
        "example": "cpu-bert-tiny-fp32-b1-s128-inference",
        "since": RECORDED_AT,
        "planned_by": "orchestrator run matrix.yaml",
        "axes": _AXES | (axes or {}),
    }
    return Stale(**values | changes)
