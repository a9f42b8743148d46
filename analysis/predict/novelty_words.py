"""Words of each novelty: in answers, in evaluations, and of what is hidden to try it."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.predict.novelty import Novelty


@dataclass(frozen=True)
class NoveltyWords:
    """The names of a novelty on screens and in charts."""

    measured: str
    """The part of a question that was measured."""
    hidden: str
    """The results that are hidden together, to try such questions."""
    groups: str
    """The groups that these form."""
    untried: str
    """The reason why no such question can be tried."""


NAMED_NOVELTIES: Mapping[Novelty, NoveltyWords] = {
    "shape": NoveltyWords(
        "seen at other sizes",
        "sizes hidden",
        "sizes",
        "no model was measured at enough sizes",
    ),
    "range": NoveltyWords(
        "seen at smaller sizes",
        "the largest and smallest sizes hidden",
        "models at other sizes",
        "no model was measured at sizes far enough apart",
    ),
    "variant": NoveltyWords(
        "seen in other variants",
        "runtimes, precisions and modes hidden",
        "variants",
        "no model was measured on one device in several variants",
    ),
    "pair": NoveltyWords(
        "seen elsewhere",
        "models hidden on a device",
        "models on other devices",
        "no model was measured on two devices",
    ),
    "run": NoveltyWords(
        "seen once, elsewhere",
        "all of a model but one run hidden",
        "architectures",
        "no model was measured on two devices",
    ),
    "model": NoveltyWords("unseen model", "models hidden", "models", "no two models share a line"),
    "line": NoveltyWords(
        "unseen line of models",
        "lines of models hidden",
        "architectures",
        "no architecture has two lines of models",
    ),
    "family": NoveltyWords(
        "unseen family",
        "architectures hidden",
        "architectures",
        "too few architectures were measured",
    ),
    "device": NoveltyWords(
        "unseen device", "devices hidden", "devices", "there is no second device of a kind"
    ),
}
"""`seen in other variants` is a model that was measured on this device with another runtime,
precision, mode or version."""
