"""Measure all promises of a fleet, or those named: `python -m performance fleet overhead deaths`.

dispatch: the dispatcher simulated, 16 to 4096 hosts. overhead: the same jobs locally, by a pipe and
by ssh. deaths: a host that is cut off. killed: a driver that dies. spread: thirty jobs on three
hosts. together: drivers that share a device.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from performance.fleet.deaths import deaths, killed
from performance.fleet.dispatch import dispatch
from performance.fleet.figures import Figure, print_figures
from performance.fleet.makespans import overhead, spread, together

Section = Callable[[Path], list[Figure]]
SECTIONS: Mapping[str, Section] = {
    "dispatch": dispatch,
    "overhead": overhead,
    "deaths": deaths,
    "killed": killed,
    "spread": spread,
    "together": together,
}


def main(names: Sequence[str], sections: Mapping[str, Section] = SECTIONS) -> int:
    """Measure these sections, or all; 1 if a bar is missed, 2 for an unknown name."""
    if unknown := [name for name in names if name not in sections]:
        print(f"{' '.join(unknown)}: no section; there are {', '.join(sections)}")
        return 2
    missed = False
    for name in names or sections:
        print(f"-- {name}", flush=True)
        with TemporaryDirectory(prefix="fleet-", ignore_cleanup_errors=True) as folder:
            missed |= print_figures(name, sections[name](Path(folder)))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
