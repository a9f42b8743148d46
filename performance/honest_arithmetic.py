"""Honest arithmetic over the catalogue: the differences that no reference of its own tells.

For each precision the worst of all models whose reference holds differences, by kind: `HONEST` of
`runner.correctness.tolerance`. Of the large ones for which it stands in, those that read text alone
are among them; the images of others take too long. Then for each way to int8, and for the HTP's
fp16, the worst ratios of its differences to torch's, over the set `micro`: `METHODS`. Outputs of
few values are left out beside others, since theirs are chance. Other models, separated by commas,
may follow the measurement's name.
"""

import json
import sys
import warnings
from collections.abc import Sequence
from unittest.mock import patch

from performance.own_arithmetic import job_of, of_many_values, ratios
from runner.contract.cell import Precision
from runner.contract.errors import BenchError
from runner.contract.models import ModelSpec, catalogue, find, model_sets
from runner.correctness import reference
from runner.correctness.differences import Difference, worst_difference
from runner.correctness.honest import PRECISIONS, take_honest
from runner.correctness.reference import reference_arrays
from runner.correctness.tolerance import HONEST, METHODS
from runner.measure.clock import monotonic

MOST_PARAMETERS = 1_500_000_000
"""Those of a model that reads text alone; larger ones take minutes."""
FAULT = 10.0
"""A ratio that no rounding gives: the runtime computes something else."""


def honest_of(models: Sequence[str]) -> dict[Precision, Difference]:
    """By precision, the worst differences of these models; a line for each is printed."""
    worst = {precision: Difference(0.0, 0.0, 0.0) for precision in PRECISIONS}
    for model in models:
        try:
            arrays = dict(reference_arrays(job_of(model, "inference", "fp32"), monotonic))
        except BenchError as refusal:
            print(f"{model:24} {refusal}", flush=True)
            continue
        for precision in PRECISIONS:
            outputs = dict(arrays)
            honest, failure = take_honest(outputs, precision)
            if failure is not None:
                print(f"{model:24} {precision:5} {failure}", flush=True)
                continue
            own = worst_difference(of_many_values(honest, outputs).values())
            worst[precision] = worst_difference((worst[precision], own))
            _print_line(f"{model:24} {precision:5}", own)
    return worst


def methods_of(models: Sequence[str]) -> dict[tuple[Precision, str], Difference]:
    """By arithmetic, the worst ratios to torch's differences; a line for each model is printed."""
    worst: dict[tuple[Precision, str], Difference] = {}
    for model in models:
        for precision, method, kind, ratio, where in ratios(model):
            fault = ", a fault that is left out" if ratio > FAULT else ""
            line = f"{precision:5} {method:28} {kind:8} {ratio:6.2f}  {where}{fault}"
            print(line, flush=True)
            if fault:
                continue
            known = worst.setdefault((precision, method), Difference(0.0, 0.0, 0.0))
            own = known._replace(**{kind: ratio})
            worst[precision, method] = worst_difference((known, own))
    return worst


def _fits(model: ModelSpec) -> bool:
    size = model.parameters or 0
    most = reference.MOST_PARAMETERS if model.image_prompt else MOST_PARAMETERS
    return size <= most


def _print_line(name: str, difference: Difference) -> None:
    print(name, *(f"{value:10.2e}" for value in difference), flush=True)


def main() -> int:
    """Print both tables; 1 if one holds more than the code does."""
    micro = list(model_sets()["micro"])
    fitting = [name for name, spec in catalogue().items() if _fits(spec)]
    models = sys.argv[1].split(",") if len(sys.argv) > 1 else fitting
    with warnings.catch_warnings(action="ignore"):
        with patch.object(reference, "MOST_PARAMETERS", MOST_PARAMETERS):
            honest = honest_of([find(name).name for name in models])
        methods = methods_of([name for name in models if name in micro])
    print("\nworst, by precision: relative, row, mean")
    for precision, difference in honest.items():
        _print_line(f"{precision:5}", difference)
    print("\nworst ratios to torch's, by arithmetic: relative, row, mean")
    for (precision, method), ratio in methods.items():
        print(f"{precision:5} {method:28}", *(f"{value:6.2f}" for value in ratio))
    named = {f"{precision} {method}": ratio for (precision, method), ratio in methods.items()}
    print(json.dumps({"measurement": "honest_arithmetic", "honest": honest, "methods": named}))
    beyond: list[str] = [
        precision
        for precision, difference in honest.items()
        if _beyond(difference, HONEST[precision])
    ]
    beyond += [
        f"{precision} {method}"
        for (precision, method), ratio in methods.items()
        if _beyond(ratio, METHODS[precision][method])
    ]
    print(f"beyond the code's: {', '.join(beyond) or 'none'}")
    return int(bool(beyond))


def _beyond(ours: Difference, listed: Difference) -> bool:
    return any(one > most for one, most in zip(ours, listed, strict=True))


if __name__ == "__main__":
    sys.exit(main())
