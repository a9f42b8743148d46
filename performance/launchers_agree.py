"""Agreement of launchers: the latency of one cell by process and in a container.

Runs of both take turns, P D D P, so that the machine's drift affects them alike.
"""

import json
import statistics
import tempfile
from pathlib import Path

from orchestrator.images import ImageSettings, LocalImages
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.system.engine import connect_engine
from performance.jobs import run_jobs, write_matrix

PAIRS = 6
AXES = {"model": "bert-tiny", "backend": "cpu", "sequence_length": 128}


def main() -> None:
    """Measure and print."""
    client = connect_engine()
    process, container = (
        ProcessLauncher(),
        DockerLauncher(client, LocalImages(client, ImageSettings())),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = write_matrix(folder, AXES, measure={"profile": "quick"})
        pairs = [pair(process, container, matrix, folder, flip=bool(i % 2)) for i in range(PAIRS)]
    ratios = [inside / outside for outside, inside in pairs]
    for outside, inside in pairs:
        print(f"process {outside * 1e3:.2f} ms, container {inside * 1e3:.2f} ms")
    spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
    print(f"container by process  {statistics.median(ratios):.3f}, median of {PAIRS}; {spread}")
    data = {"measurement": "launchers_agree", "ratio": round(statistics.median(ratios), 3)}
    print(json.dumps(data | {"ratios": [round(ratio, 3) for ratio in ratios]}), flush=True)


def pair(
    process: Launcher, container: Launcher, matrix: Path, folder: Path, *, flip: bool
) -> tuple[float, float]:
    """Median latency by process and in a container, seconds, in one order or the other."""
    if flip:
        inside = median_s(container, matrix, folder)
        return median_s(process, matrix, folder), inside
    outside = median_s(process, matrix, folder)
    return outside, median_s(container, matrix, folder)


def median_s(launcher: Launcher, matrix: Path, folder: Path) -> float:
    """The cell's median latency in one run, seconds."""
    (record,) = run_jobs(matrix, folder / "results", launcher).sound_records().values()
    if record.latency_median_s is None:
        raise SystemExit(f"the cell was not timed: {record.ending}")
    return record.latency_median_s


if __name__ == "__main__":
    main()
