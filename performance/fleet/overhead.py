"""Seconds that a transport adds to a job, and those until a host's first one begins.

The same jobs of the fake backend are executed here, by a pipe, by ssh and by Ray, in turns. A job
lasts from its launch to the next one, so what an order costs between two of them is in it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from performance.fleet.commands import Command, Line, first_job_s, job_periods
from performance.fleet.figures import Figure
from performance.fleet.ways import every_way

JOBS = 6
"""Jobs of a run, each an order of its own."""
TURNS = 2
ADDED_S = 0.5
"""Most seconds that a transport may add to a job."""
FIRST_S = 5.0
"""Most seconds from the end of planning to a host's first job."""
LATENCY_S = 0.1


def overhead(folder: Path) -> list[Figure]:
    """Run the same matrix by each way in turns."""
    runs: dict[str, list[Sequence[Line]]] = {}
    with every_way(folder) as ways:
        for turn in range(TURNS):
            for way in ways:
                user = way.user(folder / f"user-{way.name}-{turn}")
                user.write_matrix(models=JOBS, batch_sizes=[1], latency_s=LATENCY_S)
                runs.setdefault(way.name, []).append(Command(user, *way.run()).end())
    return overhead_figures(runs)


def overhead_figures(runs: Mapping[str, Sequence[Sequence[Line]]]) -> list[Figure]:
    """The figures of runs by their ways; `local` is what the others are compared with."""
    periods = {
        name: median(period for lines in of_way for period in job_periods(lines))
        for name, of_way in runs.items()
    }
    here = periods.pop("local")
    figures = [Figure("a job, locally", here, "s")]
    for name, period in periods.items():
        figures.append(Figure(f"{name}: added to a job", period - here, "s", ADDED_S))
        figures.append(Figure(f"{name}: a job / the same locally", period / here, ""))
        first = median(map(first_job_s, runs[name]))
        figures.append(Figure(f"{name}: until the first job on a host", first, "s", FIRST_S))
    return figures
