"""Count the work of every catalogued model: `python -m tools.count_work` writes `work.json`."""

import json
from pathlib import Path

import runner.contract.models
from runner.backends.torch.model import build_without_weights
from runner.contract.models import ModelSpec, catalogue
from runner.counting import Fit, fit_forward, fit_generation

FILE = Path(runner.contract.models.__file__).parent / "work.json"


def fit(spec: ModelSpec) -> Fit:
    """All polynomials of a model."""
    model = build_without_weights(spec)
    return fit_forward(spec, model) | fit_generation(spec, model)


def main() -> None:
    """Count all models of the catalogue and write `work.json`."""
    counted = {name: fit(spec) for name, spec in catalogue().items()}
    FILE.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
