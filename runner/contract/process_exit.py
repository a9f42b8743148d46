"""Descriptions of a finished process: exit status and the end of its stderr."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO

TAIL_BYTES = 8192
VMSTAT = Path("/proc/vmstat")


def end_facts(code: int) -> dict[str, str]:
    """The signal of an exit status that is negative, or over 128 in containers; else the status."""
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return {"signal": signal.Signals(number).name}
    return {"exit_status": str(code)}


def tail_of(stream: IO[bytes]) -> str:
    """The end of what was written to a file; empty if it is closed."""
    if stream.closed:
        return ""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - TAIL_BYTES))
    return stream.read().decode("utf-8", "replace")


def last_line(text: str) -> str:
    """The last line of a text, usually what it is about; empty if there is none."""
    return next(iter(text.strip().splitlines()[-1:]), "")


def oom_kills(vmstat: Path = VMSTAT) -> int:
    """Times that the kernel has killed for memory since boot; 0 where it does not tell."""
    if not vmstat.exists():
        return 0
    counts = dict(line.split() for line in vmstat.read_text().splitlines())
    return int(counts.get("oom_kill", 0))
