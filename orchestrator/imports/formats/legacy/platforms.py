"""What one check of a model tells of each platform that it tried.

The times in it are of one call with all that surrounds it, and for some the writer put constants
(`elapsed_time: 0.1,  # Placeholder for timing`), so they stay in the details: a platform's
measurement is its verdict.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.imports.formats.legacy.build import verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.machine import libraries_of, python_of
from orchestrator.imports.formats.legacy.outcome import cause, telling
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import last, under

_NAME = re.compile(r"(cpu|cuda|openvino|apple|mps|rocm|qualcomm|qnn|webnn|webgpu|tpu)(?:_|$)")
_WELL = re.compile(r"\W*(?:success|ready|real|mock)", re.I)
_BADLY = re.compile(r"\W*(?:fail|error|exception|traceback)", re.I)
_ASKED = ("input", "prompt")
_STRUCTURE = ("status", "examples", "metadata")
_SENTENCE = 200


@dataclass
class _Platform:
    """What the file tells of one, and where each of it stands."""

    place: str
    told: dict[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def tell(self, key: str, value: Any, place: str) -> None:
        """Add what one key says."""
        self.told[key] = value
        self.marks += marks_in({last(place): value}, place.rsplit("/", 1)[0])


def spots_of(value: dict[str, Any], place: str, around: Around) -> Iterator[Spot]:
    """One entry for each platform that has a verdict."""
    inside = _around(value, place, around)
    for name, platform in _platforms(value, place).items():
        ending = _ending(platform.told)
        if ending:
            of_script = ending["status"] == "ok" and "status" in around.fields
            fields = {**inside.fields, "backend": name, **({} if of_script else ending)}
            marks = (*inside.marks, *platform.marks)
            yield Spot(
                platform.told, platform.place, _platform, Around(fields, inside.details, marks)
            )


def names_platforms(value: Any) -> bool:
    """Whether it tells of platforms."""
    return isinstance(value, dict) and bool(_platforms(value, ""))


def _platform(entry: Entry, around: Around) -> Found:
    device = _device(entry) if around.fields["backend"] == "cuda" else None
    return verdict(entry, around, {"device_name": device})


def _platforms(value: dict[str, Any], place: str) -> dict[str, _Platform]:
    platforms: dict[str, _Platform] = {}
    for name, key, item, where in (*_named(value, place), *_examples(value, place)):
        platforms.setdefault(name, _Platform(where)).tell(key, item, where)
    metadata = value.get("metadata")
    statuses = metadata.get("platform_status") if isinstance(metadata, dict) else None
    for name, status in statuses.items() if isinstance(statuses, dict) else ():
        if name in platforms:
            where = under(place, "metadata", "platform_status", name)
            platforms[name].tell("platform_status", status, where)
    return platforms


def _named(value: dict[str, Any], place: str) -> Iterator[tuple[str, str, Any, str]]:
    """What stands under a platform's name, or under a key that begins with it."""
    for key, item in value.items():
        where, match = under(place, key), _NAME.match(key.lower())
        if key == "status" and isinstance(item, dict):
            yield from _named(item, where)
        elif match and isinstance(item, dict) and key.lower() == match[1]:
            yield from (
                (match[1], inner, below, under(where, inner)) for inner, below in item.items()
            )
        elif match and item is not None:
            yield match[1], key, item, where


def _examples(value: dict[str, Any], place: str) -> Iterator[tuple[str, str, Any, str]]:
    examples = value.get("examples")
    for index, example in enumerate(examples if isinstance(examples, list) else ()):
        name = example.get("platform") if isinstance(example, dict) else None
        if isinstance(name, str) and name.strip():
            key = f"examples.{index}"
            yield name.strip().lower(), key, example, under(place, "examples", index)


def _around(value: dict[str, Any], place: str, around: Around) -> Around:
    shared = {
        key: item
        for key, item in value.items()
        if key not in _STRUCTURE and not _NAME.match(key.lower())
    }
    metadata = value.get("metadata")
    about = Entry(metadata if isinstance(metadata, dict) else {}, under(place, "metadata"))
    fields = {
        "measured_at": about.moment("timestamp", "test_timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    own = {name: item for name, item in fields.items() if item}
    marks = (
        *around.marks,
        *marks_in(shared, place),
        *marks_in(about.value, about.place, without=("platform_status",)),
    )
    details = {**around.details, **Entry(shared, place).details(), **about.details("metadata")}
    return Around({**around.fields, **own}, details, marks)


def _ending(told: dict[str, Any]) -> dict[str, Any] | None:
    signs = [sign for key, text in _texts(told, "") if (sign := _sign(key, text))]
    bad = next((sign for sign in signs if sign["status"] != "ok"), None)
    return bad or next(iter(signs), None)


def _sign(key: str, text: str) -> dict[str, Any] | None:
    if _WELL.match(text):
        return {"status": "ok"}
    reason = f"{key}: {telling(text)}"
    if _BADLY.match(text) or key.endswith("error"):
        return {"status": cause(text), "reason": reason}
    status = cause(text, "ok") if len(text) <= _SENTENCE else "ok"
    return {"status": status, "reason": reason} if status != "ok" else None


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text and its dotted name, without what the model was asked."""
    if isinstance(value, str) and value.strip():
        yield name, value
    for key, item in value.items() if isinstance(value, dict) else ():
        if not key.startswith(_ASKED):
            yield from _texts(item, f"{name}.{key}" if name else key)


def _device(entry: Entry) -> str | None:
    for key in ("cuda_capabilities", "capabilities"):
        told = entry.seen(key)
        if isinstance(told, dict) and isinstance(told.get("device_name"), str):
            return str(told["device_name"])
    return None
