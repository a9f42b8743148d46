"""Honest arithmetic over the catalogue: the differences that no reference of its own tells.

For each precision the worst of all models whose reference holds differences, by kind: `HONEST` of
`runner.correctness.tolerance`. Then for each way to int8 the worst ratio of its differences to
torch's, over the set `micro`: `METHODS`. `python -m performance honest_arithmetic MODEL,MODEL`
takes other models; those above 200 million parameters are left out.
"""

import json
import sys
import warnings
from collections.abc import Sequence

from performance.int8_methods import job_of, ratios
from runner.contract.cell import Precision
from runner.contract.errors import BenchError
from runner.contract.models import catalogue, find, model_sets
from runner.correctness.differences import Difference, worst_difference
from runner.correctness.honest import PRECISIONS, take_honest
from runner.correctness.reference import MOST_PARAMETERS, reference_arrays
from runner.correctness.tolerance import HONEST, METHODS
from runner.measure.clock import monotonic


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
            honest, failure = take_honest(dict(arrays), precision)
            if failure is not None:
                print(f"{model:24} {precision:5} {failure}", flush=True)
                continue
            own = worst_difference(honest.values())
            worst[precision] = worst_difference((worst[precision], own))
            _print_line(f"{model:24} {precision:5}", own)
    return worst


def methods_of(models: Sequence[str]) -> dict[str, float]:
    """By way to int8, the worst ratio to torch's differences; a line for each model is printed."""
    worst: dict[str, float] = {}
    for model in models:
        for method, ratio, where in ratios(model):
            worst[method] = max(ratio, worst.get(method, 0.0))
            print(f"{method:28} {ratio:6.2f}  {where}", flush=True)
    return worst


def _print_line(name: str, difference: Difference) -> None:
    print(name, *(f"{value:10.2e}" for value in difference), flush=True)


def main() -> int:
    """Print both tables; 1 if one holds more than the code does."""
    sizes = {name: spec.parameters or 0 for name, spec in catalogue().items()}
    small = [name for name, size in sizes.items() if size <= MOST_PARAMETERS]
    micro = list(model_sets()["micro"])
    models = sys.argv[1].split(",") if len(sys.argv) > 1 else small
    with warnings.catch_warnings(action="ignore"):
        honest = honest_of([find(name).name for name in models])
        methods = methods_of([name for name in models if name in micro])
    print("\nworst, by precision: relative, row, mean")
    for precision, difference in honest.items():
        _print_line(f"{precision:5}", difference)
    print("\nworst ratio to torch.ao's, by way to int8")
    for method, ratio in methods.items():
        print(f"{method:28} {ratio:6.2f}")
    data = {"measurement": "honest_arithmetic", "honest": honest, "methods": methods}
    print(json.dumps(data))
    beyond: list[str] = [
        precision
        for precision, difference in honest.items()
        if any(ours > listed for ours, listed in zip(difference, HONEST[precision], strict=True))
    ]
    beyond += [method for method, ratio in methods.items() if ratio > METHODS[method]]
    print(f"beyond the code's: {', '.join(beyond) or 'none'}")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
