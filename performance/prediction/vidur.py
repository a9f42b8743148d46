"""Operator times of language models that vidur's authors measured, with the work of each.

A row holds the times of one token count and tensor-parallel size: of the embedding, of norms, of
products and of elementwise operators of one layer, on one of the GPUs that share it.
"""

import csv
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.predict.evaluation.accuracy import Accuracy, accuracy_of
from analysis.predict.evaluation.trials import PredictionTrial
from analysis.predict.examples.machines import MachinePeaks
from analysis.predict.examples.placements import Counts, Device, Example, Placement
from analysis.predict.examples.targets import PREDICTION_TARGETS
from performance.prediction.folds import SplitFold

TARGET = PREDICTION_TARGETS["latency"]
MOST_TOKENS = 1024
"""Tokens up to which the predictor is trained."""
_SIZE = 2
"""Bytes of a number: all ran in fp16."""
_MS = 1e-3


@dataclass(frozen=True)
class _Shapes:
    """The shapes of a row."""

    tokens: int
    hidden: int
    between: int
    """The width between the two products of a feed-forward network."""
    rows: int
    """The width of queries, keys and values together, on one GPU."""
    heads: int
    """The width of queries, on one GPU."""
    gates: int
    """2 if a gate doubles the first product, else 1."""
    shares: int
    """The GPUs that share a layer."""


@dataclass(frozen=True)
class _Work:
    """Numbers that an operator reads, puts out and keeps as weights, and its arithmetic."""

    flops: float
    reads: float
    writes: float
    weights: float = 0.0


def _product(tokens: int, inner: float, outer: float) -> _Work:
    return _Work(2 * tokens * inner * outer, tokens * inner, tokens * outer, inner * outer)


def _elementwise(reads: float, writes: float, flops_by_output: float) -> _Work:
    return _Work(flops_by_output * writes, reads, writes)


def _norm(s: _Shapes) -> _Work:
    size = s.tokens * s.hidden
    return _Work(5 * size, size, size, s.hidden)


_OPERATORS: Mapping[str, Callable[[_Shapes], _Work]] = {
    "emb": lambda s: _elementwise(s.tokens * s.hidden, s.tokens * s.hidden, 1),
    "input_layernorm": _norm,
    "attn_pre_proj": lambda s: _product(s.tokens, s.hidden, s.rows),
    "attn_rope": lambda s: _elementwise(s.tokens * s.rows, s.tokens * s.rows, 3),
    "attn_post_proj": lambda s: _product(s.tokens, s.heads, s.hidden),
    "post_attention_layernorm": _norm,
    "mlp_up_proj": lambda s: _product(s.tokens, s.hidden, s.gates * s.between / s.shares),
    "mlp_act": lambda s: _elementwise(
        s.tokens * s.gates * s.between / s.shares, s.tokens * s.between / s.shares, 5
    ),
    "mlp_down_proj": lambda s: _product(s.tokens, s.between / s.shares, s.hidden),
    "add": lambda s: _elementwise(2 * s.tokens * s.hidden, s.tokens * s.hidden, 1),
}


def read_vidur(folder: Path) -> list[Example]:
    """The operator times of all files: a model for each operator, network and number of shares."""
    peaks = MachinePeaks({}, {})
    examples = []
    for file in sorted(folder.glob("*.csv")):
        gpu, _, network, _ = file.stem.split("__")
        device = peaks.device(gpu, None, "cuda", "fp16")
        if device is None:
            raise SystemExit(f"{file}: no data sheet of {gpu} is known")
        with file.open(encoding="utf-8", newline="") as text:
            for row in csv.DictReader(text):
                examples += _examples(row, network.lower(), device)
    return examples


def longer_inputs(examples: list[Example]) -> SplitFold:
    """Known up to 1,024 tokens, asked about above."""
    known = [one for one in examples if (one.placement.length or 0) <= MOST_TOKENS]
    hidden = [one for one in examples if (one.placement.length or 0) > MOST_TOKENS]
    return SplitFold("above 1,024 tokens", known, hidden)


def layer_accuracy(trial: PredictionTrial) -> Accuracy | None:
    """The errors of sums over the operators of a layer, measured and predicted alike.

    Rows of the same layer and tokens are summed together.
    """
    sums: dict[Hashable, list[float]] = {}
    for one in trial.answered:
        placement = one.example.placement
        network = placement.model.removeprefix(f"{placement.architecture}-")
        both = sums.setdefault((network, placement.device.key, placement.length), [0.0, 0.0])
        both[0] += one.example.value
        both[1] += one.prediction.value
    return accuracy_of([both[0] for both in sums.values()], [both[1] for both in sums.values()])


def _examples(row: Mapping[str, str], network: str, device: Device) -> Iterator[Example]:
    shapes = _shapes(row)
    for operator, work_of in _OPERATORS.items():
        placement = Placement(
            model=f"{operator}-{network}-{shapes.shares}",
            architecture=operator,
            device=device,
            backend="cuda",
            runtime="torch",
            precision="fp16",
            mode="inference",
            software="",
            batch_size=1,
            length=shapes.tokens,
            new_tokens=None,
            threads=None,
            counts=_counts(work_of(shapes)),
        )
        seconds = float(row[f"time_stats.{operator}.median"]) * _MS
        if seconds > 0:
            yield Example(placement, seconds, "vidur")


def _shapes(row: Mapping[str, str]) -> _Shapes:
    hidden, heads, pairs = (int(row[name]) for name in ("n_embd", "n_head", "n_kv_head"))
    shares = int(row["num_tensor_parallel_workers"])
    return _Shapes(
        tokens=int(row["num_tokens"]),
        hidden=hidden,
        between=int(row["n_expanded_embd"]),
        rows=(hidden + 2 * pairs * hidden // heads) // shares,
        heads=hidden // shares,
        gates=2 if row["use_gated_mlp"] == "True" else 1,
        shares=shares,
    )


def _counts(work: _Work) -> Counts:
    return Counts(
        flops=work.flops,
        traffic_bytes=_SIZE * (work.weights + work.reads),
        activation_bytes=_SIZE * work.writes,
        weight_bytes=_SIZE * work.weights,
        parameters=work.weights,
    )
