"""SQL that draws results: which cell on which host when, how it ended, how long it took.

The same seed, row and stream always draw the same number.
"""

import math
import random

from performance.synthetic.laboratory import HOSTS, OPENED, VISITS_A_RELEASE

STREAMS = 1024
"""The distance of the keys of neighbouring rows, so that streams below it belong to one row."""
CELLS_A_RUN = 500
DURATIONS = 50
WARMUPS = 4
_OFFSET_BITS = 40
_STRIDE = 733
_WANDERS = 10
"""Iterations over which the host's mood stays the same."""


def uniform(stream: int, key: str = "key") -> str:
    """A number between 0 and 1, both left out."""
    return f"(((hash({key} + {stream}) >> 11) + 0.5) / 9007199254740992.0)"


def spread(stream: int, deviation: float) -> str:
    """A factor around 1, log-normal."""
    return f"exp({deviation} * {normal(f'hash(key + {stream})')})"


def normal(bits: str) -> str:
    """A number of mean 0 and deviation 1 from a hash's lower 48 bits: three uniform ones added."""
    return (
        f"((({bits} & 65535) + (({bits} >> 16) & 65535) + (({bits} >> 32) & 65535))"
        " / 32768.0 - 3.0)"
    )


def rest(bits: str) -> str:
    """A number between 0 and 1 from the hash's 16 bits that `normal` leaves."""
    return f"((({bits} >> 48) + 0.5) / 65536.0)"


def drawn(first: int, last: int, cells: int, seed: int) -> str:
    """The results numbered from `first` to before `last`, with durations and their statistics."""
    query = _planned(first, last, cells, seed)
    for columns in (_CONDITIONS, _OUTCOME, _MOOD, _DURATIONS, _MIDDLE, _DISTANCES):
        added = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        query = f"SELECT *, {added} FROM ({query})"
    return query


def _planned(first: int, last: int, cells: int, seed: int) -> str:
    """Hosts take turns; each of their nightly runs goes on in the list of cells."""
    offset = random.Random(seed).getrandbits(_OFFSET_BITS)
    stride = next(step for step in range(_STRIDE, _STRIDE + cells) if math.gcd(step, cells) == 1)
    opened = f"TIMESTAMPTZ '{OPENED.isoformat()}'"
    return f"""
        SELECT *, {opened} + to_days(visit) + to_minutes(host * 7) AS started_at
        FROM (
            SELECT i, i // {CELLS_A_RUN} AS run, i % {CELLS_A_RUN} AS place,
                (i // {CELLS_A_RUN} % {HOSTS})::INTEGER AS host,
                (i // {CELLS_A_RUN * HOSTS})::INTEGER AS visit,
                i // {CELLS_A_RUN * HOSTS * VISITS_A_RELEASE} AS release,
                (({CELLS_A_RUN} * (i // {CELLS_A_RUN * HOSTS}) + i % {CELLS_A_RUN}) * {stride}
                    + 37 * (i // {CELLS_A_RUN} % {HOSTS})) % {cells} AS cell,
                ({offset} + i) * {STREAMS} AS key,
                ({offset} - 1 - i // {CELLS_A_RUN}) * {STREAMS} AS run_key
            FROM range({first}, {last}) numbers(i)
        )
        JOIN cells USING (cell)
        JOIN hosts USING (host, accelerated)
        JOIN releases USING (release, path, host)
    """


_CONDITIONS = {
    "luck": uniform(0),
    "busy": f"{uniform(0, 'run_key')} < 0.06",
    "two_rounds": "visit % 3 = 0",
}
_OUTCOME = {
    "status": """CASE
        WHEN refusal IS NOT NULL THEN 'unsupported'
        WHEN NOT present THEN 'unavailable'
        WHEN memory_bytes > room_bytes THEN 'out_of_memory'
        WHEN luck < 0.0005 THEN 'lost'
        WHEN luck < 0.0005 + broken THEN 'failed'
        WHEN nominal_ns / speed > 2e10 OR luck > 0.998 THEN 'timeout'
        ELSE 'ok' END""",
    "pace_ns": f"nominal_ns / (CASE WHEN accelerated THEN speed / 3 ELSE speed END) * pace"
    f" * {spread(1, 0.012)}",
    "noise_now": f"noise * {spread(2, 0.3)} * CASE WHEN busy THEN 7 ELSE 1 END",
    "tail": f"CASE WHEN busy THEN 0.2 ELSE 0.015 + noise / 3 * {uniform(3)} END",
    "trend": f"CASE WHEN {uniform(4)} < 0.05 THEN 0.12 * {uniform(5)} ELSE 0 END",
}
_MOOD = {
    "ok": "status = 'ok'",
    "moods": f"[0.6 * {normal('hash(key + 100 + part)')}"
    f" FOR part IN range({DURATIONS // _WANDERS + 1})]",
}
_BITS = "[hash(key + 200 + number) FOR number IN range({count})]"
_ONE = f"""
    (pace_ns * exp(noise_now * ({normal("bits")} + moods[nth // {_WANDERS} + 1]))
        * (1 + trend * nth / {DURATIONS})
        * CASE WHEN {rest("bits")} < tail
            THEN 1 + least(0.15 * pow({rest("bits")} / tail, -0.7), 60.0) ELSE 1 END)::BIGINT
"""
_SERIES = f"list_transform({_BITS}, lambda bits, nth: {_ONE})"
_DURATIONS = {
    "durations": f"CASE WHEN ok THEN {_SERIES.format(count=DURATIONS)} END",
    "warmups": f"CASE WHEN ok THEN [(pace_ns * (1 + 2.5 / (1 + nth * nth)"
    f" * {uniform(7)}))::BIGINT FOR nth IN range({WARMUPS})] END",
}
_HALF = DURATIONS // 2
_MIDDLE = {
    "ordered": "list_sort(durations)",
    "total_ns": "list_sum(durations)",
    "mean_ns": "list_avg(durations)",
    "deviation_ns": "list_stddev_samp(durations)",
    "first_half_ns": f"list_median(durations[1:{_HALF}])",
    "last_half_ns": f"list_median(durations[{_HALF + 1}:])",
}
_DISTANCES = {
    "median_ns": f"(ordered[{_HALF}] + ordered[{_HALF + 1}]) / 2",
    "mad_ns": f"list_median([abs(each - (ordered[{_HALF}] + ordered[{_HALF + 1}]) / 2)"
    " FOR each IN durations])",
    "neighbours": "list_dot_product([each - mean_ns FOR each IN durations[2:]],"
    " [each - mean_ns FOR each IN durations[:-2]])"
    f" / ({DURATIONS - 1} * deviation_ns * deviation_ns)",
    "cv": "deviation_ns / mean_ns",
}
