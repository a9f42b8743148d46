"""Heads and hosts that were started or ended here."""

from orchestrator.commands.fleet.cluster import EndedMember, Started
from orchestrator.fleet.membership import Membership
from orchestrator.screen.lines import print_command, print_json, print_line
from orchestrator.system.text import plural


def print_started(started: Started, *, as_json: bool) -> None:
    """Say what runs now, and what a host runs to join it."""
    member = started.membership
    if as_json:
        print_json({**_facts(member), "join": started.join_line})
        return
    if started.join_line is None:
        print_line(f"host {member.name} has joined {member.address}")
        print_line("`orchestrator fleet leave` ends it.")
        return
    print_line(f"head {member.address} is up; each host runs, with a copy of the token's file:")
    print_command(started.join_line)
    if started.is_loopback:
        print_line("The line works on this machine alone: `--address` names an address for others.")
    print_line(
        "Ray listens on all interfaces of this machine, whatever the address: whoever reaches it "
        "and holds the token executes code here and on every host (docs/fleet-security.md)."
    )


def print_ended(ended: EndedMember, *, as_json: bool) -> None:
    """Say what was ended."""
    member, count = ended.membership, ended.processes
    if as_json:
        print_json({**_facts(member), "ended_processes": count})
    elif count:
        print_line(f"{member.kind} {member.name}: ended, {count} {plural(count, 'program')}")
    else:
        print_line(f"{member.kind} {member.name}: nothing of it ran any more")


def _facts(member: Membership) -> dict[str, object]:
    return {
        "kind": member.kind,
        "name": member.name,
        "address": member.address,
        "token_file": member.token_file,
        "pids": [process.pid for process in member.processes],
    }
