"""The answer to a question, as Arrow has it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.store.query.question_errors import too_large

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """The answer to a question. It can be read once, while its connection is open."""

    schema: pa.Schema
    """Its columns; no two have the same name."""
    batches: Iterator[pa.RecordBatch]
    """Its rows, some thousands at a time."""
    most_bytes: int = sys.maxsize
    """Most memory that it may take as a whole."""

    def table(self) -> pa.Table:
        """The whole answer at once.

        Raises:
            UsageError: it takes more memory than the question may.
        """
        from pyarrow import Table

        return Table.from_batches(list(self.within(self.most_bytes)), self.schema)

    def within(self, most_bytes: int) -> Iterator[pa.RecordBatch]:
        """Its rows, for somebody who keeps them all.

        Raises:
            UsageError: together they take more than this.
        """
        total = 0
        for batch in self.batches:
            total += batch.nbytes
            if total > most_bytes:
                raise too_large(most_bytes)
            yield batch
