"""The output of a recommendation, or of cells to measure next: a sheet, or a matrix for `run`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.screen.lines import print_content
from orchestrator.screen.sheet import (
    SHEET_SUFFIXES,
    require_output,
    sheet_format,
    show_sheet,
)
from orchestrator.system.files import is_stdout, output_file

if TYPE_CHECKING:
    from orchestrator.commands.recommend.answer import Recommendation
    from orchestrator.commands.recommend.next_cells import NextCells

MATRIX = "matrix"
RECOMMENDATION_SUFFIXES: Mapping[str, str] = {
    **SHEET_SUFFIXES,
    ".yaml": MATRIX,
    ".yml": MATRIX,
}
"""The format that a file's name asks for."""


@dataclass(frozen=True)
class RecommendationOutput:
    """The format and the file that options ask for."""

    form: str | None = None
    """The format; None for that of the file's name, else a table."""
    path: Path | None = None
    """The file; None for stdout."""
    force: bool = False
    wide: bool = False

    def require(self, database: Path) -> None:
        """Refuse a file that cannot be written, before any work is done for it.

        Raises:
            UsageError: it exists, is the database or has a name that says no format.
        """
        suffixes = RECOMMENDATION_SUFFIXES
        require_output(self.form, self.path, force=self.force, database=database, suffixes=suffixes)

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None if the answer is printed."""
        return None if self.path is None or is_stdout(self.path) else self.path.parent

    def show(self, answer: "Recommendation") -> None:
        """Print the recommendation, or write it into the file.

        Raises:
            NothingToDo: a matrix was asked for, and nothing is recommended.
            StoreError: the file cannot be written.
        """
        from orchestrator.commands.recommend.table import recommendation_sheet

        form = sheet_format(self.form, self.path, RECOMMENDATION_SUFFIXES)
        if form == MATRIX:
            self._write(matrix_text(answer).encode())
        else:
            show_sheet(recommendation_sheet(answer, form), form, self.path, wide=self.wide)

    def show_next(self, answer: "NextCells") -> None:
        """Print the cells, or write them; beside a matrix in a file, the table is printed.

        Raises:
            StoreError: the file cannot be written.
        """
        from orchestrator.commands.recommend.next_words import next_sheet, proposed_matrix_text

        form = sheet_format(self.form, self.path, RECOMMENDATION_SUFFIXES)
        if form != MATRIX:
            show_sheet(next_sheet(answer), form, self.path, wide=self.wide)
            return
        self._write(proposed_matrix_text(answer, self.path).encode())
        if self.folder is not None:
            show_sheet(next_sheet(answer, self.path), None, None, wide=self.wide)

    def _write(self, content: bytes) -> None:
        if self.path is None or is_stdout(self.path):
            print_content(content)
            return
        with output_file(self.path) as file:
            file.write(content)


def matrix_text(answer: "Recommendation") -> str:
    """The matrix of what is recommended, with what each entry rests on above it."""
    import yaml

    from orchestrator.commands.recommend.chosen_matrix import chosen_cells, chosen_matrix
    from orchestrator.commands.recommend.words import (
        answer_words,
        requirement_words,
        subject_words,
    )

    matrix = chosen_matrix(answer)
    lines = [f"chosen by `orchestrator recommend`, {requirement_words(answer)}"]
    for choice in answer.choices:
        if choice.ranking:
            name = subject_words(choice.ranking.first.candidate.cell)
            count = len(chosen_cells(choice.ranking))
            more = "" if count == 1 else f" ({count} entries)"
            lines.append(f"{name}{more}: {answer_words(answer, choice.ranking)}")
    comments = "".join(f"# {line}\n" for line in lines)
    return comments + yaml.safe_dump(matrix, sort_keys=False, allow_unicode=True)
