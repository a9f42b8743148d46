"""Values of columns whose meaning has changed, from records of older schemas.

Before schema 6 `time_per_output_token_*` held all gaps between tokens, pooled, which are
`inter_token_latency_*` since; only MLPerf's summaries told one value of each query. Percentiles of
a queue stood without the bounds that they need, so they are dropped: the raw durations are kept.
Grades left out what processes differ by; intervals of several rounds were of all durations, as if
one process had them. Until 2026-11-25 the id of a machine told its memory to the byte, of which
each kernel keeps another part for itself, and that of a processor under OpenVINO until 2026-11-27
the padding of its name.
"""

from collections.abc import Mapping

from runner.contract.record import MACHINE_FACTS, MEMORY_FACT, MEMORY_UNIT_BYTES

CHANGED_IN_SCHEMA = 6
"""The schema of records that changed the meaning of columns; earlier ones are brought forward."""
_CHANGED = f"schema_version < {CHANGED_IN_SCHEMA}"
_PER_QUERY = "source_format IS NOT DISTINCT FROM 'mlperf-loadgen'"
_OWN = "source IN ('accelmatrix', 'synthetic')"
_TOKENS = "time_per_output_token"
_GAPS = "inter_token_latency"
_POOLED = f"{_CHANGED} AND NOT {_PER_QUERY} AND {_GAPS}_mean_s IS NULL"
"""Rows that were brought forward before keep their schema, and have gaps of their own."""
_STATISTICS = ("mean", "median", "stddev", "p50", "p90", "p95", "p99", "p999")
_DERIVED = {"mean": "list_avg", "median": "list_median", "stddev": "list_stddev_samp"}
_PER_GENERATION = """
    list_transform(
        list_zip(durations_ns, part_durations_ns['first_token']),
        lambda each: (each[1] - each[2]) / (new_tokens - 1)
    )
"""
_HAS_GENERATIONS = f"""
    {_OWN} AND new_tokens > 1 AND len(durations_ns) = len(part_durations_ns['first_token'])
"""
_PARTITION = "device_partition"
_DEVICE = "device_name"
_TAILS = ("latency_p90_s", "latency_p95_s", "latency_p99_s", "latency_p999_s")


def _per_token(statistic: str) -> str:
    name = f"{_TOKENS}_{statistic}_s"
    derived = "NULL"
    if statistic in _DERIVED:
        derived = f"""CASE WHEN {name} IS NOT NULL AND {_HAS_GENERATIONS}
            THEN {_DERIVED[statistic]}({_PER_GENERATION}) / 1e9 END"""
    return f"CASE WHEN {_POOLED} THEN {derived} ELSE {name} END"


