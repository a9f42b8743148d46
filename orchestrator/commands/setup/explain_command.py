"""`explain`: words on the screen that a reader may not know."""

from dataclasses import dataclass
from typing import Annotated

import typer

from analysis.results.table import wrapping
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_word
from orchestrator.screen.dictionary import WORDS, find_word
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
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
        if self.word is not None:
            word = find_word(self.word)
            if self.json:
                print_json({"word": word.name, "lines": word.lines, "others": word.others})
            else:
                print_line("\n".join([word.name, *(f"  {line}" for line in word.lines)]))
        elif self.json:
            print_json({word.name: word.lines for word in WORDS})
        else:
            rows = [(word.name, word.lines[0]) for word in WORDS]
            print_lines(("word", *wrapping("meaning")), rows)
            print_line("\n`orchestrator explain WORD` says more.")
