"""Questions to a database of given records."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.record.files import rows
from runner.contract.record.record import Record, Row
from tests.orchestrator.store.conftest import Save

Ask = Callable[..., list[Row]]


@pytest.fixture
def ask(database: Path, results: Path, save: Save) -> Ask:
    def answer(sql: str, *records: Record) -> list[Row]:
        if records:
            save(*records)
            with Store.open(database) as store:
                store.merge([results], words=record_words)
        return rows(query(database, sql))

    return answer
