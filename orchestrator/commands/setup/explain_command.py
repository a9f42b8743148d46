"""`explain`: words on the screen that a reader may not know."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_word
from orchestrator.system.options import Json


@dataclass(frozen=True, kw_only=True)
class ExplainCommand(Command):
    """Explain a word of the screen; without one, list them."""

    word: Annotated[
        str | None,
        typer.Argument(
            metavar="WORD",
            help="E.g. grade.  [default: all]",
            show_default=False,
            autocompletion=complete_word,
        ),
    ] = None
    json: Json = False

    def execute(self) -> None:
        from orchestrator.screen.dictionary import find_word, print_word, print_words

        if self.word is None:
            print_words(as_json=self.json)
        else:
            print_word(find_word(self.word), as_json=self.json)
