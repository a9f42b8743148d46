"""Messages between the driver and a host, in frames: orders there, their progress back.

A frame arrives whole or not at all. It has a prefix, a head and a body. The prefix holds a mark,
both sizes and a checksum, so that a login's banner, a library's print or the end of a broken
connection is never taken for content. The head is the message, as JSON; where a file belongs to
the message, the body is the file.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from orchestrator.backends.catalogue import LauncherName
from orchestrator.fleet.host import HostFacts
from orchestrator.screen.words.reasons import error_hint, error_text
from orchestrator.system.problems import first_fault
from runner.contract.axes import Backend
from runner.contract.cell import FileName, Frozen, Purpose
from runner.contract.errors import BenchError, DamagedFile, Unavailable
from runner.contract.job import Job
from runner.contract.reasons import Reason
from runner.contract.record.verdict import Phase

MARK = b"AMX1"
HEAD_BYTES = 16 << 20
"""Most bytes of a head."""
BODY_BYTES = 128 << 20
"""Most bytes of a body: an order's run file, a record, a reference, a trace."""
_PREFIX = struct.Struct("!4sIQI")
_SHOWN = 60
_READ_BYTES = 64 << 10
"""Bytes after which their arrival is a sign of life."""


@dataclass(frozen=True)
class Frame:
    """One message: what it says, and the bytes that belong to it."""

    head: bytes
    body: bytes = b""


def encode(frame: Frame) -> bytes:
    checksum = zlib.crc32(frame.body, zlib.crc32(frame.head))
    return _PREFIX.pack(MARK, len(frame.head), len(frame.body), checksum) + frame.head + frame.body


def hear_nothing() -> None:
    pass


def read_frame(stream: IO[bytes], alive: Callable[[], None] = hear_nothing) -> Frame | None:
    """The next frame of a blocking stream; None at its end, if that is between two frames.

    `alive` is called whenever bytes came, long before a large frame is whole.
    """
    prefix = _read(stream, _PREFIX.size, alive)
    if not prefix:
        return None
    if not prefix.startswith(MARK):
        begin = prefix + (stream.read(_SHOWN) or b"")
        raise DamagedFile(f"no frame: {begin[:_SHOWN].decode('utf-8', 'replace')!r}")
    if len(prefix) < _PREFIX.size:
        raise DamagedFile("the stream ended within a frame")
    _, head_bytes, body_bytes, checksum = _PREFIX.unpack(prefix)
    if head_bytes > HEAD_BYTES or body_bytes > BODY_BYTES:
        raise DamagedFile(
            f"a frame of {head_bytes + body_bytes:,} bytes is larger than any of ours"
        )
    head, body = _read(stream, head_bytes, alive), _read(stream, body_bytes, alive)
    if len(head) < head_bytes or len(body) < body_bytes:
        raise DamagedFile("the stream ended within a frame")
    if zlib.crc32(body, zlib.crc32(head)) != checksum:
        raise DamagedFile("the checksum of a frame is another one")
    return Frame(head, body)


def _read(stream: IO[bytes], size: int, alive: Callable[[], None]) -> bytes:
    """So many bytes, or those before the stream's end."""
    parts, left = [], size
    while left and (part := stream.read(min(left, _READ_BYTES))):
        alive()
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


SharedFolder = Literal["references", "graphs"]


class FactsWanted(Frozen):
    """The driver asks what the host is; nothing is executed."""

    kind: Literal["facts_wanted"] = "facts_wanted"
    launcher: LauncherName | Literal["auto"] = "auto"
    """The launcher that would execute its jobs; `auto`: containers if an engine answers there."""
    purpose: Purpose = "measure"
    """Verifications may use simulators, which measurements may not."""


class Order(Frozen):
    """The driver's order: the body is a run file with the cells that this host shall measure."""

    kind: Literal["order"] = "order"
    id: FileName
    host: str
    transport: str
    version: str
    """Version of the orchestrator that wrote it; a host of another one refuses."""
    sources: str | None = None
    """Digest of the runner's sources; a host with others refuses."""
    hardware: str | None = None
    """The class of hosts that was planned for; a host of another one refuses, as a partition of
    Slurm's may hold several."""
    digests: dict[Backend, str] = Field(default_factory=dict)
    """The image that each backend must execute in; a host with another one refuses."""
    budget_s: float | None = None
    """Launch nothing more after this many seconds; null without such a limit."""
    whole_budget_s: float | None = None
    """The run's budget, of which that is the rest, for messages."""
    fail_fast: bool = False
    """Launch nothing more after the first failure."""


