"""Generated sections of hand-written pages: support, metrics, models, verdicts, help texts."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from analysis.results.metrics import METRICS
from orchestrator.backends.catalogue import CATALOGUE, BackendSpec
from orchestrator.commands.measure.verification import (
    Verification,
    load_verification,
    verdict_table,
)
from orchestrator.system.git import ROOT
from runner.contract.axes import Backend, Runtime
from runner.contract.models import catalogue, model_sets
from runner.contract.support import SUPPORTED, generates
from tools.docs.commands import help_markdown

VERIFIED = ROOT / "docs" / "verified.json"
PRECISIONS = ("fp32", "bf16", "fp16", "int8")
RUNTIMES = ("torch", "torch_compile", "onnxruntime", "openvino", "onnxruntime_web")
MARKS = {1: "●", 2: "◐", 3: "○"}
"""Of a support class, in the README's table."""
_SECTION = "<!-- generated: {name} -->\n{text}<!-- end: {name} -->"


def with_sections(page: Path) -> str:
    """The page's text, with its generated sections made anew."""
    text = page.read_text("utf-8")
    for name, make in SECTIONS.items():
        pattern = re.escape(_SECTION).replace(r"\{name\}", name).replace(r"\{text\}", "(?:.*?)")
        if match := re.search(pattern, text, flags=re.DOTALL):
            section = _SECTION.format(name=name, text=f"{make()}\n")
            text = text.replace(match[0], section)
    return text


def support_markdown() -> str:
    """Backends × runtimes, each with the mark of its support class."""
    lines = [f"| backend | {_code(RUNTIMES, ' | ')} |", "|---" * (len(RUNTIMES) + 1) + "|"]
    built = {(backend, runtime) for backend, runtime, _ in SUPPORTED}
    for backend in dict.fromkeys(backend for backend, _ in built):
        mark = MARKS[CATALOGUE[backend].support_class or 3]
        marks = (mark if (backend, runtime) in built else "" for runtime in RUNTIMES)
        lines.append(f"| `{backend}` | {' | '.join(marks)} |")
    return "\n".join([*lines[:2], *sorted(lines[2:])])


def built_markdown() -> str:
    """Backends, runtimes, modes and precisions as a table."""
    rows = [
        f"| `{backend}` | `{runtime}` | {_code(modes)} | {_code(precisions)} "
        f"| {_class(CATALOGUE[backend])} |"
        for backend, runtime, modes, precisions in _built()
    ]
    head = "| backend | runtime | modes | precisions | support class |\n|---|---|---|---|---|"
    return "\n".join([head, *rows])


def _class(spec: BackendSpec) -> str:
    """The support class, with the device and the day of one that was measured by hand."""
    by_hand = spec.measured_by_hand
    where = f": {by_hand.device}, {by_hand.day}" if by_hand else ""
    return f"{spec.support_class or '–'}{where}"


def _built() -> Iterator[tuple[Backend, Runtime, list[str], list[str]]]:
    """Modes of a backend and runtime that have the same precisions stand together."""
    groups: dict[tuple[Backend, Runtime, tuple[str, ...]], list[str]] = {}
    for (backend, runtime, mode), supported in SUPPORTED.items():
        precisions = tuple(name for name in PRECISIONS if name in supported)
        groups.setdefault((backend, runtime, precisions), []).append(mode)
    for (backend, runtime, precisions), modes in groups.items():
        yield backend, runtime, modes, list(precisions)


def available_markdown() -> str:
    """The precisions and batch sizes that `bench --backend available` measures by default."""
    rows = [
        f"| `{backend}` | {_code(spec.precisions)} | {_code(map(str, spec.batch_sizes))} |"
        for backend, spec in CATALOGUE.items()
        if spec.support_class
    ]
    return "\n".join(["| backend | precisions | batch sizes |", "|---|---|---|", *rows])


def models_markdown() -> str:
    """The catalogue as a table, and its sets."""
    head = "| model | family | parameters | inference, startup | training | generation |"
    rows = [
        f"| `{name}` | `{spec.family}` | {spec.parameters or 0:,} | yes "
        f"| {_yes(spec.trains)} | {_yes(generates(spec))} |"
        for name, spec in catalogue().items()
    ]
    sets = [f"- `{name}`: {_code(members)}" for name, members in model_sets().items()]
    return "\n".join([head, "|---|---|---|---|---|---|", *rows, "", "The sets:", "", *sets])


def verified_markdown(path: Path = VERIFIED) -> str:
    """The saved verification as a table of models × paths, with its reasons.

    Raises:
        StoreError: the file is not what `orchestrator verify --save` writes.
    """
    verified = load_verification(path)
    table = verdict_table(verified.cells)
    columns = ("verified", "mode", *table.columns)
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for (model, mode), marks in table.rows.items():
        lines.append(f"| `{model}` | {mode} | {' | '.join(map(_escaped, marks))} |")
    reasons = [f"{n}. {_escaped(reason)}" for n, reason in enumerate(table.reasons, start=1)]
    return "\n".join([_circumstances(verified), "", *lines, *(["", *reasons] if reasons else [])])


def _circumstances(verified: Verification) -> str:
    versions = sorted(verified.libraries.items())
    libraries = ", ".join(f"{name} {version}" for name, version in versions)
    devices = dict.fromkeys(f"{cell.path}: {cell.device}" for cell in verified.cells if cell.device)
    return (
        f"Verified on {verified.verified_on:%Y-%m-%d} with version {verified.version} by "
        f"`{verified.command}`, launcher `{verified.launcher}`, on {verified.operating_system}; "
        f"{'; '.join(devices)}. Libraries: {libraries}."
    )


def metrics_markdown() -> str:
    """The metrics as a table."""
    rows = [
        f"| `{name}` | {metric.heading} | {metric.better} | `{metric.view}.{metric.column}` |"
        for name, metric in METRICS.items()
    ]
    head = "| metric | value | better | column |\n|---|---|---|---|"
    return "\n".join([head, *rows])


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\|<>*_\[\]`])", r"\\\1", text)


def _code(words: Iterable[str], separator: str = ", ") -> str:
    return separator.join(f"`{word}`" for word in words)


SECTIONS: Mapping[str, Callable[[], str]] = {
    "available": available_markdown,
    "support": support_markdown,
    "built": built_markdown,
    "metrics": metrics_markdown,
    "models": models_markdown,
    "verified": verified_markdown,
    "help": help_markdown,
}
"""Makers of the text between `<!-- generated: name -->` and `<!-- end: name -->`."""
