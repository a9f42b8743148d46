"""Options of commands that measure on a fleet."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.program.groups import Command, with_option_group

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice


class PlacementChoice(StrEnum):
    """Placements of cells on the classes of a fleet's hosts."""

    any = "any"
    every = "every"


_HOSTS: Mapping[str, tuple[Any, object]] = {
    "fleet": (
        Annotated[bool, typer.Option("--fleet", help="Measure on the hosts of a fleet, not here.")],
        False,
    ),
    "hosts_file": (
        Annotated[
            Path | None,
            typer.Option(
                "--hosts-file", metavar="FILE", help="Hosts that ssh or Slurm reach, as YAML."
            ),
        ],
        None,
    ),
    "hosts": (
        Annotated[
            list[str] | None,
            typer.Option("--hosts", metavar="GLOB", help="Only hosts of such names. Repeatable."),
        ],
        None,
    ),
    "address": (
        Annotated[
            str | None,
            typer.Option(
                "--address",
                metavar="ADDRESS",
                help="The head of a Ray cluster.  [default: $RAY_ADDRESS]",
                show_default=False,
            ),
        ],
        None,
    ),
    "token_file": (
        Annotated[
            Path | None,
            typer.Option(
                "--token-file",
                metavar="FILE",
                help="That cluster's token.  [default: Ray's own rules]",
                show_default=False,
            ),
        ],
        None,
    ),
}
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    **_HOSTS,
    "placement": (
        Annotated[
            PlacementChoice | None,
            typer.Option(
                "--placement",
                metavar=options.one_of(PlacementChoice),
                help="Each cell once, or on every class of hosts.  [default: any]",
                show_default=False,
            ),
        ],
        None,
    ),
}


def with_fleet(command: Command) -> Command:
    """Give a command the options of a fleet, which it takes as its parameter `fleet`."""
    return with_option_group(command, "fleet", _OPTIONS, _fleet)


def with_hosts(command: Command) -> Command:
    """The same for a command that measures each cell once, whatever the hosts."""
    return with_option_group(command, "fleet", _HOSTS, _fleet)


def _fleet(chosen: dict[str, Any]) -> "FleetChoice | None":
    if not any(chosen.values()):
        return None
    from orchestrator.commands.fleet.hosts import FleetChoice

    placement = chosen.get("placement")
    return FleetChoice(
        chosen["hosts_file"],
        tuple(chosen["hosts"] or ()),
        placement and placement.value,
        chosen["address"],
        chosen["token_file"],
    )
