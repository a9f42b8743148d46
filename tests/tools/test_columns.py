import pytest

from orchestrator.store.schema.columns import COLUMNS_FILE
from tools.columns import columns_json, sql_type


def test_the_columns_of_the_store_are_the_fields_of_its_values() -> None:
    assert COLUMNS_FILE.read_text("utf-8") == columns_json(), "run `make schemas` and commit it"


def test_a_type_without_a_column_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="no column type"):
        sql_type(complex)
