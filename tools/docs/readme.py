"""The README's generated sections: what is built, the models, and what was verified."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from orchestrator.app.measure.verify import Verified, load
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.render.verify import table_of
from orchestrator.system.git import ROOT
from runner.contract.cell import Backend, Runtime
from runner.contract.models import catalogue, model_sets
from runner.contract.support import BUILT, generates

VERIFIED = ROOT / "docs" / "verified.json"
_SECTION = "<!-- generated: {name} -->\n{text}<!-- end: {name} -->"
_NOTE = "`orchestrator verify --save docs/verified.json` makes this table, and {} so far."


def readme(path: Path = ROOT / "README.md") -> str:
    """The README with its sections made anew."""
    text = path.read_text("utf-8")
    for name, make in SECTIONS.items():
        text = _replaced(text, name, make())
    return text


def _replaced(text: str, name: str, content: str) -> str:
    pattern = re.escape(_SECTION).replace(r"\{name\}", name).replace(r"\{text\}", "(?:.*?)")
    new = _SECTION.format(name=name, text=f"{content}\n")
    return re.sub(pattern, lambda _: new, text, flags=re.DOTALL)


def built_markdown() -> str:
    """Backends, runtimes, modes and precisions as a table."""
    rows = [
        f"| `{backend}` | `{runtime}` | {_code(modes)} | {_code(precisions)} "
        f"| {CATALOGUE[backend].support_class or '–'} |"
        for backend, runtime, modes, precisions in _built()
    ]
    head = "| backend | runtime | modes | precisions | support class |\n|---|---|---|---|---|"
    return "\n".join([head, *rows])


def _built() -> Iterator[tuple[Backend, Runtime, list[str], list[str]]]:
    """Modes that share a path and its precisions stand together."""
    groups: dict[tuple[Backend, Runtime, tuple[str, ...]], list[str]] = {}
    order = ("fp32", "bf16", "fp16", "int8")
    for (backend, runtime, mode), found in BUILT.items():
        precisions = tuple(each for each in order if each in found)
        groups.setdefault((backend, runtime, precisions), []).append(mode)
    for (backend, runtime, precisions), modes in groups.items():
        yield backend, runtime, modes, list(precisions)


def verified_markdown(path: Path = VERIFIED) -> str:
    """The saved verification as a table of models × paths, with its reasons."""
    if not path.exists():
        return _NOTE.format("nobody has run it")
    found = load(path)
    table = table_of(found.cells)
    columns = ("verified", "mode", *table.columns)
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in table.rows:
        marks = [_escaped(table.text(row, column)) for column in table.columns]
        lines.append(f"| `{row.model}` | {row.mode} | {' | '.join(marks)} |")
    reasons = [f"{n}. {_escaped(reason)}" for n, reason in enumerate(table.reasons, start=1)]
    return "\n".join([_told(found), "", *lines, *(["", *reasons] if reasons else [])])


def models_markdown() -> str:
    """The catalogue as a table, and its sets."""
    head = "| model | family | parameters | inference, startup | training | generation |"
    rows = [
        f"| `{name}` | {spec.family.replace('_', ' ')} | {spec.parameters or 0:,} | yes "
        f"| {_yes(spec.trains)} | {_yes(generates(spec))} |"
        for name, spec in catalogue().items()
    ]
    sets = [f"- `{name}`: {_code(members)}" for name, members in model_sets().items()]
    return "\n".join([head, "|---|---|---|---|---|---|", *rows, "", "The sets:", "", *sets])


def _yes(whether: bool) -> str:
    return "yes" if whether else "no"


def _told(found: Verified) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(found.libraries.items()))
    devices = dict.fromkeys(f"{cell.path}: {cell.device}" for cell in found.cells if cell.device)
    return (
        f"Verified on {found.verified_on:%Y-%m-%d} with version {found.version} by "
        f"`{found.command}`, launcher `{found.launcher}`, on {found.operating_system}; "
        f"{'; '.join(devices)}. Libraries: {libraries}."
    )


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\|<>*_\[\]`])", r"\\\1", text)


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


SECTIONS: Mapping[str, Callable[[], str]] = {
    "built": built_markdown,
    "models": models_markdown,
    "verified": verified_markdown,
}
"""What stands between `<!-- generated: name -->` and `<!-- end: name -->`."""
