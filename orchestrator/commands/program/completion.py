"""Completion by the shell: of values, and how it is installed. It fails in silence."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import typer

from analysis.results.synonyms import axis_called
from orchestrator.commands.program.program import known_name
from orchestrator.screen.lines import print_line
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import AxisName
from runner.contract.errors import UsageError

PROGRAM = "orchestrator"
_VARIABLE = "_ORCHESTRATOR_COMPLETE"
"""The shell's scripts ask by this variable."""
_LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Variables by which bash and other shells hand over the line that is typed."""
_OPTION = re.compile(r"(?<=\s--)[A-Za-z][\w-]*(?=[\s=])")
_START_FILES = (".bashrc", ".zshrc")
"""Files of shells that get a line there."""
Complete = Callable[[typer.Context, str], list[str]]


def completing(app: typer.Typer) -> bool:
    """True if a shell asked for words, which are printed; whatever goes wrong, it gets none."""
    if _VARIABLE not in os.environ:
        return False
    with suppress(Exception):
        from typer.completion import get_completion_inspect_parameters

        get_completion_inspect_parameters()  # this is what registers the shells
        _call_options_by_known_names()
        app(standalone_mode=False, prog_name=PROGRAM)
    return True


def _call_options_by_known_names() -> None:
    """Let a line say `--runtime` where `--runtimes` was typed: values are looked up by that."""
    for line in filter(os.environ.__contains__, _LINES):
        os.environ[line] = _OPTION.sub(lambda option: known_name(option[0]), os.environ[line])


def _offer(words: Callable[[typer.Context], Sequence[str]]) -> Complete:
    """The completion of a value by one of these words."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        with suppress(Exception):
            return [word for word in words(context) if word.startswith(incomplete)]
        return []

    return complete


def _offer_list(words: Callable[[], Sequence[str]]) -> Complete:
    """The completion of the last value of a list that is joined by commas."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        del context
        *given, begun = incomplete.split(",")
        head = "".join(f"{word}," for word in given)
        with suppress(Exception):
            return [
                f"{head}{word}" for word in words() if word.startswith(begun) and word not in given
            ]
        return []

    return complete


def _results(context: typer.Context) -> Path:
    return Path(context.params.get("results") or RESULTS_FOLDER)


def _models() -> list[str]:
    from orchestrator.commands.program.completion_words import model_names

    return model_names()


def _run_ids(context: typer.Context) -> list[str]:
    from orchestrator.commands.program.completion_words import run_ids

    return run_ids(_results(context))


def _snapshots(context: typer.Context) -> list[str]:
    from orchestrator.commands.program.completion_words import snapshot_names

    return snapshot_names(_results(context))


def _sides(context: typer.Context) -> list[str]:
    """The names of sides of a comparison: runs and snapshots."""
    return list(dict.fromkeys((*_run_ids(context), *_snapshots(context))))


def _views(context: typer.Context) -> list[str]:
    from orchestrator.commands.program.completion_words import view_names

    del context
    return view_names()


def _sets(context: typer.Context) -> list[str]:
    from orchestrator.commands.program.completion_words import set_names

    del context
    return set_names()


def _families() -> list[str]:
    from typing import get_args

    from runner.contract.models import Family

    return list(get_args(Family))


def _words(context: typer.Context) -> list[str]:
    from orchestrator.screen.dictionary import WORDS

    del context
    return [word.name for word in WORDS]


def _choices(name: AxisName) -> list[str]:
    return [choice for choice in axis_called(name).choices if choice != "fake"]


def complete_axis(name: AxisName, word: str | None = None) -> Complete:
    """The completion of an option that lists values of this axis, or a word in their place."""
    more = [word] if word else []
    return _offer_list(_models if name == "model" else lambda: [*_choices(name), *more])


def _properties(context: typer.Context) -> list[str]:
    from analysis.results.series import DETERMINED

    del context
    return list(DETERMINED)


def _metrics(context: typer.Context) -> list[str]:
    from analysis.results.metrics import METRICS

    del context
    return list(METRICS)


complete_model = _offer(lambda _: _models())
complete_family = _offer_list(_families)
complete_set = _offer(_sets)
complete_backend = _offer(lambda _: _choices("backend"))
complete_mode = _offer(lambda _: _choices("mode"))
complete_run = _offer(_run_ids)
complete_snapshot = _offer(_snapshots)
complete_side = _offer(_sides)
complete_view = _offer(_views)
complete_word = _offer(_words)
complete_property = _offer(_properties)
complete_metric = _offer(_metrics)


def complete_result(context: typer.Context, incomplete: str) -> list[str]:
    """The completion of `<run>/<cell id>`: first the run, then its results."""
    from orchestrator.commands.program.completion_words import result_ids

    run, slash, _ = incomplete.partition("/")
    with suppress(Exception):
        if not slash:
            return [f"{name}/" for name in _run_ids(context) if name.startswith(run)]
        results = result_ids(_results(context), run)
        return [name for name in results if name.startswith(incomplete)]
    return []


def install_completion(
    context: typer.Context, parameter: typer.CallbackParam, wanted: bool
) -> None:
    """Teach the shell at hand to complete, and say which files that wrote and edited."""
    if not wanted:
        return
    from typer.completion import install_callback

    paths = [Path.home() / name for name in _START_FILES]
    before = [_content(path) for path in paths]
    try:
        install_callback(context, parameter, wanted)
    except typer.Exit as end:
        raise UsageError(
            "--install-completion: knows bash, zsh, fish and PowerShell, and this shell is none",
            hint="call it from one of them",
        ) from end
    finally:
        for path, content in zip(paths, before, strict=True):
            if _content(path) != content:
                print_line(f"edited {path}, which reads it when a shell starts")


def _content(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def show_completion(context: typer.Context, parameter: typer.CallbackParam, wanted: bool) -> None:
    """Print what the shell at hand would read to complete."""
    from typer.completion import show_callback

    show_callback(context, parameter, wanted)
