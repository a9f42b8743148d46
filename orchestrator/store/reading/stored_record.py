"""One result as Python code gets it: a frozen value with every column that is kept of it."""

from pydantic import AwareDatetime

from orchestrator.store.schema.origin import Origin
from runner.record.execution import Session
from runner.record.modes import Arrivals, Generation, Startup, Training
from runner.record.resources import Resources
from runner.record.surroundings import Host, Raw
from runner.record.timing import Timing
from runner.record.trust import Trust


class StoredRecord(
    Raw, Host, Session, Resources, Arrivals, Startup, Training, Generation, Timing, Trust, Origin
):
    """A record with its id and where it came from, in base units. None says `not known`.

    Fields have the names and the meanings of the columns in docs/schema.md. Beside ids, model,
    status and proof each may be None, and words may be others than ours: what others measured
    lacks what their files do not tell. `job`, `warmup_durations_ns`, `durations_ns` and
    `part_durations_ns` are read on demand, and None otherwise.
    """

    result_id: str
    """`<run_id>/<cell_id>`: the verdict's id."""
    run_id: str
    job_id: str
    cell_id: str
    recorded_at: AwareDatetime
    schema_version: int | None = None
    other: str | None = None
    """Columns of a newer runner that this version lacks, as a JSON object."""

    model: str
    family: str | None = None
    task: str | None = None
    modality: str | None = None
    backend: str | None = None
    runtime: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    sequence_length: int | None = None
    image_size: int | None = None
    audio_seconds: int | None = None
    new_tokens: int | None = None
    mode: str | None = None
    scenario: str | None = None
    target_qps: float | None = None
    slo_ms: float | None = None
    seed: int | None = None
    profile: str | None = None
    purpose: str | None = None
    model_id: str | None = None
    model_spec: str | None = None
    job: str | None = None

    weights: str | None = None
    predicted: bool | None = None
    launcher: str | None = None
    orchestrator_version: str | None = None
