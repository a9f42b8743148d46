"""A command: a frozen value whose fields are its options, and what it does with them."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import get_type_hints

from typer.models import ArgumentInfo

from runner.contract.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Command(ABC):
    """A request of the command line. typer makes it; each subclass declares its options as fields.

    Options that several commands share are fields of frozen values too, from which they inherit.
    """

    @abstractmethod
    def execute(self) -> int | None:
        """Do what is asked for; the exit code, None for 0."""

    def given(self) -> dict[str, str]:
        """The fields that are not as they are usually, with the names that the user sees."""
        hints = get_type_hints(type(self), include_extras=True)
        return {
            field.name: _visible_name(field.name, hints[field.name].__metadata__[-1])
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }

    def refuse_beside(self, other: str, names: Collection[str]) -> None:
        """Refuse options of these fields, which cannot be combined with that."""
        for name, option in self.given().items():
            if name in names:
                message = f"{option}: cannot be combined with {other}"
                raise UsageError(message, hint="leave one of them out")

    def refuse_all_but(self, mode: str, names: Iterable[str]) -> None:
        """Refuse options of other fields, which a mode of the command does not use."""
        own = {name for name, option in self.given().items() if option == mode}
        self.refuse_beside(mode, {field.name for field in fields(self)} - {*names, *own})

    def refuse_without(self, mode: str, names: Collection[str]) -> None:
        """Refuse options of these fields unless the option that they belong to was given."""
        given = self.given()
        for name, option in given.items():
            if name in names and mode not in given.values():
                hint = f"add {mode}, or leave {option} out"
                raise UsageError(f"{option} needs {mode}", hint=hint)


def _visible_name(name: str, info: object) -> str:
    """The metavar of an argument; the first name of an option, which typer keeps as its default."""
    if isinstance(info, ArgumentInfo):
        return str(info.metavar)
    declared = vars(info)["default"]
    return declared if isinstance(declared, str) else f"--{name.replace('_', '-')}"


def fields_in_help(command: object) -> list[str]:
    """The names of a command's fields, its own first, then those of its bases in their order."""
    owners = command.__mro__ if isinstance(command, type) else ()
    return list(dict.fromkeys(name for owner in owners for name in inspect.get_annotations(owner)))


def execute(command: object) -> int:
    """Do what a command line asks for; the exit code."""
    return command.execute() or 0 if isinstance(command, Command) else 0
