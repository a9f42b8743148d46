"""Questions to a database of given records."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.record.files import rows
from runner.contract.record.record import Record, Row
from tests.orchestrator.store.conftest import Save

Ask = Callable[..., list[Row]]


@pytest.fixture
def ask(store: Store, results: Path, save: Save) -> Ask:
    """Asks a database of the records that come with the test's questions."""

    def answer(sql: str, *records: Record) -> list[Row]:
        if records:
            save(*records)
            assert store.merge([results], words=record_words).damaged == ()
        return rows(store._connection.sql(sql).to_arrow_table())

    return answer
