"""Words of reasons and of errors, with what helps against them.

They are templates: `{size:gb}` formats a fact, `{cause:reason}` is the words of a reason that is a
fact itself, and `[of {size}|without any]` becomes its other end where a fact is missing. Brackets
without a place are text, as in `accelmatrix[fleet]`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from orchestrator.screen.words.lacks import OF_LACKS
from orchestrator.screen.words.refusals import OF_FAILURES, OF_REFUSALS
from orchestrator.system.text import format_duration, format_memory, format_size, plural
from runner.contract.errors import BenchError, how_to_install, reason_of
from runner.contract.reasons import Facts, Reason, ReasonCode
from runner.contract.record.verdict import percent

MEASURE_HERE = "Others met this: measure it here with `orchestrator bench`."
"""The remedy of whatever imported files say."""
OF_STATUS: Mapping[str, str] = {
    "unsupported": "docs/supported.md lists what this release can measure.",
    "unavailable": "`orchestrator doctor` shows what the backend lacks here.",
    "out_of_memory": "Take a smaller batch, fewer tokens or a lower precision, or allow more"
    " memory: `--set limits.memory=…`.",
    "timeout": "Allow more time: `--set limits.cell_timeout=…`; or take a smaller batch or fewer"
    " tokens.",
    "lost": "Measure what is missing: `orchestrator run --resume last`. If it dies again, its log"
    " in the run's `logs/` tells why.",
    "failed": "Read the trace beside its record, which the column `log` of `orchestrator query"
    " failures` names.",
    "contradicted": "Make the device visible: `orchestrator doctor` shows what it lacks.",
    "unproven": "Measure with a runtime that shows where its work is done.",
    "partial": "The device lacks operators of the graph, or waits for the CPU: a larger batch or"
    " another runtime may give it all the work.",
    "wrong": "Do not quote its times. Take a higher precision or another runtime, and try again"
    " with `orchestrator verify`.",
    "unverified": "Its outputs are compared at a shape of their own, which failed: try that alone"
    " with `orchestrator verify`.",
}
"""The remedy of a status, or of a verdict on what ended well, whose reason has none of its own."""
_ONE_GPU = "name one by its index or UUID, such as ACCELMATRIX_DEVICE={backend}=0"
_OPENVINO_DEVICES = (
    "ACCELMATRIX_DEVICE names one of those, or AUTO; a GPU needs Intel's OpenCL driver and"
    " /dev/dri, an NPU its driver and /dev/accel, both also inside the image"
)
_CUDA_STACK = "use the image cuda, or install its stack: {install_cuda}"
_HINTS: Mapping[ReasonCode, str] = {
    "disk_full": "`orchestrator images prune` removes old images of AccelMatrix",
    "docker_context_missing": "`docker context use default` selects the default one; else start"
    " the engine or set DOCKER_HOST or DOCKER_CONTEXT; `--launcher process` needs no engine",
    "engine_failed": "start the engine or set DOCKER_HOST or DOCKER_CONTEXT; `--launcher process`"
    " needs no engine",
    "engine_rootless": "call it as the user who started the engine, or use an engine of root's",
    "engine_silent": "start it again, then `orchestrator run --resume last`",
    "environment_produces": "rebuild the image of backend cpu, or its environment: {install_cpu}",
    "image_of_other_machine": "use an image of several platforms, or build one here",
    "image_unverified": "`orchestrator images build` makes one; `--image BACKEND={reference}`"
    " measures with this one, and its records say so",
    "job_image_refused": "`orchestrator images build {backend}` makes it",
    "no_cuda_gpu": "check CUDA_VISIBLE_DEVICES",
    "no_cuda_provider": "install onnxruntime-gpu in place of onnxruntime: both fill the same"
    " folder",
    "no_dockerfile": "install AccelMatrix anew, or name an image by `--image BACKEND=REFERENCE`",
    "no_metal_device": "it takes an Apple GPU and macOS 14 or newer; virtual machines show none",
    "no_such_gpu": _ONE_GPU,
    "no_such_image": "ours carry the label {label}",
    "openvino_no_device": _OPENVINO_DEVICES,
    "openvino_no_such_device": _OPENVINO_DEVICES,
    "other_system": "run it on a machine with {systems}",
    "provider_takes_no_node": "its log on stderr says what the provider lacks",
    "qnn_library": "install what it misses, e.g. the system package libatomic1",
    "session_without_provider": "its log on stderr says why the provider could not be made",
    "several_such_gpus": _ONE_GPU,
    "torch_is_rocm": _CUDA_STACK,
    "torch_without_cuda": _CUDA_STACK,
    "torch_without_rocm": "use the image rocm, or install torch's ROCm build",
    "unreadable_to_job": "`chmod -R o+rX {root}`, or call the orchestrator as another user",
    "weights_unloadable": "name a folder with `path`; hubs are asked only where HF_HUB_OFFLINE=0"
    " is set",
}
"""The help where a command ends with a reason whose text does not say enough."""
_BY_REMEDY: Collection[ReasonCode] = (
    *("browser_does_not_start", "browser_driver", "browser_ended_at_once", "browser_missing"),
    *("browser_not_here", "container_refused", "detector_package_missing", "device_refuses"),
    *("engine_ignores", "folder_refused", "int8_package_missing", "mps_fallback", "no_compiler"),
    *("no_container_reaches", "no_python_headers", "no_webgpu_adapter", "no_webnn"),
    *("not_one_of_gpus", "nvml_silent", "onnx_web_missing", "other_weights", "page_not_isolated"),
    *("page_port", "qnn_package_missing", "runtime_package_missing", "simulator_untimed"),
    *("software_adapter_untimed", "too_many_threads"),
)
"""Reasons whose remedy is that help."""


class ReasonWords(NamedTuple):
    """The words of one reason, as templates."""

    text: str
    remedy: str | None
    """The help, a sentence; None where that depends on the status, or on the cause."""
    hint: str | None
    """The help where a command ends with it; None where the text says enough."""


REASONS: Mapping[ReasonCode, ReasonWords] = {
    code: ReasonWords(
        text,
        remedy or None,
        f"{remedy[:1].lower()}{remedy[1:-1]}" if code in _BY_REMEDY else _HINTS.get(code),
    )
    for table in (OF_REFUSALS, OF_LACKS, OF_FAILURES)
    for remedy, texts in table.items()
    for code, text in texts.items()
}
_OPTIONAL = re.compile(r"\[([^][|]*)(?:\|([^][]*))?\]")
PLACE = re.compile(r"\{(\w+)(!r)?(?::([^}]*))?\}")
_EXTRAS = {"onnxruntime_web": "browser", **dict.fromkeys(("onnxruntime", "torch"), "cpu")}
"""The extras that install runtimes, where they have other names."""
_GIVEN = {
    f"install_{extra}": how_to_install(extra)
    for extra in ("browser", "cpu", "cuda", "openvino", "qnn")
}
"""Facts about this AccelMatrix."""
_MISSING = "?"


def signed(share: float) -> str:
    """A change in words: `18 % more`."""
    return f"{percent(abs(share))} {'more' if share > 0 else 'less'}"


_FORMATS: Mapping[str, Callable[[float], str]] = {
    "duration": format_duration,
    "factor": lambda factor: f"{factor:,.{0 if factor > 10 else 2}f}",
    "gb": lambda size: f"{size / 1e9:.3g} GB",
    "memory": format_memory,
    "ms": lambda seconds: f"{seconds * 1000:.2g}",
    "percent": percent,
    "signed": signed,
    "size": lambda size: format_size(round(size)),
    ",": lambda number: f"{round(number):,}",
}
_UNITS: Mapping[str, tuple[float, str]] = {"": (1, ""), "gb": (1e-9, " GB"), "percent": (100, " %")}


def _plain(number: float) -> str:
    return f"{number:.{2 if abs(number) < 10 else 3}g}"


def apart(text: str, other: str, unit: str = "") -> str:
    """A number as its unit is written, in more digits where it would look like another one."""
    own, others = float(text), float(other)
    usual = _FORMATS.get(unit, _plain)
    if usual(own) != usual(others):
        return usual(own)
    (factor, suffix), longest = _UNITS[unit], range(2, 18)
    pairs = ((f"{own * factor:.{n}g}", f"{others * factor:.{n}g}") for n in longest)
    return next((mine + suffix for mine, theirs in pairs if mine != theirs), usual(own))


Special = Mapping[str, Callable[[str], str]]
"""Formats of facts that are looked up in another way: each gives the words for a fact's name."""


