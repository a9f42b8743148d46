"""`fleet`: one matrix over many machines: its hosts, what they lack, the program on a host."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from analysis.results.table import Field, wrapping
from orchestrator.commands.fleet.hosts import HostDiagnosis, HostStatus
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import CommandGroup, Program
from orchestrator.fleet.choice import FleetHosts
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.options import Json, Wide, split_words
from orchestrator.system.text import format_age
from runner.contract.axes import Backend

_COLUMNS: tuple[str | Field, ...] = (
    Field("host", essential=True),
    Field("state", essential=True),
    "class",
    *wrapping("hardware", "busy with"),
    Field("lost orders", right=True),
    *wrapping("labels"),
    *("last beat", "transport", "version", "python"),
    *wrapping("images"),
)
_DIGEST_LETTERS = 12

_HAVE: tuple[str | Field, ...] = ("host", Field("measures", wraps=True, essential=True))
_LACK: tuple[str | Field, ...] = ("host", *wrapping("backend", "lacks", "remedy"))


def print_hosts(
    statuses: Sequence[HostStatus], *, wide: bool = False, as_json: bool, again: bool = False
) -> None:
    """One row a host, and below the reasons of those that did not answer."""
    if as_json:
        print_json([_data(status) for status in statuses], indent=None if again else 2)
        return
    if again:
        print_line()
    if not statuses:
        print_line("no host has joined; `ray start --address=ADDRESS` on a machine makes it one")
        return
    print_lines(_COLUMNS, [_row(status) for status in statuses], wide=wide)
    for status in statuses:
        if status.state == "silent":
            print_line(f"{status.problem}" + (f"; {status.hint}" if status.hint else ""))
        if status.lost:
            print_line(f"{status.host.name} lost an order: {status.lost[-1].reason}")
    free = sum(status.state == "free" for status in statuses)
    print_line(f"Free: {free} of {len(statuses)}.")


def _row(status: HostStatus) -> Sequence[object]:
    facts, host = status.facts, status.host
    return (
        host.name,
        status.state,
        facts and facts.class_id,
        facts and facts.description,
        ": ".join(filter(None, (status.busy_with, status.work))) or None,
        len(status.lost) or None,
        ", ".join(f"{key}={text}" for key, text in sorted(host.labels.items())) or None,
        None if status.beat_s is None else format_age(max(0.0, time.time() - status.beat_s)),
        host.transport,
        facts and facts.version,
        facts and facts.python,
        facts and (_images(facts.images) or None),
    )


def _images(images: Mapping[Backend, str]) -> str:
    pairs = sorted(images.items())
    return ", ".join(
        f"{backend} {digest.removeprefix('sha256:')[:_DIGEST_LETTERS]}" for backend, digest in pairs
    )


def _data(status: HostStatus) -> dict[str, object]:
    facts = status.facts
    return {
        "name": status.host.name,
        "transport": status.host.transport,
        "state": status.state,
        "labels": status.host.labels,
        "busy_with": status.busy_with,
        "work": status.work,
        "lost_orders": [order.model_dump() for order in status.lost],
        "last_beat_s": status.beat_s,
        "class": facts and facts.class_id,
        "facts": facts and facts.model_dump(mode="json"),
        "problem": status.problem,
    }


def print_diagnosis(
    runs: Mapping[str, Sequence[Backend]], lacks: Sequence[HostDiagnosis], *, as_json: bool
) -> None:
    if as_json:
        print_json({"runs": runs, "lacks": [asdict(row) for row in lacks]})
        return
    if runs:
        print_lines(_HAVE, [[host, ", ".join(backends)] for host, backends in runs.items()])
        print_line()
    if lacks:
        print_lines(_LACK, [[row.host, row.backend, row.reason, row.remedy] for row in lacks])


_WATCH_S = 5.0


@dataclass(frozen=True, kw_only=True)
class ExecuteCommand(Command):
    """Execute a driver's orders, from stdin; ssh, Slurm and Ray start this on a host."""

    def execute(self) -> int:
        # Unbuffered: Python aborts at its end while a thread waits with the lock of a buffer.
        from orchestrator.commands.fleet.host_program import serve_driver

        with (
            os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0) as stream,
            os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out,
        ):
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints, prints there
            return serve_driver(stream, out)


@dataclass(frozen=True, kw_only=True)
class DoctorOfFleet(FleetHosts, Command):
    """Show what each host can measure, what it lacks, and the command that mends it."""

    backend: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these backends.", callback=split_words),
    ] = None
    json: Json = False

    def execute(self) -> int:
        from orchestrator.backends.catalogue import known_backend, real_backends
        from orchestrator.commands.fleet.hosts import diagnose_fleet
        from runner.contract.errors import Unavailable

        backends = tuple(map(known_backend, self.backend or ())) or tuple(real_backends())
        runs, lacks = diagnose_fleet(self, backends)
        print_diagnosis(runs, lacks, as_json=self.json)
        return Unavailable.exit_code if any(row.backend is None for row in lacks) else 0


@dataclass(frozen=True, kw_only=True)
class StatusOfFleet(FleetHosts, Command):
    """Show every host: class, devices, free or busy with what, images, versions, last beat.

    Free hosts are asked what they are; a busy one is not, for that would disturb what it measures:
    what it answered last is shown. Lost orders are those of your own runs.
    """

    watch: Annotated[
        bool, typer.Option("--watch", help="Show them again every 5 seconds, until Ctrl-C.")
    ] = False
    wide: Wide = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.fleet.hosts import fleet_status, open_transports, own_journal

        journal = own_journal()
        with open_transports(self, exclusive=False) as transports:
            statuses = fleet_status(transports, self, journal)
            print_hosts(statuses, wide=self.wide, as_json=self.json)
            while self.watch:
                time.sleep(_WATCH_S)
                statuses = fleet_status(transports, self, journal)
                print_hosts(statuses, wide=self.wide, as_json=self.json, again=True)


class FleetGroup(CommandGroup):
    """A group that shows the hosts if no command is named."""

    alone = "status"


group = Program(help="Show the hosts of a fleet, and what they lack.", cls=FleetGroup)
group.command(name="status")(StatusOfFleet)
group.command(name="doctor")(DoctorOfFleet)
group.command(name="execute")(ExecuteCommand)
