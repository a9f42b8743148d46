"""The host's side of a conversation: messages out, signs of life in both directions."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import BinaryIO

from orchestrator.fleet.messages import (
    BODY_BYTES,
    Beat,
    Building,
    Cancel,
    Declined,
    Entered,
    Launched,
    Left,
    Noted,
    Recorded,
    ToDriver,
    ToHost,
    Visited,
    encode,
    error_facts,
    frame_of,
    message_to_host,
    read_frame,
)
from orchestrator.running.folder import RunFolder
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, DamagedFile
from runner.contract.files import is_plain, read_plain
from runner.contract.job import Job
from runner.contract.reasons import Reason
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase
from runner.contract.rounds import RECORD_SUFFIX, output_names

_Received = tuple[ToHost, bytes]
"""A message and its body."""


class Wire:
    """The stream to the driver. Each method may be called by any thread."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lock = out, Lock()
        self._sent_at = time.monotonic()

    def send(self, message: ToDriver, body: bytes = b"") -> None:
        """Send a message; when the driver is gone it is dropped, as `listen` finds that out."""
        content = encode(frame_of(message, body))
        with self._lock:
            with suppress(OSError, ValueError):
                self._out.write(content)
                self._out.flush()
            self._sent_at = time.monotonic()

    def beat(self, every_s: float, stop: Event) -> None:
        """Send a sign of life whenever nothing was sent for so long, until told to stop."""
        while not stop.wait(every_s):
            if time.monotonic() - self._sent_at >= every_s:
                self.send(Beat())


class DriverWatch:
    """Listens to the driver, and tells when to end what it wanted."""

    def __init__(self, stream: BinaryIO, silence_s: float, end: Callable[[], None]) -> None:
        """A watch that begins with `start`; another thread calls `end` once, to end the program."""
        self._stream, self._silence_s, self._end = stream, silence_s, end
        self._heard_at, self._lock = time.monotonic(), Lock()
        self._is_armed = False
        self._following: SimpleQueue[_Received | DamagedFile | None] | None = None
        self.reason: str | None = None

    def start(self, stop: Event) -> None:
        Thread(target=self._watch, args=(stop,), daemon=True).start()

    def next_message(self) -> _Received | None:
        """The driver's next message, with its body; None if it says no more."""
        if self._following is None:
            return self._read()
        following, self._following = self._following.get(), None
        if isinstance(following, DamagedFile):
            raise following
        return following

    def listen(self) -> None:
        """Listen to what the driver says during an order, in a thread.

        The program is to end if the driver goes or says so, until `disarm`.
        """
        self._is_armed, self._following = True, SimpleQueue()
        Thread(target=self._listen, args=(self._following,), daemon=True).start()

    def disarm(self) -> None:
        """The order is over: what it left is removed, and the driver may go."""
        with self._lock:
            self._is_armed = False

    def _listen(self, following: "SimpleQueue[_Received | DamagedFile | None]") -> None:
        try:
            while (received := self._read()) and isinstance(received[0], Beat | Cancel):
                if isinstance(received[0], Cancel):
                    self._end_order("the driver has ended the order")
            if received is None:
                self._end_order("the driver is gone")
            following.put(received)
        except (DamagedFile, OSError, ValueError) as error:
            self._end_order(f"the driver cannot be understood: {error}")
            following.put(error if isinstance(error, DamagedFile) else None)

    def _read(self) -> _Received | None:
        frame = read_frame(self._stream, self._note_life)
        return None if frame is None else (message_to_host(frame), frame.body)

    def _watch(self, stop: Event) -> None:
        while not stop.wait(self._silence_s / 10):
            if time.monotonic() - self._heard_at > self._silence_s:
                with self._lock:
                    self._end_once("the driver is silent")

    def _note_life(self) -> None:
        self._heard_at = time.monotonic()

    def _end_order(self, reason: str) -> None:
        with self._lock:
            if self._is_armed:
                self._end_once(reason)

    def _end_once(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            self._end()


_LOG_BYTES = 1 << 20


class SendingObserver:
    """Sends what it is told; while a cell is timed that is nothing."""

    def __init__(self, wire: Wire, transport: str) -> None:
        self._wire, self._transport = wire, transport
        self._declined: set[Backend] = set()
        self.folder: RunFolder | None = None

    def note(self, text: str, reason: Reason | None = None) -> None:
        self._wire.send(Noted(text=text, reason=reason))

    def image_step(self, line: str) -> None:
        self._wire.send(Building(line=line))

    def decline(self, cells: Sequence[Cell], error: BenchError) -> None:
        """Send which backends this host lacks, each once; another host may have them."""
        for backend in {cell.backend for cell in cells} - self._declined:
            self._declined.add(backend)
            self._wire.send(Declined(backend=backend, **error_facts(error)))

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Drop the event: the driver made the plan."""

    def job_started(self, job: Job) -> None:
        """Send the job, by which the driver checks records."""
        self._wire.send(Launched(job=job))

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        self._wire.send(Entered(phase=phase, cell_id=cell and cell.id))

    def cell_visited(self, cell: Cell, job: Job) -> None:
        del job  # the driver knows it
        self._wire.send(Visited(cell_id=cell.id))

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Send the record's file; what is not `ok` may be a verdict of the host's own."""
        assert self.folder is not None
        record = record.model_copy(update={"transport": self._transport})
        with suppress(BenchError):  # a full disk: the record goes as it is
            save_record(record, self.folder.file_of(cell).parent)
        own = self.folder.run.job([cell], self.folder.nowhere) if record.status != "ok" else None
        content = self.folder.file_of(cell).read_bytes()
        self._wire.send(Recorded(cell_id=cell.id, job=own), content)


def send_files(folder: RunFolder, wire: Wire) -> None:
    """Send the logs of an order, and what its jobs left beside records."""
    for log in sorted((folder.path / "logs").glob("*.log")):
        _send(log, ("logs", log.name), _LOG_BYTES, wire)
    for job_id, cells in folder.jobs.items():
        for name, most_bytes in output_names(cells, rounds=0).items():
            if not name.endswith(RECORD_SUFFIX):
                _send(folder.records / job_id / name, ("records", job_id, name), most_bytes, wire)


def _send(file: Path, path: tuple[str, ...], most_bytes: int, wire: Wire) -> None:
    most_bytes = min(most_bytes, BODY_BYTES)
    if file.is_file() and is_plain(file, most_bytes):
        wire.send(Left(path=path), read_plain(file, most_bytes))