def fill(template: str, facts: Facts, special: Special | None = None) -> str:
    def chosen(match: re.Match[str]) -> str:
        places = [name for name, *_ in PLACE.findall(match[1])]
        if not places:
            return match[0]
        return match[1] if all(name in facts for name in places) else match[2] or ""

    def fact(match: re.Match[str]) -> str:
        name, quoted, format_ = match.groups()
        if special and format_ in special:
            return special[format_](name)
        text = facts.get(name, _GIVEN.get(name, _MISSING))
        return repr(text) if quoted else formatted(text, format_ or "", facts)

    return PLACE.sub(fact, _OPTIONAL.sub(chosen, template))


def formatted(text: str, format_: str, facts: Facts) -> str:
    """The fact as its format says; as it is, if another version wrote no number there."""
    try:
        if format_.startswith("beside "):
            _, other, *unit = format_.split()
            return apart(text, facts.get(other, text), *unit)
        if format_.startswith("plural "):
            count = round(float(text))
            return f"{count:,} {plural(count, format_.removeprefix('plural '))}"
        if format_ == "install":
            return how_to_install(_EXTRAS.get(text, text))
        if format_ in _FORMATS:
            return _FORMATS[format_](float(text))
        return format(float(text), format_) if format_ else text
    except (ValueError, OverflowError):
        return text


