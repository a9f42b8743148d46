"""The heads and hosts that this user started on this machine, kept in files of mode 600."""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from orchestrator.images.trust import STATE_VARIABLE
from orchestrator.system.files import translate_os_errors
from runner.contract.errors import Unavailable

_TOKEN_NAME = "token"  # noqa: S105 - the name of its file
_TOKEN_BYTES = 32
_LEAST_TOKEN = 16


@dataclass(frozen=True)
class StartedProcess:
    """A process, which its pid alone does not identify."""

    pid: int
    started_s: float
    """Seconds since 1970 at which it began."""


@dataclass(frozen=True)
class Membership:
    """A head or a host that was started here."""

    kind: Literal["head", "host"]
    name: str
    """The host's name; of a head that measures nothing, `head`."""
    address: str
    """The head's address and port."""
    token_file: str
    owner: str
    """The word that marks its processes."""
    processes: tuple[StartedProcess, ...] = ()


@dataclass(frozen=True)
class StateFolder:
    """The folder with the user's memberships and the token."""

    path: Path

    @classmethod
    def of_user(cls, environment: Mapping[str, str]) -> "StateFolder":
        """The folder that belongs to this user.

        Raises:
            Unavailable: the user has no home.
        """
        if folder := environment.get(STATE_VARIABLE):
            return cls(Path(folder).absolute() / "fleet")
        if base := environment.get("XDG_STATE_HOME"):
            return cls(Path(base).absolute() / "accelmatrix" / "fleet")
        if home := environment.get("HOME"):
            return cls(Path(home).absolute() / ".local/state/accelmatrix/fleet")
        raise Unavailable(
            "a fleet's token needs a folder of yours, and HOME is not set",
            hint=f"set HOME, or {STATE_VARIABLE} to a folder",
        )

    @property
    def token_file(self) -> Path:
        """The file with the token of the head that is made here."""
        return self.path / _TOKEN_NAME

    @property
    def journal(self) -> Path:
        """The folder with what this user's drivers know of hosts."""
        return self.path / "journal"

    def make_token(self) -> Path:
        """The token's file, made at the first call and kept.

        Raises:
            StoreError: it cannot be written.
        """
        with translate_os_errors(self.token_file):
            if not self.token_file.exists():
                self._write(_TOKEN_NAME, f"{secrets.token_hex(_TOKEN_BYTES)}\n")
            self.token_file.chmod(0o600)
        return self.token_file

    def memberships(self) -> list[Membership]:
        """Heads and hosts that were started here and not ended by us."""
        files = sorted(self.path.glob("*.json"))
        return [member for file in files if (member := _read(file)) is not None]

    def head(self) -> Membership | None:
        """The head that was started here."""
        return next((member for member in self.memberships() if member.kind == "head"), None)

    def hosts(self) -> list[Membership]:
        """The hosts that were started here."""
        return [member for member in self.memberships() if member.kind == "host"]

    def save(self, membership: Membership) -> None:
        """Keep a membership.

        Raises:
            StoreError: it cannot be written.
        """
        file = _file_name(membership)
        with translate_os_errors(self.path / file):
            self._write(file, json.dumps(asdict(membership), indent=2))

    def forget(self, membership: Membership) -> None:
        """Drop a membership that was ended."""
        (self.path / _file_name(membership)).unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        """Write a file that nobody else could read at any moment."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self.path / f".{name}.{os.getpid()}"
        with suppress(FileNotFoundError):
            unfinished.unlink()
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        unfinished.replace(self.path / name)


def require_token(path: Path) -> Path:
    """The token's file, if it holds one that nobody else can read.

    Raises:
        Unavailable: there is none, it is too short, or others can read it.
    """
    try:
        text, mode = path.read_text("utf-8").strip(), path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise Unavailable(
            f"the token's file {path} cannot be read: {reason}",
            hint="copy the file that `orchestrator fleet up` names from the head's machine",
        ) from error
    if len(text) < _LEAST_TOKEN or len(text.split()) != 1:
        raise Unavailable(
            f"the token's file {path} holds no token of at least {_LEAST_TOKEN} letters",
            hint="copy the file that `orchestrator fleet up` names from the head's machine",
        )
    if mode & 0o077:
        raise Unavailable(
            f"the token's file {path} can be read by others (mode {mode & 0o777:o})",
            hint=f"whoever holds it executes code on every host: `chmod 600 {path}`",
        )
    return path.absolute()


def _file_name(membership: Membership) -> str:
    return "head.json" if membership.kind == "head" else f"host-{membership.name}.json"


def _read(file: Path) -> Membership | None:
    """The membership in a file; None for one that is damaged or not this user's."""
    try:
        if file.stat().st_uid != os.getuid():
            return None
        content = json.loads(file.read_text("utf-8"))
        processes = tuple(StartedProcess(**item) for item in content.pop("processes"))
        return Membership(**content, processes=processes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def known_member(state: StateFolder) -> Membership | None:
    """The head that was made here, else a host that joined here; None if there is neither."""
    return state.head() or next(iter(state.hosts()), None)


def require_member(state: StateFolder) -> Membership:
    """The same, where there must be one.

    Raises:
        Unavailable: there is none.
    """
    if (member := known_member(state)) is not None:
        return member
    raise Unavailable(
        "no fleet is known here",
        hint="`orchestrator fleet up` makes one; `fleet status --address` shows another",
    )
