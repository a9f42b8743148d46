"""Training steps with separate times for forward pass, loss, backward pass and optimizer.

Precisions below fp32 are torch's autocast beside parameters in fp32, unless the cell says `pure`.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _BatchNorm
from transformers.utils.import_utils import is_scipy_available, is_vision_available

from runner.backends.base import MOST_SKIPPED, FloatArray, Rehearsal, TrainingStep
from runner.backends.torch.device import Arithmetic
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.reasons import reason
from runner.inputs import LABELS
from runner.measure.clock import Clock

LEARNING_RATE = 1e-5
SIZE = 4096
"""Numbers of a sketch; a tensor with no more elements is its own."""
_BLOCK = SIZE << 10
"""Elements that get their signs at once, so that a large tensor takes little memory."""
_SAMPLE = 64
"""Elements of each parameter, at least, that are kept to see a change."""

Criterion = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def sketch(tensor: torch.Tensor) -> FloatArray:
    """Few numbers that tell how far two tensors differ, whatever their devices and types.

    A tensor's elements are added up with random signs in as many sums as the sketch has numbers,
    after Alon, Matias and Szegedy (1996) and Charikar, Chen and Farach-Colton (2002). It is linear,
    and the squared norm of a difference of sketches is that of the tensors' difference on average,
    with a relative deviation of √(2 / size): 2 % of 4,096 sums.
    """
    elements = tensor.detach().to("cpu", torch.float32).numpy().ravel()
    if elements.size <= SIZE:
        return elements.copy()
    sums = np.zeros(SIZE, np.float64)
    for block in _signed_blocks(elements):
        sums += block.sum(axis=0, dtype=np.float64)
    return sums.astype(np.float32)


def _signed_blocks(elements: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    generator = np.random.default_rng(elements.size)
    for start in range(0, elements.size, _BLOCK):
        block = elements[start : start + _BLOCK]
        rows = -(-block.size // SIZE)
        bits = np.frombuffer(generator.bytes(rows * SIZE // 8), np.uint8)
        signs = 1 - 2 * np.unpackbits(bits).astype(np.float32)
        signs[: block.size] *= block
        signs[block.size :] = 0
        yield signs.reshape(rows, SIZE)


def spread_elements(tensor: torch.Tensor, count: int) -> torch.Tensor:
    """A copy of at least that many evenly spaced elements, or of all it has."""
    elements = tensor.detach().flatten()
    return elements[:: max(1, len(elements) // count)].clone()


@contextmanager
def _without_chance(model: torch.nn.Module) -> Iterator[None]:
    """The model as it trains, with batch norms, but without dropout, which differs by device."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.train()
    try:
        yield
    finally:
        for module in training:
            module.training = True


@torch.no_grad()
def find_criterion(model: Any, outputs: Any, labels: torch.Tensor) -> Criterion | None:
    """The criterion that gives, bit by bit, the loss of this forward pass; None if none does."""
    logits = outputs.get("logits")
    if not isinstance(logits, torch.Tensor) or labels.numel() * logits.shape[-1] != logits.numel():
        return None
    for criterion in _candidates(model):
        loss = criterion(logits, labels)
        if loss.dtype == outputs.loss.dtype and torch.equal(loss, outputs.loss):
            return criterion
    return None


def _candidates(model: Any) -> Iterator[Criterion]:
    """The model's own loss function as its forward pass may call it; then plain cross entropy.

    Both of `transformers.loss.loss_utils`' signatures; T5 has one, and does not use it.
    """
    own = model.loss_function
    parameters = inspect.signature(own).parameters
    if "vocab_size" in parameters:
        yield lambda logits, labels: own(logits, labels, vocab_size=logits.shape[-1])
    elif "pooled_logits" in parameters:
        yield lambda logits, labels: own(labels, logits, model.config)
    yield lambda logits, labels: cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))