def reason_text(reason: Reason) -> str:
    """The reason in words; one that this version does not know, by its code and facts."""
    words = REASONS.get(reason.code)
    return str(reason) if words is None else fill(words.text, reason.facts, behind(reason))


def behind(reason: Reason) -> Special:
    """Formats of facts that are reasons: a single one, or `name1`, `name2`… joined."""

    def single(name: str) -> str:
        cause = reason.behind(name)
        return reason_text(cause) if cause else "?"

    def several(separator: str, name: str) -> str:
        return separator.join(map(reason_text, _numbered(reason, name)))

    return {"reason": single, "lines": partial(several, "\n"), "semicolons": partial(several, "; ")}


def _numbered(reason: Reason, name: str) -> Iterator[Reason]:
    number = 1
    while cause := reason.behind(f"{name}{number}"):
        yield cause
        number += 1


def remedy_text(status: str, reason: Reason | None) -> str | None:
    """The remedy of a status or of a verdict on what ended well; None if nothing is to be done."""
    if status not in OF_STATUS:
        return None
    return (reason and _own_remedy(reason)) or OF_STATUS[status]


def _own_remedy(reason: Reason) -> str | None:
    """The remedy of the cause, which knows more, or of the reason."""
    words = REASONS.get(reason.code)
    if words is None:
        return None
    causes = (reason.behind("cause"), *_numbered(reason, "cause"), *_numbered(reason, "attempt"))
    remedies = (_own_remedy(cause) for cause in causes if cause)
    remedy = next(filter(None, remedies), words.remedy)
    return remedy and fill(remedy, reason.facts)


def error_text(error: BaseException) -> str:
    """The message of an error of ours; type and message of others."""
    return reason_text(reason_of(error))


def error_hint(error: BenchError) -> str | None:
    words = REASONS.get(error.reason.code)
    hint = error.hint or (words and words.hint)
    return hint and fill(hint, error.reason.facts)
