"""Arrow tables as pandas data frames, where pandas is installed."""

from typing import TYPE_CHECKING

import pyarrow as pa

from orchestrator.errors import StoreError

if TYPE_CHECKING:
    from pandas import DataFrame


def to_pandas(table: pa.Table) -> "DataFrame":
    """The table as a data frame; maps become dicts, whole numbers with nulls become floats.

    Raises:
        StoreError: pandas is not installed.
    """
    try:
        frame: DataFrame = table.to_pandas(maps_as_pydicts="strict")
    except ModuleNotFoundError as error:
        raise StoreError(
            "pandas is not installed here",
            hint="`pip install pandas`, or take the Arrow table: `store.arrow(sql)`",
        ) from error
    return frame
