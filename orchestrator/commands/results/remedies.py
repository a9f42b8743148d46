"""The command that helps against what lowers a run's grades, with the values that it changes."""

import math
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from analysis.results.synonyms import axis_of
from orchestrator.commands.results.run_report import RunReport
from orchestrator.matrix.load import ORDERED, field_name, key_value_text, matrix_source
from orchestrator.screen.words.doubts import INHERIT_KEEPING, keys_of, remedy_of
from orchestrator.system.text import format_duration, parse_duration
from runner.contract.cell import ProfileName
from runner.contract.errors import BenchError
from runner.contract.job import PROFILES, Measure
from runner.contract.record.verdict import Doubt, RemedyCode

_PROFILES: tuple[ProfileName, ...] = ("quick", "standard", "audit")
_PROFILE, _SET, _BUDGET, _MEASURE = "--profile", "--set", "--budget", "measure."
_MEASURING = ("run", "bench")
_FOR_READERS = ("--json", "--quiet", "-q", "--debug", "--wide", "--ids")
_IN_MEASURE = ("--iterations", "--rounds")
"""Options of `bench` for keys of `measure`."""
_NO_COMMAND: Collection[RemedyCode] = (
    *("own_host", "larger_query", "smaller_batch", "accept_lateness", "read_why"),
)
"""Remedies that the same command cannot bring."""
_NO_LENGTH = ("heat_duration", "precision_target", "profile")
"""Keys of `measure` that do not say how long to measure."""
_BY_PROFILE: Collection[RemedyCode] = ("profile", "calibrate_or_profile")
_RATE_LEFT = 0.9
"""Of the rate that a server can just not keep up with."""


@dataclass(frozen=True)
class Remedy:
    """Help against the cause that lowers most grades."""

    sentence: str
    """In words; ends with a colon where a command follows."""
    command: str | None
    """Without the program's name."""


def find_remedy(report: RunReport) -> Remedy | None:
    if report.grades.cause is None:
        return None
    doubt, words = report.grades.cause.doubt, measuring_words(report.command)
    sentence = remedy_of(doubt)
    sentence = f"{sentence[:1].upper()}{sentence[1:]}"
    if words is None or doubt.remedy in _NO_COMMAND:
        return Remedy(f"{sentence}.", None)
    kind = (doubt.code, doubt.remedy)
    known = (one for row in report.timed for one in row.doubts or ())
    alike = [one for one in known if (one.code, one.remedy) == kind]
    used = {row.profile for row in report.timed}
    shortest = next((profile for profile in _PROFILES if profile in used), _PROFILES[-1])
    try:
        words, changes = _changes(words, alike, shortest)
        if doubt.remedy == "keep_memory":
            words = [*words, *shlex.split(INHERIT_KEEPING)]
    except (ValueError, OverflowError):  # a stranger's run may say anything
        return Remedy(f"{sentence}.", None)
    if doubt.takes_time and _PROFILE in changes:
        sentence = "Measure longer:"
    else:
        sentence += ":" if doubt.remedy in _BY_PROFILE else ", then:"
    return Remedy(sentence, shlex.join(_changed(words, changes)))


def _changes(
    words: list[str], alike: Sequence[Doubt], shortest: ProfileName
) -> tuple[list[str], dict[str, str]]:
    """The words to begin with, and the settings that bring what helps against these doubts.

    Who says how long to measure keeps that, but for what must be raised; others take the next
    profile. Raises ValueError if no value would help.
    """
    remedy, in_file = alike[0].remedy, _of_file(words)
    settings = in_file | dict(map(_setting, _groups(words)))
    chosen = [name for name in settings if name.startswith(_MEASURE)]
    longer = dict(pairwise(_PROFILES)).get(shortest)
    changes = _changed_axis(alike)
    if remedy in _BY_PROFILE:
        words, profile = without(words, *chosen), longer or shortest
        changes |= {_PROFILE: profile, **{key: _usual(key, PROFILES[profile]) for key in in_file}}
    elif longer is not None and not chosen:
        changes[_PROFILE] = longer
    else:
        changes |= _raised(remedy, settings, PROFILES[shortest])
    if remedy == "raise_budget" and _BUDGET in settings:
        changes[_BUDGET] = format_duration(2 * parse_duration(settings[_BUDGET]))
    return words, changes


