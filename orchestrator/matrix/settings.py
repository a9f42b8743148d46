"""Measurement and limits of each backend, from the file's tables and the profiles."""

from typing import Any

from orchestrator.matrix.problems import Problem
from orchestrator.matrix.shape import BackendTable, MatrixFile, MeasureTable
from orchestrator.matrix.source import Place
from orchestrator.units import format_duration
from runner.cell import PROFILES, Backend, Limits, Measure, ProfileName

DEFAULT_PROFILE: ProfileName = "standard"
_MEASURE = {
    "warmup_iterations": "warmup_iterations",
    "warmup_max_duration": "warmup_max_s",
    "iterations": "iterations",
    "min_duration": "min_s",
    "max_duration": "max_s",
}
_LIMITS = {
    "cell_timeout": "cell_timeout_s",
    "memory": "memory_bytes",
    "cpus": "cpus",
    "pids": "pids",
}


def measure_of(file: MatrixFile, backend: Backend) -> Measure:
    """How cells of a backend are measured: its own values over the matrix' over the profile's."""
    own = file.backends.get(backend, BackendTable()).get("measure", {})
    given: dict[str, Any] = {**file.measure, **own}
    profile = PROFILES[given.pop("profile", DEFAULT_PROFILE)]
    return profile.model_copy(update={_MEASURE[key]: value for key, value in given.items()})


def limits_of(file: MatrixFile, backend: Backend) -> Limits:
    """What jobs of a backend may use: its own values over the matrix' over the defaults."""
    own = file.backends.get(backend, BackendTable()).get("limits", {})
    given: dict[str, Any] = {**file.limits, **own}
    return Limits.model_validate({_LIMITS[key]: value for key, value in given.items()})


def contradictions(file: MatrixFile) -> list[Problem]:
    """The places where more time is asked for than is allowed."""
    places: dict[Place, tuple[MeasureTable, Measure]] = {
        ("backends", name, "measure"): (table["measure"], measure_of(file, name))
        for name, table in file.backends.items()
        if "measure" in table
    }
    plain = file.model_copy(update={"backends": {}})
    places["measure",] = (file.measure, measure_of(plain, "cpu"))
    return [
        _contradiction(place, table, measure)
        for place, (table, measure) in places.items()
        if measure.min_s > measure.max_s
    ]


def _contradiction(place: Place, table: MeasureTable, measure: Measure) -> Problem:
    shortest, longest = format_duration(measure.min_s), format_duration(measure.max_s)
    if "min_duration" in table:
        message = f"{shortest} is more than max_duration, {longest} with profile {measure.profile}"
        return Problem((*place, "min_duration"), message)
    message = f"{longest} is less than min_duration, {shortest} with profile {measure.profile}"
    return Problem((*place, "max_duration"), message)
