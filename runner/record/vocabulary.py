"""Words that a record may hold."""

from typing import Literal

Status = Literal["ok", "unsupported", "unavailable", "out_of_memory", "timeout", "failed", "lost"]
Proof = Literal["proven", "partial", "contradicted", "none"]
Phase = Literal["plan", "load", "first", "warmup", "steady", "observe", "verify"]
Grade = Literal["A", "B", "C", "D"]
