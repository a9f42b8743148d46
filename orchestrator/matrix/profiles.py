"""Measurement and limits of each backend, from the file's tables and the profiles."""

from collections.abc import Iterator
from typing import Any

from orchestrator.matrix.file import BackendTable, MatrixDocument, MeasureTable
from orchestrator.system.plain_data import Location
from orchestrator.system.problems import Problem
from orchestrator.system.text import format_duration
from runner.contract.cell import Backend, ProfileName
from runner.contract.job import PROFILES, Limits, Measure

DEFAULT_PROFILE: ProfileName = "standard"
_MEASURE = {
    "warmup_iterations": "warmup_iterations",
    "warmup_max_duration": "warmup_max_s",
    "heat_duration": "heat_s",
    "iterations": "iterations",
    "min_duration": "min_s",
    "max_duration": "max_s",
    "precision_target": "precision_target",
    "rounds": "rounds",
    "max_rounds": "max_rounds",
}
_LIMITS = {
    "cell_timeout": "cell_timeout_s",
    "memory": "memory_bytes",
    "cpus": "cpus",
    "pids": "pids",
    "output": "output_bytes",
}
_ORDERED = (("min_duration", "max_duration"), ("rounds", "iterations"), ("rounds", "max_rounds"))
"""Keys of which the first may not be more than the second."""


def measure_of(file: MatrixDocument, backend: Backend) -> Measure:
    """The measure of a backend: its own values over the matrix' over the profile's."""
    own = file.backends.get(backend, BackendTable()).get("measure", {})
    given: dict[str, Any] = {**file.measure, **own}
    profile = PROFILES[given.pop("profile", DEFAULT_PROFILE)]
    if "rounds" in given and "max_rounds" not in given:  # the profile's own may be fewer
        profile = profile.model_copy(
            update={"max_rounds": max(given["rounds"], profile.most_rounds)}
        )
    return profile.model_copy(update={_MEASURE[key]: value for key, value in given.items()})


def limits_of(file: MatrixDocument, backend: Backend) -> Limits:
    """The limits of a backend: its own values over the matrix' over the defaults."""
    own = file.backends.get(backend, BackendTable()).get("limits", {})
    given: dict[str, Any] = {**file.limits, **own}
    return Limits.model_validate({_LIMITS[key]: value for key, value in given.items()})


def contradictions(file: MatrixDocument) -> list[Problem]:
    """The places where more is asked for than is allowed."""
    tables: dict[Location, tuple[MeasureTable, Measure]] = {
        ("backends", name, "measure"): (table["measure"], measure_of(file, name))
        for name, table in file.backends.items()
        if "measure" in table
    }
    plain = file.model_copy(update={"backends": {}})
    tables["measure",] = (file.measure, measure_of(plain, "cpu"))
    return [
        problem
        for location, (table, measure) in tables.items()
        for problem in _contradictions(location, table, measure)
    ]


def _contradictions(location: Location, table: MeasureTable, measure: Measure) -> Iterator[Problem]:
    for less, more in _ORDERED:
        least, most = (getattr(measure, _MEASURE[key]) for key in (less, more))
        if most is None or least <= most:
            continue
        shown = {less: _shown(less, least), more: _shown(more, most)}
        blamed, other = (less, more) if less in table else (more, less)
        relation = "more" if blamed == less else "less"
        message = f"{shown[blamed]} is {relation} than {other}, {shown[other]} with profile"
        yield Problem((*location, blamed), f"{message} {measure.profile}")


def _shown(key: str, value: float) -> str:
    return format_duration(value) if key.endswith("duration") else f"{value:g}"
