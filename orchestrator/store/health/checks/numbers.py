"""Checks of numbers and words: statistics against raw durations and each other, possible values.

docs/measuring.md defines the columns. A repair derives a column only from statistics that the raw
durations confirm, and only where the cell's id confirms the batch.
"""

from orchestrator.store.health.checks import ranges
from orchestrator.store.health.checks.check import Check, RecordCheck
from orchestrator.store.schema.tables import RESULTS

_FROM_DURATIONS = (
    "`--fix` derives them where the durations are this result's, and takes out the rest"
)
_DERIVED = "`--fix` derives what raw durations confirm, and takes out the rest"
_ORDERED = "`--fix` takes from raw durations what they tell, and takes out the rest"

_RAW_DURATIONS = (
    RecordCheck(
        "iterations are not the durations",
        _FROM_DURATIONS,
        repaired=True,
        table=RESULTS,
        timed=True,
    ),
    RecordCheck(
        "statistics contradict raw durations",
        _FROM_DURATIONS,
        repaired=True,
        table=RESULTS,
        timed=True,
    ),
    RecordCheck(
        "parts contradict raw durations",
        _FROM_DURATIONS,
        repaired=True,
        table=RESULTS,
        timed=True,
    ),
    RecordCheck(
        "rounds are not the iterations",
        "`--fix` takes such results out",
        table=RESULTS,
    ),
)
"""These alone read the durations, with `impossible raw duration`."""

_ARITHMETIC = (
    RecordCheck(
        "curve is not whole",
        "`--fix` takes such results out",
        table=RESULTS,
    ),
    RecordCheck(
        "throughput contradicts latency",
        _DERIVED,
        repaired=True,
        table=RESULTS,
    ),
    RecordCheck(
        "ratio contradicts its parts",
        _DERIVED,
        repaired=True,
        table=RESULTS,
    ),
    Check(
        "work above the peak",
        "measure again on a quiet machine: the highest peak of all its jobs counts",
        severity="note",
        views=("efficiency",),
    ),
    Check(
        "throughput by another clock",
        "compare throughputs of one source alone",
        severity="note",
        imported="note",
    ),
)

VALUES = (
    RecordCheck(
        "impossible value",
        "`--fix` derives statistics from raw durations and takes out what it cannot derive",
        imported="error",
        table=RESULTS,
        sql=ranges.IMPOSSIBLE_VALUE,
    ),
    RecordCheck(
        "zero of others",
        "ask whoever wrote the file",
        severity="warning",
        timed=True,
        at_entry=False,
        sql=ranges.ZERO_OF_OTHERS,
    ),
    RecordCheck(
        "impossible raw duration",
        "`--fix` takes such results out",
        imported="error",
        table=RESULTS,
        timed=True,
    ),
    Check(
        "unknown word",
        "`--fix` takes such results out",
        imported="error",
        table=RESULTS,
        sql=ranges.UNKNOWN_WORD,
    ),
)

_ORDER = (
    RecordCheck(
        "percentiles out of order", _ORDERED, table=RESULTS, sql=ranges.PERCENTILES_OUT_OF_ORDER
    ),
    RecordCheck(
        "middle outside its range", _ORDERED, table=RESULTS, sql=ranges.MIDDLE_OUTSIDE_ITS_RANGE
    ),
    RecordCheck("interval out of order", _ORDERED, table=RESULTS, sql=ranges.INTERVAL_OUT_OF_ORDER),
)

CONTRADICTIONS = (*_RAW_DURATIONS, *_ARITHMETIC, *VALUES, *_ORDER)
