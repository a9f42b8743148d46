"""Check the rules of CONTRIBUTING that no linter knows: `python -m tools.house [FOLDER ...]`.

Sizes of files, functions and folders; public names that are defined twice; docstrings that begin
like a question; words that stand for nothing.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("runner", "orchestrator", "analysis")
LONGEST_MODULE = 350
LONGEST_FUNCTION = 60
WIDEST_FOLDER = 22
QUESTION = re.compile(r"(What|Whether|Which|How|Where|Who|When|Why)\b")
VAGUE = frozenset({"told", "found", "each", "place", "asked", "made", "those", "what", "why"})
"""Names that say nothing about a value: the noun says it (`message`, `record`, `requested`)."""
PRIVATE_ENGLISH = re.compile(
    r"bystander|doomed|groundwork|leftovers|untold|takeout|ledger|anatomy|twin\b|_told\b"
)
COLUMN_DOCS = ("runner/contract/record", "orchestrator/store/schema")
"""Fields documented here become comments of database columns, which are compared with them: to
word one of them anew would call every existing database altered."""
SHARED_NAMES: Mapping[str, str] = {
    "main": "the entry of each program",
    "group": "the commands below a command, in orchestrator/commands",
    "open_session": "a function of every runtime, see RuntimeModule in runner/backends/base",
    "is_out_of_memory": "the same",
    "prove": "a function of every runtime's module `evidence`",
    "trace": "the same",
    "Table": "one of the database, in orchestrator/store/schema, and one that people see",
    "EXPORT": "the export of a kind of graph; runner/job/prepare imports the module of the kind",
}
"""Public names that several modules may define, each with the reason."""


@dataclass(frozen=True)
class Fault:
    """A rule that a line breaks."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        """The fault as linters print it: `file:line: message`."""
        return f"{self.path}:{self.line}: {self.message}"


def faults(folders: list[Path]) -> list[Fault]:
    """Every broken rule below the folders; names are compared over all packages."""
    modules = {path: ast.parse((ROOT / path).read_text("utf-8")) for path in _modules()}
    within = [path for path in modules if any(path.is_relative_to(folder) for folder in folders)]
    broken = [fault for path in within for fault in _of_module(path, modules[path])]
    return [*broken, *_wide_folders(within), *_shared_names(modules, within)]


def _modules() -> list[Path]:
    paths = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in paths)


def _of_module(path: Path, tree: ast.Module) -> Iterator[Fault]:
    text = (ROOT / path).read_text("utf-8")
    if (lines := text.count("\n")) > LONGEST_MODULE:
        yield Fault(path, 1, f"{lines} lines ({LONGEST_MODULE} is the most)")
    for number, line in enumerate(text.splitlines(), 1):
        if match := PRIVATE_ENGLISH.search(line):
            yield Fault(path, number, f"the word {match[0]!r}")
    column_docs = _column_docs(path, tree)
    for node in ast.walk(tree):
        yield from _long_function(path, node)
        if getattr(node, "lineno", 0) not in column_docs:
            yield from _question(path, node)
        yield from _vague_name(path, node)


def _long_function(path: Path, node: ast.AST) -> Iterator[Fault]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > LONGEST_FUNCTION:
            yield Fault(path, node.lineno, f"{node.name} has {lines} lines")


def _question(path: Path, node: ast.AST) -> Iterator[Fault]:
    """Docstrings, those after an assignment included, that begin like a question."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        text = node.value.value
        if isinstance(text, str) and QUESTION.match(text):
            yield Fault(path, node.lineno, f"begins like a question: {text.splitlines()[0]}")


def _column_docs(path: Path, tree: ast.Module) -> set[int]:
    """The lines of field docstrings that become comments of columns."""
    if not path.as_posix().startswith(COLUMN_DOCS):
        return set()
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    pairs = (pair for body in bodies for pair in pairwise(body))
    return {doc.lineno for field, doc in pairs if isinstance(field, ast.AnnAssign)}


def _vague_name(path: Path, node: ast.AST) -> Iterator[Fault]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        name = node.id
    elif isinstance(node, ast.arg):
        name = node.arg
    else:
        return
    if name in VAGUE:
        yield Fault(path, node.lineno, f"the name {name!r} says nothing")


def _wide_folders(paths: list[Path]) -> Iterator[Fault]:
    folders: dict[Path, int] = defaultdict(int)
    for path in paths:
        folders[path.parent] += path.name != "__init__.py"
    for folder, modules in folders.items():
        if modules > WIDEST_FOLDER:
            yield Fault(folder, 1, f"{modules} modules ({WIDEST_FOLDER} is the most)")


def _shared_names(modules: Mapping[Path, ast.Module], within: list[Path]) -> Iterator[Fault]:
    homes: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path, tree in modules.items():
        for node in tree.body:
            for name in _defined(node):
                homes[name].append((path, node.lineno))
    for name, places in homes.items():
        if len(places) > 1 and not name.startswith("_") and name not in SHARED_NAMES:
            for path, line in places:
                others = ", ".join(str(other) for other, _ in places if other != path)
                if path in within:
                    yield Fault(path, line, f"{name} is defined in {others} too")


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def main() -> int:
    """Print what is broken below the folders named, or everywhere; 1 if anything is."""
    broken = faults([Path(name) for name in sys.argv[1:] or PACKAGES])
    for fault in sorted(broken, key=str):
        sys.stdout.write(f"{fault}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
