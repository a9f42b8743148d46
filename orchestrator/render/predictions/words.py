"""Words of predictions: how much of a question was measured, numbers in customary units, trust."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.prediction.artefact.manifest import PredictorManifest, Sources
from analysis.results.source import OWN_SOURCES
from orchestrator.system.text import plural

NOVELTY_WORDS: Mapping[str, str] = {
    "shape": "seen at other sizes",
    "variant": "seen in other variants",
    "pair": "seen elsewhere",
    "model": "unseen model",
    "family": "unseen family",
    "device": "unseen device",
}
"""How much of a question was measured, by its novelty: `seen in other variants` is a model that was
measured on this device with another runtime, precision, mode or version."""
_OURS = "ours"


@dataclass(frozen=True)
class ShownUnit:
    """A unit in which people read a number."""

    name: str
    factor: float
    """Its number by that in the base unit."""


SHOWN_UNITS: Mapping[str, ShownUnit] = {
    "s": ShownUnit("ms", 1e3),
    "samples/s": ShownUnit("samples/s", 1.0),
    "bytes": ShownUnit("MB", 1e-6),
    "J": ShownUnit("J", 1.0),
}
"""By the base unit of a target."""


def percent(share: float) -> str:
    """A share as a percentage with two digits that count, e.g. `4.1 %` and `92 %`."""
    value = 100 * share
    return f"{value:.1f} %" if value < 9.95 else f"{value:.0f} %"


def source_words(examples: Mapping[str, int]) -> str:
    """The results that a predictor rests on, by whom: `35 results of ours and 11,200 of timm`."""
    ours = sum(count for source, count in examples.items() if source in OWN_SOURCES)
    theirs = {name: count for name, count in examples.items() if name not in OWN_SOURCES and count}
    parts = [(ours, _OURS)] if ours or not theirs else []
    parts += [(count, name) for name, count in sorted(theirs.items(), key=lambda one: -one[1])]
    first, *others = (f"{count:,} {{}}of {name}" for count, name in parts)
    noun = f"{plural(parts[0][0], 'result')} "
    words = [first.format(noun), *(other.format("") for other in others)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def added_words(added: int, command: str) -> Iterator[str]:
    """The sentence about results that came since a predictor was trained."""
    if added:
        came = f"{added:,} {plural(added, 'result')} came since it was trained"
        yield f"{came}: `{command}` learns from {'it' if added == 1 else 'them'}"


def training_words(manifest: PredictorManifest, command: str) -> str:
    """The command that trains a predictor on the same sources again."""
    sources: Sources = manifest.sources
    return f"{command} --source all" if sources == "all" else command
