"""Words about a matrix that was predicted into a file."""

from collections.abc import Iterator

from orchestrator.commands.predict.predicted_matrix import PredictedMatrix
from orchestrator.commands.predict.stored_predictor import training_command
from orchestrator.commands.predict.words import added_words, source_words, training_words
from orchestrator.screen.lines import print_json, print_line
from orchestrator.system.text import plural

_MOST_REASONS = 3


def print_matrix(written: PredictedMatrix, *, as_json: bool) -> None:
    """Print what was written, and how far it can be trusted."""
    if as_json:
        print_json(
            {
                "output": str(written.output),
                "cells": len(written.answer.cells),
                "predicted": written.predicted,
                "extrapolated": written.extrapolated,
                "refused": dict(written.refused),
                "targets": written.answer.targets,
                "added_since": written.answer.added,
            }
        )
        return
    for line in matrix_lines(written):
        print_line(line)


def matrix_lines(written: PredictedMatrix) -> Iterator[str]:
    """The same in words."""
    answer = written.answer
    total = len(answer.cells)
    refused = sum(written.refused.values())
    yield (
        f"{written.output}: {total:,} {plural(total, 'cell')}: {written.predicted:,} predicted,"
        f" {written.extrapolated:,} of them by extrapolation; {refused:,} refused"
    )
    for reason, count in [*written.refused.items()][:_MOST_REASONS]:
        yield f"refused {count:,}: {reason}"
    more = len(written.refused) - _MOST_REASONS
    if more > 0:
        yield f"… and {more} more {plural(more, 'reason')}, which the column `reason` has"
    yield f"rests on {source_words(answer.manifest.examples)}"
    command = training_command(answer.database)
    yield from added_words(answer.added, training_words(answer.manifest, command))
