"""The hosts that a command chooses of a fleet."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    address: str | None = None
    """The head of a Ray cluster; None for the fleet that was made or joined here."""
    token_file: Path | None = None
    """The cluster's token; None for the fleet's own."""

    @property
    def needs_ray(self) -> bool:
        """True if there must be a Ray cluster: one is named, or nothing else is."""
        return self.hosts_file is None or self.address is not None or self.token_file is not None

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
        placement = self.placement or use.placement
        return replace(self, globs=self.globs or use.hosts, placement=placement)

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
