"""What lies in a bundle, and what the bundle says of itself.

manifest.json               versions, counts, members
SHA256SUMS                  a line for every other member, as `sha256sum --check` reads it
runs.json                   the runs; each names its matrix
matrices/<run_id>.yaml      the matrix of a run as text
records.parquet             all records, with raw durations and jobs
hardware.json               the machines behind them
environments.json           the software behind them
artefacts.json              digests of the images, graphs and weights behind them
"""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field, NonNegativeInt, PositiveInt

from orchestrator.store import Run
from runner.contract.cell import Frozen

VERSION = 1
"""Raised with every change of the members that an older AccelMatrix could not read."""
FORMAT: Literal["accelmatrix-bundle"] = "accelmatrix-bundle"

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
RUNS = "runs.json"
RECORDS = "records.parquet"
HARDWARE = "hardware.json"
ENVIRONMENTS = "environments.json"
ARTEFACTS = "artefacts.json"
REQUIRED = frozenset({MANIFEST, SUMS, RUNS, RECORDS, HARDWARE, ENVIRONMENTS, ARTEFACTS})


class Counts(Frozen):
    """How much of each there is."""

    runs: NonNegativeInt
    records: NonNegativeInt
    hosts: NonNegativeInt
    matrices: NonNegativeInt
    hardware: NonNegativeInt
    environments: NonNegativeInt
    artefacts: NonNegativeInt


class Manifest(Frozen):
    """What a bundle says of itself."""

    format: Literal["accelmatrix-bundle"] = FORMAT
    """What kind of archive it is."""
    version: PositiveInt = VERSION
    """Version of its members."""
    accelmatrix: str
    """Version of AccelMatrix that wrote it."""
    record_version: PositiveInt
    """Version of the records' columns; a merge takes newer ones, as it does from record files."""
    scratch: bool
    """Whether it comes from a scratch database, and may hold what no device measured."""
    counts: Counts
    """How much of each there is."""
    members: Mapping[str, NonNegativeInt]
    """Bytes of each member by name, this one and the checksums left out."""


class RunEntry(Run):
    """One run in `runs.json`; its matrix is named there and lies beside."""

    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    """The same, as far as the database can hold it."""
    planned: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    """Likewise."""
    described: bool
    """Whether the orchestrator described it; else it is inferred from its records."""


def matrix_name(run_id: str) -> str:
    """The member that holds a run's matrix."""
    return f"matrices/{quote(run_id, safe='')}.yaml"
