"""The record of one cell: measurement, cell, environment and outcome."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Self

from pydantic_core import from_json

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.models.catalogue import MODEL_LABELS, ModelSpec
from runner.contract.record.identity import Execution, Identity, Raw, Surroundings
from runner.contract.record.ids import ENVIRONMENT_FACTS, environment_id, model_id
from runner.contract.record.measured import Efficiency, Resources, Timing
from runner.contract.record.modes import Arrivals, Generation, Startup, Training
from runner.contract.record.quality import Outcome, Trust
from runner.contract.record.ranges import Positive

Row = dict[str, Any]  # one record by the names of its columns
Columns = Mapping[str, Any]  # columns of `Record`, by name
NO_COLUMNS: Columns = MappingProxyType({})

CONTENT_FIELDS = set(ModelSpec.model_fields) - MODEL_LABELS
SCHEMA_VERSION = 9  # raised with every change of the columns; a merge refuses records of another


class Record(
    Raw,
    Surroundings,
    Execution,
    Efficiency,
    Resources,
    Arrivals,
    Startup,
    Training,
    Generation,
    Timing,
    Trust,
    Identity,
):
    """One row, in base units. Null says `not known`."""

    schema_version: Positive[int] = SCHEMA_VERSION
    """Version of these columns."""

    @classmethod
    def of(cls, job: Job, cell: Cell, outcome: Outcome, columns: Columns = NO_COLUMNS) -> Self:
        """The record of a cell; further columns replace what the job knows."""
        known = {**known_columns(job, cell), "recorded_at": datetime.now(UTC)}
        record = cls.model_validate({**known, **columns, **outcome.model_dump()})
        facts = record.model_dump(mode="json", include=set(ENVIRONMENT_FACTS))
        return record.model_copy(update={"environment_id": environment_id(facts)})


def known_columns(job: Job, cell: Cell) -> dict[str, Any]:
    """The columns of a cell's record that follow from its job, whatever is measured."""
    spec = job.model.content
    return {
        **cell.model_dump(),
        **job.provenance.model_dump(),
        "run_id": job.run_id,
        "job_id": job.id,
        "cell_id": cell.id,
        "family": job.model.family,
        "task": job.model.task,
        "modality": job.model.modality,
        "weights": job.model.weights,
        "weights_revision": job.model.revision,
        "seed": job.seed,
        "weights_seed": job.weights_seed,
        "profile": job.measure.profile,
        "purpose": job.purpose,
        "interleaved_with": job.interleaved_with,
        "side_by_side": job.side_by_side and job.side_by_side.group,
        "looks": job.side_by_side and [*job.side_by_side.looks],
        "model_id": model_id(spec),
        "model_spec": spec,
        "job": job.of_cell(cell).model_dump_json(exclude={"model": CONTENT_FIELDS}),
    }


JOB_FAULTS = (ValueError, TypeError, AttributeError)
"""Errors of reading a job that a record of another version, or a stranger's, holds."""


def recorded_job(job: str, model_spec: str | None) -> Job:
    """The job that the columns of a record hold; one of `JOB_FAULTS` if there is none."""
    data = from_json(job)
    model = ModelSpec.of_content(model_spec or "", data.get("model", {}))
    return Job.model_validate({**data, "model": model})
