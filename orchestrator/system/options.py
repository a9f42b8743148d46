"""Declarations of options: what they read, and those that most commands share.

An option is a field of a frozen value, annotated with typer's description of it. Its parser makes
of the word on the command line what the field holds, or says which words would do.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.text import parse_duration, parse_size, split_list
from runner.contract.errors import UsageError, refuse_unknown

_WHOLE = re.compile(r"-?[0-9]+", re.ASCII)
Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="The folder that holds all runs.")
]
Database = Annotated[
    Path | None,
    typer.Option(
        "--database", metavar="FILE", help=f"The DuckDB file.  [default: DIR/{DATABASE_NAME}]"
    ),
]

Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write it there, whole or not at all."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Wide = Annotated[
    bool, typer.Option("--wide", help="Leave no column out, however narrow the terminal.")
]
Json = Annotated[bool, typer.Option("--json", help="Print data as JSON.")]


def choice(values: Any, name: str, *, help: str) -> Any:  # noqa: A002 -- as typer calls it
    words = get_args(values)
    return typer.Option(name, metavar="|".join(words), help=help, parser=_one_of(words))


def format_choice(values: Any) -> Any:
    return choice(values, "--format", help="[default: what FILE's name says, else table]")


def choice_argument(values: Any, *, help: str, show_default: bool = True) -> Any:  # noqa: A002
    words = get_args(values)
    return typer.Argument(
        metavar="|".join(words), help=help, show_default=show_default, parser=_one_of(words)
    )


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    def parse(word: str) -> str:
        if word not in words:
            raise typer.BadParameter(refuse_unknown(word, words))
        return word

    return parse


def number_parser(least: int = 1, most: int | None = None) -> Callable[[object], int]:
    def parse(value: object) -> int:
        text = str(value)
        if not _WHOLE.fullmatch(text):
            raise typer.BadParameter(f"{text!r} is not a whole number")
        number = int(text)
        if most is not None and not least <= number <= most:
            raise typer.BadParameter(f"{number} is not between {least} and {most}")
        if number < least:
            raise typer.BadParameter(f"{number} is less than {least}")
        return number

    return parse


def parser_of(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A parser whose ValueError tells the user what is wrong."""

    def checked(value: Any) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return checked


seconds_parser = parser_of(parse_duration)
bytes_parser = parser_of(parse_size)


def split_words(texts: list[str] | None) -> list[str] | None:
    """The words of an option that may be repeated, or have commas between them."""
    return split_list(texts) if texts else texts


def asked_format(form: str | None, *, as_json: bool) -> str | None:
    if as_json and form not in {None, "json"}:
        raise UsageError(
            f"--json and --format {form} contradict each other", hint="give one of them"
        )
    return "json" if as_json else form
