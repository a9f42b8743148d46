"""The journal of hosts, kept by drivers: last facts, work under way, orders that were lost.

A busy host is not asked, for that would disturb what it measures; its driver's journal tells.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil
from pydantic import Field

from orchestrator.fleet.host import HostFacts
from orchestrator.images.image import state_file
from runner.contract.cell import Frozen
from runner.contract.errors import DamagedFile, RecordNotSaved
from runner.contract.files import TEXT_BYTES, read_plain, save_text

_MOST_LOST = 20
"""Lost orders that are kept, the last ones."""
_CLOCK_S = 1.0
"""Seconds by which two readings of a process's start may differ."""


class LostOrder(Frozen):
    """An order that a host did not end."""

    at_s: float
    """Seconds since 1970."""
    reason: str


class HostMemory(Frozen):
    """Facts and work of one host, as far as they are known."""

    facts: HostFacts | None = None
    """Its last answer."""
    asked_s: float | None = None
    """Seconds since 1970 at which it gave that."""
    work: str | None = None
    """The run and unit that a driver of this user's began there last."""
    driver: int | None = None
    """The process id of that driver; null once its work there is over."""
    driver_started_s: float | None = None
    """Seconds since 1970 at which that process began, by which its id is told from a later one."""
    lost: tuple[LostOrder, ...] = Field(default=(), max_length=_MOST_LOST)
    """Orders that it lost, the oldest first."""

    @property
    def holder(self) -> str | None:
        """The driver of this machine that is at work there; None if there is none."""
        with suppress(psutil.Error, TypeError):
            began = psutil.Process(self.driver).create_time() if self.driver else None
            if began and abs(began - (self.driver_started_s or 0.0)) < _CLOCK_S:
                return f"this machine, pid {self.driver}"
        return None


class HostJournal:
    """A folder with a file for each host. What cannot be kept is dropped."""

    def __init__(self, folder: Path | None = None) -> None:
        """The journal in this folder, made when something is kept; without one nothing is."""
        self._folder = folder

    def of(self, host: str) -> HostMemory:
        """The memory of a host; an empty one if its file is missing or damaged."""
        with suppress(OSError, ValueError, DamagedFile):
            if self._folder is not None:
                content = read_plain(self._folder / _file_name(host), TEXT_BYTES)
                return HostMemory.model_validate_json(content)
        return HostMemory()

    def keep_facts(self, facts: Mapping[str, HostFacts]) -> None:
        """Keep what hosts have just answered."""
        for host, known in facts.items():
            self._change(host, facts=known, asked_s=time.time())

    def begin(self, host: str, work: str) -> None:
        """This process has work there: cells of one unit."""
        started_s = psutil.Process().create_time()
        self._change(host, work=work, driver=os.getpid(), driver_started_s=started_s)

    def end(self, host: str, fault: str | None) -> None:
        """The order there is over; a fault says why it was lost."""
        lost = self.of(host).lost
        if fault is not None:
            lost = (*lost, LostOrder(at_s=time.time(), reason=fault))[-_MOST_LOST:]
        self._change(host, driver=None, lost=lost)

    def _change(self, host: str, **changes: object) -> None:
        if self._folder is None:
            return
        entry = self.of(host).model_copy(update=changes)
        with suppress(OSError, RecordNotSaved):  # another driver may write the same file
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            save_text(self._folder / _file_name(host), entry.model_dump_json())


def journal_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder of a user's journal; None for a user without a home."""
    file = state_file(environment)
    return None if file is None else file.absolute().parent / "fleet" / "journal"


def _file_name(host: str) -> str:
    return f"{quote(host, safe='')}.json"