class TorchTrainer:
    """AdamW over all parameters of a model, on one fixed batch. From the second step on the loss is
    timed separately, if the same loss can be computed outside the model.
    """

    def __init__(
        self,
        model: Any,
        batch: Mapping[str, torch.Tensor],
        constants: Mapping[str, bool],
        clock: Clock,
        restore: Callable[[], None],
        arithmetic: Arithmetic,
    ) -> None:
        self._model = model
        self._clock = clock
        self._wait = arithmetic.wait
        self._restore = restore
        self._arithmetic = arithmetic
        self._scale = arithmetic.scale
        self._arguments = _arguments(model, batch, constants)
        labels = self._arguments.get(LABELS)
        self._labels = labels if isinstance(labels, torch.Tensor) else None
        self._criterion: Criterion | None = None
        self._stepped = False
        model.train()
        self._trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._before = {n: spread_elements(p, _SAMPLE) for n, p in self._trained.items()}
        self._optimizer = torch.optim.AdamW(self._trained.values(), lr=LEARNING_RATE)

    @property
    def scale(self) -> float | None:
        return self._arithmetic.scale

    def step(self) -> TrainingStep:
        clock, wait, criterion = self._clock, self._wait, self._criterion
        arithmetic = self._arithmetic
        started = clock()
        with arithmetic.cast():
            outputs = self._forward(self._model)
            wait()
            forward = compared = clock()
            loss = outputs.loss
            if criterion is not None and self._labels is not None:
                loss = criterion(outputs.logits, self._labels)
                wait()
                compared = clock()
        arithmetic.backward(loss)
        wait()
        backward = clock()
        arithmetic.update(self._optimizer)
        self._optimizer.zero_grad(set_to_none=True)
        wait()
        ended = clock()
        if not self._stepped:
            self._separate_loss(outputs)
        before, self._scale = self._scale, arithmetic.scale
        return TrainingStep(
            started_ns=started,
            forward_ns=forward - started,
            loss_ns=None if criterion is None else compared - forward,
            backward_ns=backward - compared,
            optimizer_ns=ended - backward,
            ended_ns=ended,
            loss=float(loss.detach()),
            skipped=before is not None and self._scale is not None and self._scale < before,
        )

    def unchanged(self) -> tuple[str, ...]:
        """The parameters that kept all their elements; all, if the optimizer took no step."""
        return tuple(name for name, changed in self._changes().items() if not changed.any())

    def untaught(self) -> tuple[str, ...]:
        """The parameters of layers in which each gradient so far was 0, which decay alone changed.

        One alone may well have none: DETR's first attention of the decoder multiplies zeros.
        """
        names = list(self._changes())
        taught = {_layer(name) for name in names if self._squares(name).any()}
        return tuple(name for name in names if _layer(name) not in taught)

    def changed_share(self) -> float:
        shares = [
            changed & (spread_elements(self._squares(name), _SAMPLE) != 0)
            for name, changed in self._changes().items()
        ]
        return float(torch.cat(shares).double().mean()) if shares else 0.0

    def rehearse(self) -> Rehearsal:
        """Step without dropout, the loss taken apart, until the optimizer takes a step."""
        with torch.no_grad(), self._arithmetic.cast():
            outputs = self._forward(self._model.forward)
        self._separate_loss(outputs)
        parameters = dict(self._model.named_parameters())
        gradients: dict[str, FloatArray] = {}

        def take(*_: object) -> None:
            for name, parameter in parameters.items():
                gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                gradients[name] = sketch(gradient)

        def elements() -> dict[str, FloatArray]:
            spread = {name: spread_elements(p, SIZE) for name, p in parameters.items()}
            return {name: kept.to("cpu", torch.float64).numpy() for name, kept in spread.items()}

        before, loss = elements(), np.nan
        hook = self._optimizer.register_step_pre_hook(take)  # gradients have no scale any more
        try:
            with _without_chance(self._model):
                for _ in range(MOST_SKIPPED):
                    loss = self.step().loss
                    if gradients:
                        break
            after = elements()
            return Rehearsal(loss, gradients, {name: after[name] - before[name] for name in before})
        finally:
            hook.remove()

    def close(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        self._optimizer.state.clear()
        self._model.eval()
        self._restore()

    def _forward(self, model: Callable[..., Any]) -> Any:
        try:
            return model(**self._arguments)
        except NotImplementedError as error:
            raise Unsupported(
                reason("torch_cannot_train", model_class=type(self._model).__name__, error=error)
            ) from error

    def _changes(self) -> dict[str, torch.Tensor]:
        """By parameter with a gradient, whether each kept element differs from before."""
        stepped = self._optimizer.state
        return {
            name: before != spread_elements(self._trained[name], _SAMPLE)
            for name, before in self._before.items()
            if not stepped or self._trained[name] in stepped
        }

    def _squares(self, name: str) -> torch.Tensor:
        """AdamW's mean of squared gradients; 0 before a step. Decay changes weights without any."""
        parameter = self._trained[name]
        moments = self._optimizer.state.get(parameter)
        return moments["exp_avg_sq"] if moments else torch.zeros_like(parameter)

    def _separate_loss(self, outputs: Any) -> None:
        self._stepped = True
        if self._labels is not None:
            with self._arithmetic.cast():
                self._criterion = find_criterion(self._model, outputs, self._labels)
        if self._criterion is not None:
            del self._arguments[LABELS]


def _layer(parameter: str) -> str:
    """The name up to the layer's number, or else that of its module."""
    numbered = re.match(r".*?\.\d+(?=\.)", parameter)
    return numbered.group() if numbered else parameter.rpartition(".")[0]


def _arguments(
    model: Any, batch: Mapping[str, torch.Tensor], constants: Mapping[str, bool]
) -> dict[str, Any]:
    """The arguments with which the forward pass gives a loss, without a key-value cache."""
    taken = inspect.signature(model.forward).parameters
    arguments: dict[str, Any] = {**batch, **constants}
    arguments.pop("return_dict", None)
    if "use_cache" in taken:
        arguments["use_cache"] = False
    if LABELS not in batch:
        if "return_loss" not in taken:
            raise Unsupported(reason("untrained_without_labels", model_class=type(model).__name__))
        arguments["return_loss"] = True
        return arguments
    if "decoder_input_ids" in batch:
        # A decoder's input before each label: the start token, then the labels before.
        labels = batch[LABELS]
        start = torch.full_like(labels[:, :1], model.config.decoder_start_token_id)
        arguments["decoder_input_ids"] = torch.cat([start, labels[:, :-1]], dim=1)
    if batch[LABELS].is_floating_point():
        arguments[LABELS] = _objects(batch[LABELS])
    return arguments


def _objects(boxes: torch.Tensor) -> list[dict[str, torch.Tensor]]:
    """Rows of class, centre, width and height, as detectors take them: a dictionary a sample."""
    for package, installed in (("pillow", is_vision_available()), ("scipy", is_scipy_available())):
        if not installed:
            raise Unavailable(reason("detector_package_missing", package=package))
    return [{"class_labels": rows[:, 0].long(), "boxes": rows[:, 1:]} for rows in boxes]
