"""Completion by the shell: of values, and how it is installed. It fails in silence.

Words are read from names of files, without opening any, as a user waits for each of them.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args

import typer

import runner
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
_MODELS = Path(runner.__file__).parent / "contract" / "models"
_LAST = ("last", "last~1")
_NEWEST = 50
"""Runs that are offered; more than that nobody looks through."""
Complete = Callable[[typer.Context, str], list[str]]


def completing(app: typer.Typer) -> bool:
    """True if a shell asked for words, which are printed; whatever goes wrong, it gets none."""
    if _VARIABLE not in os.environ:
        return False
    with suppress(Exception):
        from typer.completion import get_completion_inspect_parameters

        get_completion_inspect_parameters()  # this is what registers the shells
        for line in filter(os.environ.__contains__, _LINES):  # values are looked up by known names
            words = os.environ[line]
            os.environ[line] = _OPTION.sub(lambda option: known_name(option[0]), words)
        app(standalone_mode=False, prog_name=PROGRAM)
    return True


def _offer(words: Callable[[typer.Context], Sequence[str]]) -> Complete:
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


def model_names() -> list[str]:
    """The models of the catalogue, and behind them the sets."""
    return sorted(path.stem for path in (_MODELS / "configs").glob("*.json")) + _set_names()


def _set_names() -> list[str]:
    return list(json.loads((_MODELS / "sets.json").read_bytes()))


def _run_ids(results: Path) -> list[str]:
    """`last` and `last~1`, and the runs in this folder, the newest first."""
    runs = sorted((path.parent.name for path in results.glob("[!.]*/run.json")), reverse=True)
    return [*_LAST[: len(runs)], *runs[:_NEWEST]]


def _snapshots(results: Path) -> list[str]:
    """`last`, and the folders of snapshots, the newest first."""
    names = sorted((path.name for path in (results / "snapshots").glob("[!.]*/")), reverse=True)
    return ["last", *names] if names else []


def _result_ids(results: Path, run: str) -> list[str]:
    """The results of a run, `<run>/<cell id>`, whose records still lie in files of their own."""
    known = _run_ids(results)
    runs = known[len(_LAST) :] if len(known) > len(_LAST) else known[1:]
    folder = dict(zip(_LAST, runs, strict=False)).get(run, run)
    paths = (results / folder).glob("records/*/*.parquet")
    return sorted(f"{run}/{path.stem}" for path in paths)


def _sides(context: typer.Context) -> list[str]:
    results = _results(context)
    return list(dict.fromkeys((*_run_ids(results), *_snapshots(results))))


def _views(_: typer.Context) -> list[str]:
    from orchestrator.store.query.relations import RELATIONS

    return [relation.name for relation in RELATIONS]


def _families() -> list[str]:
    from runner.contract.models import Family

    return list(get_args(Family))


def _words(_: typer.Context) -> list[str]:
    from orchestrator.screen.dictionary import WORDS

    return [word.name for word in WORDS]


def _properties(_: typer.Context) -> list[str]:
    from analysis.results.series import DETERMINED

    return list(DETERMINED)


def _metrics(_: typer.Context) -> list[str]:
    from analysis.results.metrics import METRICS

    return list(METRICS)


def _choices(name: AxisName) -> list[str]:
    return [choice for choice in axis_called(name).choices if choice != "fake"]


def complete_axis(name: AxisName, word: str | None = None) -> Complete:
    """The completion of an option that lists values of this axis, or a word in their place."""
    more = [word] if word else []
    return _offer_list(model_names if name == "model" else lambda: [*_choices(name), *more])


complete_model = _offer(lambda _: model_names())
complete_family = _offer_list(_families)
complete_set = _offer(lambda _: _set_names())
complete_backend = _offer(lambda _: _choices("backend"))
complete_mode = _offer(lambda _: _choices("mode"))
complete_run = _offer(lambda context: _run_ids(_results(context)))
complete_snapshot = _offer(lambda context: _snapshots(_results(context)))
complete_side = _offer(_sides)
complete_view = _offer(_views)
complete_word = _offer(_words)
complete_property = _offer(_properties)
complete_metric = _offer(_metrics)


def complete_result(context: typer.Context, incomplete: str) -> list[str]:
    """The completion of `<run>/<cell id>`: first the run, then its results."""
    run, slash, _ = incomplete.partition("/")
    with suppress(Exception):
        results = _results(context)
        names = _result_ids(results, run) if slash else [f"{one}/" for one in _run_ids(results)]
        return [name for name in names if name.startswith(incomplete)]
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
    from typer.completion import show_callback

    show_callback(context, parameter, wanted)
