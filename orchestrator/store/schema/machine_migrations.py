"""Statements that give machines of older databases the ids that runners give them today."""

from collections.abc import Sequence

from orchestrator.store.schema.older_records import (
    IS_OLDER_SLICE,
    IS_PADDED_CPU,
    OLDER_PARTITION,
    exact_hardware_id_sql,
    hardware_id_sql,
)

OLDER_SLICES: Sequence[str] = (
    f"""
    CREATE OR REPLACE TEMP TABLE older_slices AS
    SELECT result_id, hardware_id AS old_id, {exact_hardware_id_sql(OLDER_PARTITION)} AS new_id,
        {OLDER_PARTITION} AS partition
    FROM benchmark_results JOIN hardware_info USING (hardware_id)
    WHERE {IS_OLDER_SLICE}
    """,
    """
    INSERT INTO hardware_info BY NAME
    SELECT DISTINCT ON (s.new_id) h.* REPLACE (
        s.new_id AS hardware_id, s.partition AS device_partition)
    FROM older_slices s JOIN hardware_info h ON h.hardware_id = s.old_id
    """,
    """
    UPDATE benchmark_results r SET hardware_id = s.new_id
    FROM older_slices s WHERE r.result_id = s.result_id
    """,
    """
    DELETE FROM hardware_info WHERE hardware_id IN (SELECT old_id FROM older_slices)
        AND hardware_id NOT IN (
            SELECT hardware_id FROM benchmark_results WHERE hardware_id IS NOT NULL)
    """,
    "DROP TABLE older_slices",
)
"""Parts of an NVIDIA GPU get an id of their own."""


def _moved(condition: str, new_id: str, device_name: str) -> Sequence[str]:
    """Statements that give these machines another id and this name of their device.

    Of several that become one the description that was seen last is kept.
    """
    return (
        f"""
        CREATE OR REPLACE TEMP TABLE moved_machines AS
        SELECT hardware_id AS old_id, {new_id} AS new_id FROM hardware_info WHERE {condition}
        """,
        f"""
        INSERT INTO hardware_info BY NAME
        SELECT h.* REPLACE (m.new_id AS hardware_id, h.{device_name} AS device_name)
        FROM moved_machines m JOIN hardware_info h ON h.hardware_id = m.old_id
        WHERE m.new_id NOT IN (SELECT hardware_id FROM hardware_info)
        QUALIFY row_number() OVER (PARTITION BY m.new_id ORDER BY h.seen_at DESC, m.old_id) = 1
        """,
        """
        UPDATE benchmark_results r SET hardware_id = m.new_id
        FROM moved_machines m WHERE r.hardware_id = m.old_id
        """,
        "DELETE FROM hardware_info WHERE hardware_id IN (SELECT old_id FROM moved_machines)",
        "DROP TABLE moved_machines",
    )


ROUNDED_MEMORY = _moved(
    f"hardware_id = {exact_hardware_id_sql()} AND memory_total_bytes IS NOT NULL",
    hardware_id_sql(),
    "device_name",
)
"""Ids of machines count memory in GiB."""
NAMED_CPUS = _moved(IS_PADDED_CPU, hardware_id_sql(device="cpu_model"), "cpu_model")
"""Machines whose processor OpenVINO named are those of other runtimes."""
