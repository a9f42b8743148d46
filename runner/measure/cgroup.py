"""Limits of the control group that this process lives in, versions 1 and 2."""

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
UNLIMITED = 1 << 60


def memory_limit_bytes(root: Path = ROOT) -> int | None:
    """The memory limit in bytes, or None where there is none."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _read(root / name)
        if text is not None and text != "max" and int(text) < UNLIMITED:
            return int(text)
    return None


def cpu_limit(root: Path = ROOT) -> float | None:
    """The CPU quota in cores, or None where there is none."""
    quota, period = _quota_and_period(root)
    if quota is None or period is None or quota in ("max", "-1"):
        return None
    return int(quota) / int(period)


def _quota_and_period(root: Path) -> tuple[str | None, str | None]:
    unified = _read(root / "cpu.max")
    if unified is not None:
        quota, period = unified.split()
        return quota, period
    return _read(root / "cpu/cpu.cfs_quota_us"), _read(root / "cpu/cpu.cfs_period_us")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
