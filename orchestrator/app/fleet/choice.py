"""The hosts that a command chooses of a fleet."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.matrix import FleetPlacement, FleetUse
from runner.contract.errors import UsageError


@dataclass(frozen=True)
class FleetChoice:
    """Hosts, and the placement of cells on them, as options name them."""

    hosts_file: Path | None = None
    """The file with hosts that ssh or Slurm reach; None for those of Ray alone."""
    globs: tuple[str, ...] = ()
    """Globs of names; empty for those of the matrix, or else all."""
    placement: FleetPlacement | None = None
    """The placement; None for that of the matrix."""

    @property
    def options(self) -> str:
        """The options that make the same choice, behind others of a command line."""
        words = ["--fleet"]
        if self.hosts_file is not None:
            words += ["--hosts-file", str(self.hosts_file)]
        words += [word for glob in self.globs for word in ("--hosts", glob)]
        return shlex.join(words)

    def within(self, use: FleetUse) -> "FleetChoice":
        """The choice, completed by what the matrix says."""
        globs = self.globs or use.hosts
        return FleetChoice(self.hosts_file, globs, self.placement or use.placement)

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Those of the fleet's hosts that the globs name.

        Raises:
            UsageError: a glob fits no host.
        """
        for glob in self.globs:
            if not any(fnmatchcase(name, glob) for name in names):
                known = ", ".join(sorted(names)) or "none is there"
                raise UsageError(f"--hosts: {glob!r} fits no host", hint=f"hosts: {known}")
        globs = self.globs or ("*",)
        return [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]
