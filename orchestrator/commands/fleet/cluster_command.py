"""`fleet up`, `join`, `leave`, `down`: a Ray cluster of one's own machines."""

import os
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.program.command import Command
from orchestrator.fleet.transports.ray_settings import USUAL_PORT
from orchestrator.system.options import Json
from runner.contract.errors import UsageError

_WORD = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Its name in the fleet."),
]
_Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="KEY=VALUE", help="A word by which users choose hosts; repeatable."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Up(Command):
    """Start a fleet's head on this machine, and print the line that each host runs.

    With --name, this machine is a host as well. Whoever holds the token that is made here executes
    code on every host: docs/fleet-security.md.
    """

    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="This machine's address for the others.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Its port.")] = (
        USUAL_PORT
    )
    name: _NameOption = None
    label: _Labels = None
    json: Json = False

    def execute(self) -> None:
        """Start the head."""
        labels = _parsed_labels(self.label)
        _require_word("--name", self.name)
        if labels and self.name is None:
            raise UsageError("--label: a head without a name is no host", hint="add `--name NAME`")
        from orchestrator.commands.fleet.cluster import start_head
        from orchestrator.commands.fleet.cluster_words import print_started
        from orchestrator.fleet.membership import StateFolder

        state = StateFolder.of_user(os.environ)
        started = start_head(state, self.address, self.port, self.name, labels)
        print_started(started, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class Join(Command):
    """Make this machine a host of a fleet."""

    head: Annotated[str, typer.Argument(metavar="ADDRESS", help="The head's address and port.")]
    token_file: Annotated[
        Path,
        typer.Option("--token-file", metavar="FILE", help="The head's token, with mode 600."),
    ]
    name: _NameOption = None
    label: _Labels = None
    json: Json = False

    def execute(self) -> None:
        """Join the fleet."""
        labels = _parsed_labels(self.label)
        name = self.name if self.name is not None else _host_name()
        _require_word("--name", name)
        from orchestrator.commands.fleet.cluster import join_head
        from orchestrator.commands.fleet.cluster_words import print_started
        from orchestrator.fleet.membership import StateFolder

        state = StateFolder.of_user(os.environ)
        joined = join_head(state, self.head, self.token_file, name, labels)
        print_started(joined, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class Leave(Command):
    """End what `fleet join` started on this machine, and nothing else."""

    name: _NameOption = None
    json: Json = False

    def execute(self) -> None:
        """Leave the fleet."""
        from orchestrator.commands.fleet.cluster import leave_fleet
        from orchestrator.commands.fleet.cluster_words import print_ended
        from orchestrator.fleet.membership import StateFolder

        ended = leave_fleet(StateFolder.of_user(os.environ), self.name)
        print_ended(ended, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class Down(Command):
    """End what `fleet up` started on this machine, and nothing else."""

    json: Json = False

    def execute(self) -> None:
        """End the head."""
        from orchestrator.commands.fleet.cluster import end_head
        from orchestrator.commands.fleet.cluster_words import print_ended
        from orchestrator.fleet.membership import StateFolder

        print_ended(end_head(StateFolder.of_user(os.environ)), as_json=self.json)


def _parsed_labels(texts: Sequence[str] | None) -> dict[str, str]:
    """Labels by key.

    Raises:
        UsageError: one of them is no pair of words.
    """
    labels: dict[str, str] = {}
    for text in texts or ():
        key, _, value = text.partition("=")
        if not (_WORD.fullmatch(key) and _WORD.fullmatch(value)):
            raise UsageError(
                f"--label: {text!r} is no KEY=VALUE of letters, digits, `-`, `_` and `.`",
                hint="e.g. `--label room=lab2`",
            )
        if key in labels:
            raise UsageError(f"--label: {key} is given twice", hint="leave one of them out")
        if key.startswith("accelmatrix"):
            raise UsageError(f"--label: {key} is a label of ours", hint="choose another key")
        labels[key] = value
    return labels


def _require_word(option: str, text: str | None) -> None:
    if text is not None and not _WORD.fullmatch(text):
        raise UsageError(
            f"{option}: {text!r} is no name of at most 63 letters, digits, `-`, `_` and `.`",
            hint="a name begins and ends with a letter or digit",
        )


def _host_name() -> str:
    return socket.gethostname().partition(".")[0]
