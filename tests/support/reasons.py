"""Reasons of verdicts, read from the calls of our own source that make them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = "X"
"""Stands for a part of a reason that is known when the program runs."""
STATUS_OF_CALL: Mapping[str, str] = {
    "Unsupported": "unsupported",
    "Unavailable": "unavailable",
    "ImageError": "unavailable",
    "EngineUnavailable": "unavailable",
    "BenchError": "failed",
    "TimedOut": "timeout",
    "WrongExport": "failed",
    "LaunchOutcome": "",
    "_save_lost": "lost",
}
"""Calls that take a reason, with the verdict's status; a LaunchOutcome names it itself."""
ROOMS = (
    *("runner", "orchestrator/backends", "orchestrator/images", "orchestrator/launchers"),
    *("orchestrator/running", "orchestrator/system"),
)
"""Rooms in which verdicts come about."""
OF_COMMANDS = frozenset({"orchestrator/images/remote.py", "orchestrator/images/signatures.py"})
"""Modules there whose errors end a command, and never a cell."""


STATUS_OF_MODULE: Mapping[str, str] = {
    "runner/contract/support.py": "unsupported",
    "orchestrator/backends/machine.py": "unavailable",
}
"""Modules whose functions return reasons, or None, with the verdict's status."""
BEGINNING: Mapping[str, str] = {"_untrainable": "training is not possible "}
"""What stands before the reason that a function returns."""


@dataclass(frozen=True)
class WrittenReason:
    """The reason that one call writes."""

    status: str
    module: str
    """Its path in the repository."""
    function: str
    text: str | None
    """With `UNKNOWN` for what is not in the source; None where all of it comes from elsewhere."""


def written_reasons() -> Iterator[WrittenReason]:
    """The reasons of all calls, several of a call that has several."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield from _of_module(path)


def _of_module(path: Path) -> Iterator[WrittenReason]:
    text = path.read_text("utf-8")
    module = path.relative_to(ROOT).as_posix()
    if module in OF_COMMANDS:
        return
    if module not in STATUS_OF_MODULE and not any(f"{name}(" in text for name in STATUS_OF_CALL):
        return
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            known = _assigned(function)
            if module in STATUS_OF_MODULE:
                yield from _returned(module, function, known)
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and (name := _name(call.func)) in STATUS_OF_CALL:
                    status, argument = _arguments(name, call)
                    for reason in _texts(argument, known) or [None]:
                        yield WrittenReason(status, module, function.name, reason)


def _returned(
    module: str, function: ast.FunctionDef, known: Mapping[str, list[ast.expr]]
) -> Iterator[WrittenReason]:
    """The texts that a function returns which may return None."""
    if function.returns is None or ast.unparse(function.returns) != "str | None":
        return
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            for text in _texts(node.value, known):
                whole = f"{BEGINNING.get(function.name, '')}{text}"
                if whole.removesuffix(UNKNOWN) in BEGINNING.values():
                    continue
                yield WrittenReason(STATUS_OF_MODULE[module], module, function.name, whole)


def _arguments(name: str, call: ast.Call) -> tuple[str, ast.expr]:
    status = STATUS_OF_CALL[name]
    if name == "LaunchOutcome":
        first = call.args[0]
        assert isinstance(first, ast.Constant)
        return str(first.value), call.args[1]
    return status, call.args[-1] if name == "_save_lost" else call.args[0]


def _name(function: ast.expr) -> str:
    return getattr(function, "id", getattr(function, "attr", ""))


def _assigned(function: ast.FunctionDef) -> Mapping[str, list[ast.expr]]:
    """Values that the function gives to its own names."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    return values


def _texts(node: ast.expr, known: Mapping[str, list[ast.expr]]) -> list[str]:
    """The texts that an expression may have; none if nothing of them is in the source."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(whole) for whole in product(*(_part(part, known) for part in parts))]
        case ast.IfExp(body=body, orelse=other):
            return [*_texts(body, known), *_texts(other, known)]
        case ast.Name(id=name):
            others = {key: values for key, values in known.items() if key != name}
            return [text for value in known.get(name, ()) for text in _texts(value, others)]
    return []


def _part(node: ast.expr, known: Mapping[str, list[ast.expr]]) -> Sequence[str]:
    value = node.value if isinstance(node, ast.FormattedValue) else node
    assert isinstance(value, ast.expr)
    return _texts(value, known) or [UNKNOWN]
