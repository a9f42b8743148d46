"""The words of a verdict, for those who need no model of a record."""

from collections.abc import Collection
from typing import Literal

Status = Literal["ok", "unsupported", "unavailable", "out_of_memory", "timeout", "failed", "lost"]
RETRIED: Collection[Status] = ("unavailable", "lost")
"""Verdicts that say a cell never had its chance: resuming a run tries again, and any other verdict
outweighs them, whatever the clocks say."""
Proof = Literal["proven", "partial", "contradicted", "none"]
Phase = Literal["plan", "load", "first", "warmup", "steady", "observe", "verify"]
Grade = Literal["A", "B", "C", "D"]