TOKEN_VALUES: Mapping[str, str] = {f"{_TOKENS}_{name}_s": _per_token(name) for name in _STATISTICS}
"""Expressions of times per output token, which need raw durations."""
GAP_VALUES: Mapping[str, str] = {
    f"{_GAPS}_{name}_s": f"""
        CASE WHEN {_POOLED} THEN {_TOKENS}_{name}_s ELSE {_GAPS}_{name}_s END
    """
    for name in _STATISTICS
}
"""Expressions of the gaps between tokens, over the columns of both."""
TAIL_VALUES: Mapping[str, str] = {
    name: f"CASE WHEN {_CHANGED} AND {_OWN} AND scenario = 'server' THEN NULL ELSE {name} END"
    for name in _TAILS
}
"""Expressions of percentiles."""
STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
"""The stages of a start, by which schema 6 names its columns."""
FORMER_STAGES = frozenset(
    f"startup_{stage}_{statistic}_s" for stage in STAGES for statistic in ("mean", "stddev")
)
"""Columns of starts before schema 6, which raw durations hold as well: they are dropped."""
STAGE_VALUES: Mapping[str, str] = {
    f"startup_warm_{stage}_median_s": f"""
        CASE WHEN {_CHANGED} AND {_OWN} AND mode = 'startup'
        THEN list_median(part_durations_ns['{stage}']) / 1e9
        ELSE startup_warm_{stage}_median_s END
    """
    for stage in STAGES
}
"""Expressions of medians of warm starts' stages, which need raw durations."""
STOOD_FOR: Mapping[str, str] = {"weights_seed": "seed"}
"""Columns that a file of before schema 6 lacks, with the one that said it as well."""
_OVERRATED = f"{_CHANGED} AND {_OWN} AND grade IN ('A', 'B')"
GRADE_VALUES: Mapping[str, str] = {
    "grade": f"CASE WHEN {_OVERRATED} THEN 'C' ELSE grade END",
}
"""Expressions of grades: by today's rules no interval of before supports more than C."""
_PER_SAMPLE = "energy_per_sample_joules"
ENERGY_VALUES: Mapping[str, str] = {
    _PER_SAMPLE: f"CASE WHEN mode = 'startup' AND {_OWN} THEN NULL ELSE {_PER_SAMPLE} END"
}
"""The expression of joules per sample: those of starts held more than the starts' times."""
OLDER_VALUES: Mapping[str, str] = {
    **TOKEN_VALUES,
    **GAP_VALUES,
    **TAIL_VALUES,
    **STAGE_VALUES,
    **GRADE_VALUES,
    **ENERGY_VALUES,
}


MEMORY_GIB = f"(({MEMORY_FACT} // {MEMORY_UNIT_BYTES // 2} + 1) // 2)"
"""The expression of a machine's memory as ids count it, in GiB; no sum of it overflows."""
_THIS_PART = f"nullif({_PARTITION}, '')"


def hardware_id_sql(
    partition: str = _THIS_PART, memory: str = MEMORY_GIB, device: str = _DEVICE
) -> str:
    """The expression of the id of a machine with its device, or with this part of it."""
    values = {name: name for name in MACHINE_FACTS if name != _PARTITION}
    values |= {MEMORY_FACT: memory, _DEVICE: device}
    facts = (f"coalesce({value}::VARCHAR, 'None')" for value in values.values())
    return f"sha256(concat_ws(chr(10), {', '.join(facts)}, {partition}))[:16]"


def exact_hardware_id_sql(partition: str = _THIS_PART) -> str:
    """The expression of the id that told the memory to the byte."""
    return hardware_id_sql(partition, MEMORY_FACT)


IS_PADDED_CPU = f"""
    device_name <> cpu_model AND (trim(device_name) = cpu_model OR device_name = 'ARM CPU')
    AND hardware_id IN ({hardware_id_sql()}, {exact_hardware_id_sql()})
"""
"""The condition of machines whose processor OpenVINO named: with its padding, or each of ARM alike.
Their records are of any schema."""
IS_OLDER_SLICE = f"{_CHANGED} AND source = 'accelmatrix' AND device_uuid LIKE 'MIG-%'"
"""The condition of results of a part of an NVIDIA GPU, which had the id of the whole one."""
OLDER_PARTITION = "coalesce(nullif(regexp_extract(device_name, ' MIG (.+)$', 1), ''), 'MIG')"
"""The name of that part, as far as the device's name tells it."""
MACHINE_VALUES: Mapping[str, str] = {
    _DEVICE: f"CASE WHEN {IS_PADDED_CPU} THEN cpu_model ELSE {_DEVICE} END",
    _PARTITION: f"CASE WHEN {IS_OLDER_SLICE} THEN {OLDER_PARTITION} ELSE {_PARTITION} END",
    "hardware_id": f"""
        CASE WHEN {IS_OLDER_SLICE} THEN {hardware_id_sql(OLDER_PARTITION)}
        WHEN {IS_PADDED_CPU} THEN {hardware_id_sql(device="cpu_model")}
        WHEN hardware_id = {exact_hardware_id_sql()} THEN {hardware_id_sql()}
        ELSE hardware_id END
    """,
}
"""Expressions of a machine's id, its device's name and part."""
