"""Questions to a database of given records."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store import Store, query
from runner.contract.record import Record, Row, rows
from tests.orchestrator.store.conftest import Save

Ask = Callable[..., list[Row]]


@pytest.fixture
def ask(database: Path, results: Path, save: Save) -> Ask:
    """Merge these records, if any, and answer in SQL."""

    def answer(sql: str, *records: Record) -> list[Row]:
        if records:
            save(*records)
            with Store.open(database) as store:
                store.merge([results])
        return rows(query(database, sql))

    return answer
