"""What one member of a bundle says and another one denies."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.bundle import manifest as names
from orchestrator.bundle.manifest import Manifest
from orchestrator.store import Run
from orchestrator.store.merging.examine import Examined


def contradictions(
    manifest: Manifest,
    lists: Mapping[str, Sequence[Any]],
    runs: Sequence[tuple[Run, bool]],
    found: Examined,
) -> list[str]:
    """All of it; `found` is what the records say."""
    counted = {
        "runs": len(runs),
        "records": found.records,
        "hosts": found.hosts,
        "matrices": sum(run.matrix is not None for run, _ in runs),
        "hardware": len(lists[names.HARDWARE]),
        "environments": len(lists[names.ENVIRONMENTS]),
        "artefacts": len(lists[names.ARTEFACTS]),
    }
    faults = [
        f"{names.MANIFEST}: counts {said:,} {what}, and there are {counted[what]:,}"
        for what, said in manifest.counts.model_dump().items()
        if said != counted[what]
    ]
    if found.repeated:
        faults.append(f"{names.RECORDS}: {found.repeated:,} records stand in it twice")
    told = Counter(run.run_id for run, _ in runs)
    faults += [f"{names.RUNS}: {run_id} stands in it twice" for run_id, n in told.items() if n > 1]
    faults += _unknown(names.RUNS, found.runs, [*told])
    for name, key, used in (
        (names.HARDWARE, "hardware_id", found.hardware),
        (names.ENVIRONMENTS, "environment_id", found.environments),
    ):
        faults += _unknown(name, used, [row.get(key) for row in lists[name]])
    return faults


def _unknown(name: str, used: frozenset[str], known: Sequence[object]) -> list[str]:
    lacking = used - {each for each in known if isinstance(each, str)}
    return [f"{name}: lacks {each}, to which records refer" for each in sorted(lacking)]
