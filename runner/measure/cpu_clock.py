"""Clock of the CPUs around and during something that is timed, and how often heat held it down.

Frequencies are read ten times a second by a process of its own, which is started once, ahead of a
warm-up, and costs some 0.4 % of one core (the study `monitors`): of one that the job is
not pinned to, where the machine and the container's own set of CPUs have one to spare. Guests show
no frequencies, so there is no such process in them.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from runner.contract.host import SYS, read_cpus, read_word
from runner.contract.rounds import CpuClock

CLOCK_INTERVAL_S = 0.1
MOST_CPUS = 8  # CPUs whose frequency is read: cores at work on one operator have much the same
_HERTZ_PER_KHZ = 1000
_MS_PER_S = 1000
_HEATED = ("core", "package")
_COUNT, _TIME_MS = "throttle_count", "throttle_total_time_ms"
_Heat = Mapping[Path, int]  # counters of the kernel's since it has started, by their files
_BEGIN, _END = b"b", b"e"
_SAMPLER = f"""
import json, os, select, sys
paths = sys.argv[2:]
try:
    os.sched_setaffinity(0, json.loads(sys.argv[1]))
except OSError:
    pass
samples, running = [], False
while True:
    ready, _, _ = select.select([sys.stdin], [], [], {CLOCK_INTERVAL_S} if running else None)
    if ready:
        order = os.read(0, 1)
        if not order:
            break
        if order == {_END!r}:
            os.write(1, (json.dumps(samples) + "\\n").encode())
        samples, running = [], order == {_BEGIN!r}
    else:
        for path in paths:
            with open(path) as file:
                samples.append(int(file.read()))
"""
"""It begins to read anew at one byte on stdin, also after a cell that failed before its end, and
answers the other byte with what it has read. A container allows no CPU beyond its own set."""


CPUS = "devices/system/cpu"  # the folder of all CPUs, below the one of the system's settings
CLOCK_FILE = "cpu{}/cpufreq/scaling_cur_freq"  # the file with the clock of a CPU, in kHz, below it


class CpuClockMeter:
    """Reads clocks before, during and after; it never raises: an unknown clock spoils nothing."""

    def __init__(
        self, cpus: Collection[int], sys_folder: Path = SYS, *, pinned: bool = True
    ) -> None:
        """Without a job pinned to the CPUs only their heat is read: it is not known which work."""
        self._folder = sys_folder / CPUS
        self._cpus = sorted(cpus)
        names = (self._folder / CLOCK_FILE.format(cpu) for cpu in self._cpus)
        self._paths = [path for path in names if pinned and read_word(path)][:MOST_CPUS]
        self._others = sorted(set(read_cpus(self._folder / "online")) - set(cpus))
        self._sampler: subprocess.Popen[bytes] | None = None
        self._before_hz: float | None = None
        self._heat: _Heat = {}
        self._kept: list[int] = []

    def before(self) -> None:
        """Take the readings ahead of the warm-up, and start the process that reads later."""
        self._before_hz = self._read_hz()
        if self._paths and self._sampler is None:
            reader = [sys.executable, "-I", "-S", "-c", _SAMPLER, json.dumps(self._others)]
            with suppress(OSError):
                self._sampler = subprocess.Popen(
                    [*reader, *map(str, self._paths)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )

    def begin(self) -> None:
        self._heat, self._kept = self._read_heat(), []
        self.resume()

    def pause(self) -> None:
        """Read no clocks from here to `resume`: others work, and this process waits."""
        self._kept += self._samples()

    def resume(self) -> None:
        with suppress(OSError):
            self._signal(_BEGIN)

    def end(self) -> CpuClock | None:
        """End the readings; None where neither clocks nor heat are shown."""
        samples, after_hz = [*self._kept, *self._samples()], self._read_hz()
        heat = self._read_heat()
        events, time_ms = (_most_grown(self._heat, heat, name) for name in (_COUNT, _TIME_MS))
        if self._before_hz is None and events is None:
            return None
        return CpuClock(
            before_hz=self._before_hz,
            mean_hz=statistics.fmean(samples) * _HERTZ_PER_KHZ if samples else None,
            low_hz=min(samples) * _HERTZ_PER_KHZ if samples else None,
            after_hz=after_hz,
            throttle_events=events,
            throttled_s=None if time_ms is None else time_ms / _MS_PER_S,
        )

    def close(self) -> None:
        if self._sampler is not None:
            self._sampler.kill()
            self._sampler.communicate()
            self._sampler = None

    def _signal(self, order: bytes) -> None:
        if self._sampler is not None and self._sampler.stdin is not None:
            self._sampler.stdin.write(order)
            self._sampler.stdin.flush()

    def _samples(self) -> list[int]:
        try:
            self._signal(_END)
            stdout = self._sampler and self._sampler.stdout
            return [int(value) for value in json.loads(stdout.readline())] if stdout else []
        except (OSError, ValueError):
            self.close()
            return []

    def _read_hz(self) -> float | None:
        words = [word for path in self._paths if (word := read_word(path))]
        return statistics.fmean(map(int, words)) * _HERTZ_PER_KHZ if words else None

    def _read_heat(self) -> _Heat:
        """The counters of heat that has held CPUs and their packages down so far; Intel's."""
        folders = [self._folder / f"cpu{cpu}" / "thermal_throttle" for cpu in self._cpus]
        names = [f"{part}_{counter}" for part in _HEATED for counter in (_COUNT, _TIME_MS)]
        paths = [folder / name for folder in folders for name in names]
        return {path: int(word) for path in paths if (word := read_word(path))}


def _most_grown(before: _Heat, after: _Heat, name: str) -> int | None:
    """The greatest growth of a counter of that name: many are held down at the same time."""
    paths = [path for path in before.keys() & after.keys() if path.name.endswith(name)]
    return max((after[path] - before[path] for path in paths), default=None)
