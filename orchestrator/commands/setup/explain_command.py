"""`explain`: words on the screen that a reader may not know."""

from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.program.completion import complete_word


def explain(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="WORD",
            help="E.g. grade.  [default: all]",
            show_default=False,
            autocompletion=complete_word,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain a word of the screen; without one, list them."""
    from orchestrator.screen.dictionary import find_word, print_word, print_words

    if word is None:
        print_words(as_json=json)
    else:
        print_word(find_word(word), as_json=json)
