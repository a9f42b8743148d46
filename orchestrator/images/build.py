"""Build an image from a checkout, and check that the disk has room for it first."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any

from docker import DockerClient
from docker.errors import APIError

from orchestrator.backends.catalogue import CATALOGUE, image_names
from orchestrator.images.image import (
    BACKEND_LABEL,
    BASE_LABEL,
    HASHES_LABEL,
    REVISION_LABEL,
    SOURCE_LABEL,
    VERSION_LABEL,
)
from orchestrator.images.settings import ImageSettings, base_variable
from orchestrator.images.source import ImageSource
from orchestrator.system.engine import engine_errors, engine_message
from orchestrator.system.files import file_hint
from orchestrator.system.text import format_duration, format_size
from runner.contract.errors import ImageError
from runner.contract.reasons import reason

STEP = "Step "
"""The beginning of the engine's line for an instruction of a Dockerfile."""
_STEP = re.compile(r"Step (\d+/\d+) : (.*)", re.DOTALL)
_NOISE = re.compile(r"^RUN\s+|--mount=\S+\s+")
_LETTERS = 32
"""Most letters of an instruction, so that the line fits 80 columns."""
_PULL_INTERVAL_S = 5
"""Seconds between two lines of a pull."""
LOCAL_URLS = ("http+docker://localhost", "http+docker://localnpipe")
"""Addresses of engines whose disk is this machine's."""
FreeBytes = Callable[[Path], int]
"""Looks at the bytes that are free in a folder's file system."""
ReportLine = Callable[[str], None]
"""Takes one line about the work under way."""
Events = Iterable[Mapping[str, Any]]
_Clock = Callable[[], float]


def ignore(line: str) -> None:
    """A report that is not shown."""
    del line


def follow(events: Events, report: ReportLine) -> str:
    """Report every event worth a line; returns the id of the image that was built, or nothing."""
    step = image_id = ""
    for event in events:
        if "error" in event:
            raise ImageError(reason("build_failed", step=step, error=str(event["error"]).strip()))
        for line in _lines(event):
            step = f"{line}: " if line.startswith(STEP) else step
            report(line)
        image_id = (event.get("aux") or {}).get("ID", image_id)
    return image_id


def _lines(event: Mapping[str, Any]) -> list[str]:
    if event.get("progressDetail"):
        return []
    text = event.get("stream") or event.get("status") or ""
    prefix = f"{event['id']}: " if "id" in event else ""
    return [prefix + line for line in text.splitlines() if line.strip()]


def build_steps(image: str, report: ReportLine, clock: _Clock = time.monotonic) -> ReportLine:
    """Takes a build's lines and reports steps: `building cpu: step 3/18, pip install …, 12 s`."""
    began = clock()

    def take(line: str) -> None:
        if step := _STEP.match(line):
            instruction = shorten(_NOISE.sub("", step[2]), _LETTERS, placeholder=" …")
            duration = format_duration(round(clock() - began))
            report(f"building {image}: step {step[1]}, {instruction}, {duration}")

    return take


def watch_pull(
    image: str, events: Events, report: ReportLine, clock: _Clock = time.monotonic
) -> Iterator[Mapping[str, Any]]:
    """The same events; reports now and then `pulling cpu: 210 MB of 640 MB, 12 s`."""
    began = reported = clock()
    fetched, sizes = dict[str, int](), dict[str, int]()
    for event in events:
        layer, status = event.get("id", ""), event.get("status")
        detail = event.get("progressDetail") or {}
        if status == "Downloading" and "total" in detail:
            fetched[layer], sizes[layer] = detail["current"], detail["total"]
        elif status in ("Download complete", "Pull complete") and layer in sizes:
            fetched[layer] = sizes[layer]
        if sizes and clock() - reported >= _PULL_INTERVAL_S:
            reported = clock()
            amounts = (format_size(sum(part.values())) for part in (fetched, sizes))
            duration = format_duration(round(reported - began))
            report(f"pulling {image}: {' of '.join(amounts)}, {duration}")
        yield event


@contextmanager
def image_errors(attempt: str, hint: str) -> Iterator[None]:
    """Say what was attempted when the engine, answering, could not do it."""
    with engine_errors(attempt):
        try:
            yield
        except (APIError, ImageError) as error:
            raise ImageError(
                reason("image_attempt_failed", attempt=attempt, error=engine_message(error)),
                hint=hint,
            ) from error


def build_image(
    client: DockerClient,
    settings: ImageSettings,
    name: str,
    source: ImageSource,
    report: ReportLine,
) -> str:
    """Build the image, each line in a log file; returns its id as the engine says it."""
    reference = settings.reference(name)
    log = settings.logs / f"build-{name}.log"
    base = _base(settings, name, source)
    upon = f"it builds upon {base}, {base_variable(name)} names another base; " if base else ""
    with (
        _teed(log, build_steps(name, report)) as both,
        image_errors(f"{reference}: cannot be built", f"{upon}its log is {log}"),
    ):
        events = client.api.build(
            fileobj=source.context(),
            custom_context=True,
            dockerfile=source.dockerfile,
            tag=reference,
            labels=image_labels(settings, name, source),
            buildargs=build_arguments(settings, name, source),
            rm=True,
            forcerm=True,
            decode=True,
        )
        return follow(events, both)


def build_arguments(settings: ImageSettings, name: str, source: ImageSource) -> dict[str, str]:
    base = source.pinned_base()
    return ({"BASE_IMAGE": base} if base else {}) | settings.arguments(name)


def _base(settings: ImageSettings, name: str, source: ImageSource) -> str | None:
    return build_arguments(settings, name, source).get("BASE_IMAGE") or source.base_image()


def image_labels(settings: ImageSettings, name: str, source: ImageSource) -> dict[str, str]:
    base = _base(settings, name, source) or "unknown"
    labels = {
        "org.opencontainers.image.title": f"accelmatrix-{name}",
        "org.opencontainers.image.licenses": "Apache-2.0",
        VERSION_LABEL: settings.version,
        BACKEND_LABEL: name,
        SOURCE_LABEL: source.fingerprint(),
        BASE_LABEL: base if "@sha256:" in base else f"base not pinned: {base}",
        HASHES_LABEL: source.hashes(),
    }
    if settings.revision:
        labels[REVISION_LABEL] = settings.revision
    return labels


@contextmanager
def _teed(path: Path, report: ReportLine) -> Iterator[ReportLine]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8", buffering=1)
    except OSError as error:
        explanation = reason("build_log_refused", path=path, error=error.strerror or error)
        raise ImageError(explanation, hint=file_hint(error)) from error
    with file:

        def both(line: str) -> None:
            file.write(f"{line}\n")
            report(line)

        yield both


def check_disk(client: DockerClient, name: str, free: FreeBytes) -> None:
    """Refuse early if the image does not fit. A remote engine's disk cannot be seen."""
    with engine_errors("free disk cannot be asked for"):
        root = Path(client.info()["DockerRootDir"])
    if client.api.base_url not in LOCAL_URLS or not root.exists():
        return
    needed = max(CATALOGUE[backend].image_build_bytes for backend in image_names()[name])
    if (available := free(root)) < needed:
        sizes = {"needed": format_size(needed), "free": format_size(available)}
        raise ImageError(reason("disk_full", image=name, folder=root, **sizes))