def measuring_words(command: str | None) -> list[str] | None:
    """The command that planned the run, behind the program's name; None if it cannot be given."""
    try:
        typed = shlex.split(command or "")[1:]
    except (ValueError, OverflowError):  # a stranger's run may say anything
        return None
    words = [word for word in typed if word not in _FOR_READERS]
    return without(words, "--sort") if words and words[0] in _MEASURING else None


def without(words: Sequence[str], *names: str) -> list[str]:
    """The words without the options that set these axes, keys of the matrix, or options."""
    kept = (group for group in _groups(words) if _setting(group)[0] not in names)
    return [word for group in kept for word in group]


def _groups(words: Sequence[str]) -> list[list[str]]:
    """Each option with the word behind it, whether a `=` joins them or not; other words alone."""
    groups: list[list[str]] = []
    for word in words:
        is_option = word.startswith("--")
        if not is_option and groups and len(groups[-1]) == 1 and groups[-1][0].startswith("--"):
            groups[-1].append(word)
        else:
            groups.append(word.split("=", 1) if is_option else [word])
    return groups


def _setting(group: Sequence[str]) -> tuple[str, str]:
    """The axis, the key of the matrix or the option that a group sets, with its value."""
    option, value = group[0], group[1] if len(group) > 1 else ""
    if option == _SET:
        path, _, value = value.partition("=")
        axis = axis_of(path.rpartition(".")[2])
        return axis.name if axis else path, value
    if option in _IN_MEASURE:
        return f"{_MEASURE}{option[2:]}", value
    axis = axis_of(option[2:]) if option.startswith("--") else None
    return axis.name if axis else option, value


def _changed(words: Sequence[str], changes: Mapping[str, str]) -> list[str]:
    """The words with these settings in the place of their own."""
    changed = without(words, *changes)
    for name, value in changes.items():
        axis = axis_of(name)
        if axis and words[0] == "bench":
            changed += [axis.option, value]
        elif name.startswith("--"):
            changed += [name, value]
        else:
            changed += [_SET, f"{'axes.' if axis else ''}{name}={value}"]
    return changed


def _of_file(words: Sequence[str]) -> dict[str, str]:
    """The keys of `measure` in the matrix file of a `run`, with their values."""
    files = [group[0] for group in _groups(words[1:]) if not group[0].startswith("-")]
    try:
        data = matrix_source(Path(files[0])).data if files and words[0] == "run" else None
    except BenchError:  # it is not there any more
        return {}
    measure = data.get("measure") if isinstance(data, dict) else None
    known = measure.items() if isinstance(measure, dict) else ()
    return {f"{_MEASURE}{key}": str(value) for key, value in known if key not in _NO_LENGTH}


def _raised(remedy: RemedyCode, settings: Mapping[str, str], profile: Measure) -> Mapping[str, str]:
    """The keys that a remedy raises, twice what they are, and what may not be less than they."""
    raised: dict[str, float] = {}

    def value(key: str) -> float:
        name = f"{_MEASURE}{key}"
        return raised.get(key) or parse_duration(settings.get(name) or _usual(name, profile))

    for key in keys_of(remedy):
        raised[key] = 2 * value(key)
    for low, high in ORDERED:
        if low in raised and raised[low] > value(high):
            raised[high] = raised[low]
    return {f"{_MEASURE}{key}": key_value_text(key, number) for key, number in raised.items()}


def _usual(name: str, profile: Measure) -> str:
    key = name.removeprefix(_MEASURE)
    return key_value_text(key, getattr(profile, field_name(key)))


def _changed_axis(alike: Sequence[Doubt]) -> dict[str, str]:
    """The axis that a remedy changes, with its value; ValueError if there is no better one."""
    remedy, values = alike[0].remedy, [one.value for one in alike if one.value is not None]
    if remedy == "lower_rate":
        most = min(float(one.facts.get("most_qps", "")) for one in alike)
        return {"target_qps": _rounded(_RATE_LEFT * most, math.floor)}
    if remedy == "raise_slo":
        return {"slo_ms": _rounded(2 * max(values), math.ceil)}
    if remedy == "mixed_precision":
        return {"training_precision": "mixed"}
    if remedy != "fewer_workers":
        return {}
    workers = int(min(values)) // (1 if alike[0].code == "concurrent_room" else 2)
    if workers < 1:
        raise ValueError("one at once failed already")
    return {"workers": str(workers)}


def _rounded(value: float, how: Callable[[float], int]) -> str:
    """The value in two significant digits, down or up."""
    digits = 1 - math.floor(math.log10(value))
    return f"{how(value * 10**digits) / 10**digits:g}"
