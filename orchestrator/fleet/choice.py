"""The hosts that a command chooses of a fleet."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.system.options import choice, split_words
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.matrix import FleetUse

_Placement = Literal["any", "every"]


@dataclass(frozen=True, kw_only=True)
class FleetHosts:
    """The options that choose hosts of a fleet."""

    fleet: Annotated[
        bool, typer.Option("--fleet", help="Measure on the hosts of a fleet, not here.")
    ] = False
    hosts_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hosts that ssh or Slurm reach, as YAML.")
    ] = None
    hosts: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOBS", help="Only hosts of such names.", callback=split_words),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The head of a Ray cluster.  [default: $RAY_ADDRESS]"),
    ] = None
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="That cluster's token.  [default: Ray's own rules]"),
    ] = None

    @property
    def on_fleet(self) -> bool:
        others = (self.hosts_file, self.hosts, self.address, self.token_file)
        return self.fleet or any(option is not None for option in others)

    @property
    def fleet_options(self) -> str:
        """The options that make the same choice, behind others of a command line."""
        given = {
            "--hosts-file": self.hosts_file,
            "--address": self.address,
            "--token-file": self.token_file,
        }
        pairs = [(name, str(value)) for name, value in given.items() if value is not None]
        pairs += [("--hosts", glob) for glob in self.hosts or ()]
        return shlex.join(["--fleet", *(word for pair in pairs for word in pair)])

    def placed(
        self, placement: _Placement | None = None, hosts: list[str] | None = None
    ) -> "FleetChoice":
        """The same hosts, or those of other globs, with a placement of cells on them."""
        return FleetChoice(
            fleet=self.fleet,
            hosts_file=self.hosts_file,
            hosts=hosts or self.hosts,
            address=self.address,
            token_file=self.token_file,
            placement=placement,
        )

    def chosen_hosts(self, names: Sequence[str]) -> list[str]:
        """Those of the fleet's hosts that the globs name."""
        for glob in self.hosts or ():
            if not any(fnmatchcase(name, glob) for name in names):
                known = ", ".join(sorted(names)) or "none is there"
                raise UsageError(f"--hosts: {glob!r} fits no host", hint=f"hosts: {known}")
        globs = self.hosts or ["*"]
        return [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]


@dataclass(frozen=True, kw_only=True)
class FleetChoice(FleetHosts):
    """Those, and the placement of cells on the classes of hosts."""

    placement: Annotated[
        _Placement | None,
        choice(
            _Placement,
            "--placement",
            help="Each cell once, or on every class of hosts.  [default: any]",
        ),
    ] = None

    @property
    def on_fleet(self) -> bool:
        return super().on_fleet or self.placement is not None

    def within(self, use: "FleetUse") -> "FleetChoice":
        return self.placed(self.placement or use.placement, self.hosts or list(use.hosts))
