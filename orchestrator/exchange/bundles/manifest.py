"""Members of a bundle, and its manifest.

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
from enum import StrEnum
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field, NonNegativeInt, PositiveInt

from orchestrator.store.schema.sources import Run
from runner.contract.cell import Frozen

BUNDLE_VERSION = 1
"""Raised with every change of the members that an older AccelMatrix could not read."""
BundleFormat = Literal["accelmatrix-bundle"]


class Member(StrEnum):
    """Names of the members that every bundle has."""

    MANIFEST = "manifest.json"
    SUMS = "SHA256SUMS"
    RUNS = "runs.json"
    RECORDS = "records.parquet"
    HARDWARE = "hardware.json"
    ENVIRONMENTS = "environments.json"
    ARTEFACTS = "artefacts.json"


class BundleCounts(Frozen):
    """Numbers of runs, records and what they refer to."""

    runs: NonNegativeInt
    records: NonNegativeInt
    hosts: NonNegativeInt
    matrices: NonNegativeInt
    hardware: NonNegativeInt
    environments: NonNegativeInt
    artefacts: NonNegativeInt


class BundleManifest(Frozen):
    """Facts of a bundle about itself."""

    format: BundleFormat = "accelmatrix-bundle"
    """The kind of archive."""
    version: PositiveInt = BUNDLE_VERSION
    """Version of its members."""
    accelmatrix: str
    """Version of AccelMatrix that wrote it."""
    record_version: PositiveInt
    """Version of the records' columns."""
    scratch: bool
    """True if it comes from a scratch database, and may hold rows that no device measured."""
    counts: BundleCounts
    """Numbers of runs, records and what they refer to."""
    members: Mapping[str, NonNegativeInt]
    """Bytes of each member by name, this one and the checksums left out."""


class RunEntry(Run):
    """One run in `runs.json`, with the name of its matrix's member."""

    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    """Seed of the run, within the range of the database."""
    planned: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    """Number of planned cells, within the range of the database."""
    described: bool
    """True if the orchestrator described it; else it is inferred from its records."""


def matrix_name(run_id: str) -> str:
    """Name of the member that holds a run's matrix."""
    return f"matrices/{quote(run_id, safe='')}.yaml"
