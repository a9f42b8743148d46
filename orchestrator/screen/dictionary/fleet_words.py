"""Words of a fleet, three lines each."""

from collections.abc import Sequence

from orchestrator.screen.dictionary.statistic_words import Word

FLEET_WORDS: Sequence[Word] = (
    Word(
        "class",
        (
            "Hosts of the same processor, cores, memory and accelerators, whatever their names.",
            "Results of one class are of one series; a label says nothing about that.",
            "`orchestrator fleet status` shows the class of each host.",
        ),
        ("host class",),
    ),
    Word(
        "driver",
        (
            "The command that runs a matrix on a fleet: it orders, and keeps the run's folder.",
            "A host that does not hear from it for 30 seconds ends its order.",
            "`orchestrator run --resume last --fleet` goes on where one was killed.",
        ),
    ),
    Word(
        "group",
        (
            "The runs of one matrix under placement `every`, one for each class of hosts.",
            "Their common id stands for all of them.",
            "`orchestrator status GROUP_ID`, `orchestrator run --resume GROUP_ID --fleet`",
        ),
        ("group id",),
    ),
    Word(
        "order",
        (
            "What a driver sends to a host: one unit, as a run of its own.",
            "One whose last word does not arrive is lost; its cells are measured elsewhere.",
            "A host that lost two orders in a row gets no more.",
        ),
        ("lost orders",),
    ),
    Word(
        "placement",
        (
            "On which hosts of a fleet a cell is measured.",
            "any: once, by a host that can; every: once by each class of hosts that can.",
            "Set it with `--placement every`, or fleet.placement in the matrix file.",
        ),
    ),
    Word(
        "unit",
        (
            "All cells of one model and mode that the same hosts of a fleet can measure.",
            "They are compared, so one host measures all of them, with all their rounds.",
            "`orchestrator plan matrix.yaml --fleet` counts them.",
        ),
    ),
)
