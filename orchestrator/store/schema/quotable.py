"""Which rows the default views show, and which of them is the later one.

Conditions on the table of results under the name `r`.
"""

from orchestrator.store.schema.origin import OURS, SYNTHETIC
from orchestrator.store.schema.tables import VERSION

_MADE = f"r.source = '{SYNTHETIC}' AND (SELECT scratch FROM {VERSION.name})"
SHOWN = f"(r.source = '{OURS}' AND NOT r.simulated OR {_MADE})"
"""What default views show: our own rows, and in a scratch database synthetic ones beside them."""
QUOTABLE = (
    f"{SHOWN} AND r.status = 'ok' AND r.proof = 'proven' AND r.latency_median_s IS NOT NULL"
    " AND r.correct IS DISTINCT FROM false"
)
MEASURED_AT = (
    f"CASE WHEN r.source IN ('{OURS}', '{SYNTHETIC}') THEN r.recorded_at"
    " ELSE r.source_measured_at END"
)
ORDER = f"(coalesce({MEASURED_AT}, TIMESTAMPTZ '-infinity'), r.run_id)"
"""Which result is the later one; those that do not say when they were measured come first."""
SAME = "r.source, r.cell_id, coalesce(r.hostname, r.run_id)"
"""What a later result takes the place of: one of the same source, cell and host. Where a file
names no host, its results may be of any, and take the place of none in other files."""