class Beat(Frozen):
    """Whoever sends it is alive; both sides end an order whose other side is silent."""

    kind: Literal["beat"] = "beat"


class Cancel(Frozen):
    """The driver wants no more of this order: its job ends, what it left is removed."""

    kind: Literal["cancel"] = "cancel"


class Shared(Frozen):
    """A reference or a graph that was made already; the body is the file, or all files in a zip."""

    kind: Literal["shared"] = "shared"
    folder: SharedFolder
    path: tuple[FileName, ...] = Field(min_length=1, max_length=2)
    """Its path below that: a reference's file; a graph's key and shape."""


class Known(Frozen):
    """The host's facts, in answer to `FactsWanted`."""

    kind: Literal["known"] = "known"
    facts: HostFacts


class _Refusal(Frozen):
    reason: str
    hint: str | None = None
    exit_code: int = Unavailable.exit_code
    """The exit code of the error, which tells an engine's from an image's."""


class Refused(_Refusal):
    """The host does not execute the order; nothing of it was measured."""

    kind: Literal["refused"] = "refused"


def error_facts(error: BenchError) -> dict[str, Any]:
    """The fields by which a message tells of an error."""
    return {"reason": error_text(error), "hint": error_hint(error), "exit_code": error.exit_code}


class Declined(_Refusal):
    """The host cannot launch cells that it was thought to be able to, and goes on with others."""

    kind: Literal["declined"] = "declined"
    backend: Backend


class Noted(Frozen):
    """A line that the user should see."""

    kind: Literal["noted"] = "noted"
    text: str
    reason: Reason | None = None
    """The reason of a verdict that it tells."""


class Building(Frozen):
    """An image is being built or pulled and has come to this step."""

    kind: Literal["building"] = "building"
    line: str


class Launched(Frozen):
    """A job is about to be launched."""

    kind: Literal["launched"] = "launched"
    job: Job


class Entered(Frozen):
    """The runner entered a phase; loading belongs to no cell."""

    kind: Literal["entered"] = "entered"
    phase: Phase
    cell_id: str | None = None


class Visited(Frozen):
    """A round of a cell is over that is not its last."""

    kind: Literal["visited"] = "visited"
    cell_id: str


class Recorded(Frozen):
    """A cell has its verdict; the body is its record, a Parquet file."""

    kind: Literal["recorded"] = "recorded"
    cell_id: str
    job: Job | None = None
    """The job of a verdict that the host gave without a launch; null if a launch made it."""


class Left(Frozen):
    """A launch left a file beside its records, such as a log or a trace; the body is the file."""

    kind: Literal["left"] = "left"
    path: tuple[FileName, ...] = Field(min_length=1, max_length=3)
    """Its path in the run's folder."""


class Ended(Frozen):
    """The order has ended by itself: every cell that was not declined has its verdict.

    It is the last frame of an order, behind which the host awaits the next one. An order whose
    frames end without it is lost.
    """

    kind: Literal["ended"] = "ended"


ToHost = FactsWanted | Order | Shared | Beat | Cancel
_Answer = Known | Refused | Declined | Shared | Beat | Ended
_Progress = Noted | Building | Launched | Entered | Visited | Recorded | Left
ToDriver = _Answer | _Progress
_OF_DRIVER: TypeAdapter[ToHost] = TypeAdapter(Annotated[ToHost, Field(discriminator="kind")])
_OF_HOST: TypeAdapter[ToDriver] = TypeAdapter(Annotated[ToDriver, Field(discriminator="kind")])


_Message = TypeVar("_Message")


def frame_of(message: ToHost | ToDriver, body: bytes = b"") -> Frame:
    return Frame(message.model_dump_json().encode(), body)


def message_to_host(frame: Frame) -> ToHost:
    return _parsed(_OF_DRIVER, frame)


def message_to_driver(frame: Frame) -> ToDriver:
    return _parsed(_OF_HOST, frame)


def _parsed(adapter: TypeAdapter[_Message], frame: Frame) -> _Message:
    try:
        return adapter.validate_json(frame.head)
    except ValidationError as error:
        raise DamagedFile(f"no message of this version: {first_fault(error)}") from error
