"""The hosts of a fleet, and what each has and lacks, as tables or as JSON."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from analysis.results.table import Field, wrapping
from orchestrator.commands.fleet.status import FleetDiagnosis, HostStatus
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import format_age
from runner.contract.cell import Backend

_COLUMNS = (
    Field("host", essential=True),
    Field("state", essential=True),
    Field("class"),
    Field("hardware", wraps=True),
    Field("busy with", wraps=True),
    Field("lost orders", right=True),
    Field("labels", wraps=True),
    Field("last beat"),
    Field("transport"),
    Field("version"),
    Field("python"),
    Field("images", wraps=True),
)
_DIGEST_LETTERS = 12

_HAVE: tuple[str | Field, ...] = ("host", Field("measures", wraps=True, essential=True))
_LACK: tuple[str | Field, ...] = (
    "host",
    *wrapping("backend"),
    Field("lacks", wraps=True),
    Field("remedy", wraps=True),
)


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


def print_diagnosis(diagnosis: FleetDiagnosis, *, as_json: bool) -> None:
    """Print the backends of each host, what is missing, and the way to it."""
    if as_json:
        print_json({"runs": diagnosis.runs, "lacks": [asdict(row) for row in diagnosis.lacks]})
        return
    if diagnosis.runs:
        print_lines(_HAVE, [[host, ", ".join(runs)] for host, runs in diagnosis.runs.items()])
        print_line()
    if diagnosis.lacks:
        rows = [[row.host, row.backend, row.reason, row.remedy] for row in diagnosis.lacks]
        print_lines(_LACK, rows)
