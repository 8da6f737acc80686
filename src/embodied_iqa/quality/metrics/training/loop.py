"""Training of one network: resumable after each epoch, stopped early by validation SRCC."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.training.trainer import Trainer, adamw, run_epochs, seeded_batches
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult
from embodied_iqa.data.analysis.correlation import srcc
from embodied_iqa.quality.metrics.learned.inputs import InputKind
from embodied_iqa.quality.metrics.training.image_networks import (
    CnnIqa,
    ImageLearner,
    ReducedResNet18,
    SmallViT,
)
from embodied_iqa.quality.metrics.training.metric_losses import shares_below, squared_loss, two_head_loss
from embodied_iqa.quality.metrics.training.miqa_networks import (
    FLIPS,
    RegionAware,
    make_square_network,
    region_features,
)
from embodied_iqa.quality.metrics.training.recipes import Architecture, MetricRecipe, Objective
from embodied_iqa.quality.metrics.training.starting_weights import StartingWeights, start_from
from embodied_iqa.quality.metrics.training.token_networks import TokenDistances, TokenNetwork
from embodied_iqa.quality.metrics.training.vector_networks import VectorNetwork
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

Learner = VectorNetwork | ImageLearner
Network = Learner | TokenNetwork
_AT_ONCE: Final = 256
"""Images of one inference."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledInputs:
    """Inputs with labels, as `measure_inputs` returns them.

    Attributes:
        values: ``(N, D)`` float32, or ``(N, H, W, 3)`` uint8.
        views: ``(N,)`` index of the camera.
        labels: ``(N,)`` finite, higher is better.
        features: ``(N, F, E)`` of a region encoder, see `region_features`; None if there is none.
    """

    values: NDArray[Any]
    views: NDArray[np.int64]
    labels: NDArray[np.float64]
    features: NDArray[np.float32] | None = None

    def part(self, rows: slice) -> LabelledInputs:
        """Return some of the rows, without a copy."""
        return LabelledInputs(self.values[rows], self.views[rows], self.labels[rows])


@dataclass(frozen=True, slots=True)
class MetricEpoch:
    """Result of an epoch.

    Attributes:
        epoch: Number from 1.
        loss: Mean over its steps.
        validation_srcc: Of the rank head on the validation part; NaN if it is undefined.
    """

    epoch: int
    loss: float
    validation_srcc: float


class _State(nn.Module):
    """What a checkpoint holds: the network, the best one so far, and the validation SRCC of each epoch."""

    validation: Tensor

    def __init__(self, network: Learner, epochs: int) -> None:
        super().__init__()
        self.network = network
        self.best = copy.deepcopy(network).requires_grad_(requires_grad=False)
        self.register_buffer("validation", torch.full((epochs,), math.nan, dtype=torch.float64))


def make_network(recipe: MetricRecipe, inputs: int) -> Learner:
    """Return a new network.

    Args:
        recipe: Of the metric.
        inputs: Length of the input, of networks of statistics.
    """
    match recipe.architecture:
        case Architecture.VECTOR:
            return VectorNetwork(inputs, len(CELL_VIEWS))
        case Architecture.CNNIQA:
            return CnnIqa()
        case Architecture.RESNET:
            return ReducedResNet18()
        case Architecture.VIT:
            return SmallViT(recipe.input.size_px)
    if recipe.network is None:
        raise InternalError(f"the recipe {recipe.name} has no network")
    return make_square_network(recipe.network, recipe.input.size_px[0])


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What the result of a training depends on beside its inputs.

    Attributes:
        recipe: Of the metric.
        seed: Of everything random.
        folder: Folder of the checkpoint.
        record: Further text by which a checkpoint is recognised; one of another training is refused.
        starting: Weights to begin with; the record has to name them.
    """

    recipe: MetricRecipe
    seed: int
    folder: Path
    record: Mapping[str, str] = field(default_factory=dict)
    starting: StartingWeights = field(default_factory=StartingWeights)

    @property
    def whole_record(self) -> dict[str, object]:
        """Everything, as plain data."""
        return {"recipe": repr(sorted(asdict(self.recipe).items())), "seed": self.seed, **self.record}


def train_network(
    run: TrainingRun,
    training: LabelledInputs,
    validation: LabelledInputs,
    watch: Callable[[MetricEpoch], None],
    *,
    stop_after: int | None = None,
) -> tuple[Network, list[MetricEpoch]]:
    """Train a network, or continue an interrupted training; the weights do not depend on interruptions.

    Token maps are replaced by distances once, before the first epoch.

    Args:
        run: Recipe, seed and folder.
        training: To learn from.
        validation: To choose the epoch by; of other references.
        watch: Called after each epoch, also for those of an earlier call.
        stop_after: Return after this epoch.

    Returns:
        The network of the epoch with the best validation SRCC, in evaluation mode, and all epochs.

    Raises:
        UserError: The checkpoint is broken or belongs to another training.
    """
    if run.recipe.input.kind is not InputKind.TOKENS:
        return _train(run, training, validation, watch, stop_after)
    distances = TokenDistances(len(CELL_VIEWS))
    distances.fit(*map(torch.from_numpy, (training.values, training.views, training.labels)))
    learned, checked = (replace(one, values=_outputs(distances, one)) for one in (training, validation))
    network, epochs = _train(run, learned, checked, watch, stop_after)
    return TokenNetwork(distances, network).eval(), epochs


def _train(
    run: TrainingRun,
    training: LabelledInputs,
    validation: LabelledInputs,
    watch: Callable[[MetricEpoch], None],
    stop_after: int | None,
) -> tuple[Learner, list[MetricEpoch]]:
    recipe = run.recipe
    with torch.random.fork_rng():
        torch.manual_seed(run.seed)
        network = make_network(recipe, training.values.shape[1])
        start_from(network, run.starting)
        network.fit_inputs(torch.from_numpy(training.values), torch.from_numpy(training.views))
        state, optimiser = _State(network, recipe.epochs), adamw(network, recipe.rate, recipe.weight_decay)
        checkpoint = Checkpoint(run.folder, state, optimiser, run.whole_record)
        results = checkpoint.load()
        training, validation = _with_features(network, training, 4), _with_features(network, validation, 1)
        lesson, trainer = _Lesson.of(recipe, training), Trainer(network, optimiser, partial(_rate, recipe))

        def one_epoch(epoch: int) -> EpochResult:
            batches = seeded_batches(len(lesson.ranks), recipe.batch, run.seed, epoch)
            result = trainer.epoch(epoch, batches, lambda rows: partial(lesson.loss, network, rows))
            _keep_best(state, validation, epoch)
            return result

        run_epochs(
            results,
            min(recipe.epochs, stop_after or recipe.epochs),
            one_epoch,
            checkpoint,
            lambda result: watch(_epoch_of(state, result)),
            has_converged=partial(_has_converged, state, recipe.patience),
        )
    return state.best.eval(), [_epoch_of(state, result) for result in results]


def predict(network: Network, inputs: LabelledInputs) -> NDArray[np.float32]:
    """Return ``(N, 2)``, rank and standardised label."""
    return _outputs(network.eval(), inputs)


def _with_features(network: Learner, inputs: LabelledInputs, flips: int) -> LabelledInputs:
    """Return the inputs with what the frozen region encoder of the network sees, if it has one."""
    if not isinstance(network, RegionAware) or network.encoder is None:
        return inputs
    return replace(inputs, features=region_features(network, inputs.values, flips=flips))


def _outputs(network: nn.Module, inputs: LabelledInputs) -> NDArray[np.float32]:
    found = []
    with torch.inference_mode():
        for start in range(0, len(inputs.views), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            values, views = torch.from_numpy(inputs.values[rows]), torch.from_numpy(inputs.views[rows])
            if isinstance(network, RegionAware) and inputs.features is not None:
                output = network.members_of(values, torch.from_numpy(inputs.features[rows, 0]))[0]
            else:
                output = network(values, views)
            found.append(output.numpy())
    return np.concatenate(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Lesson:
    """What an epoch needs: recipe, inputs, and the labels as ranks and standardised."""

    recipe: MetricRecipe
    inputs: LabelledInputs
    ranks: Tensor
    labels: Tensor

    @classmethod
    def of(cls, recipe: MetricRecipe, inputs: LabelledInputs) -> _Lesson:
        mean, deviation = label_scale(inputs.labels)
        standard = ((inputs.labels - mean) / deviation).astype(np.float32)
        ranks = shares_below(inputs.labels).astype(np.float32)
        return cls(recipe, inputs, torch.from_numpy(ranks), torch.from_numpy(standard))

    def loss(self, network: Learner, rows: NDArray[np.int64]) -> Tensor:
        """Return the loss of a network on some rows."""
        values = torch.from_numpy(self.inputs.values[rows])
        kind, features = self.recipe.input.kind, self.inputs.features
        axes = FLIPS[3] if kind is InputKind.SQUARE else FLIPS[1] if kind.is_image else FLIPS[0]
        flips = [torch.rand(len(rows)) < 0.5 for _ in axes]
        for axis, chosen in zip(axes, flips, strict=True):
            values = torch.where(chosen[:, None, None, None], values.flip(axis), values)
        if isinstance(network, RegionAware) and features is not None:
            sides = (flips[0] + 2 * flips[1].long()).numpy()
            outputs = network.members_of(values, torch.from_numpy(features[rows, sides]))
        else:
            outputs = network.members(values, torch.from_numpy(self.inputs.views[rows]))
        if self.recipe.objective is Objective.SQUARED:
            return squared_loss(outputs, self.labels[rows])
        return two_head_loss(outputs, self.ranks[rows], self.labels[rows], self.recipe.rank_share)


def with_shared_labels(
    inputs: LabelledInputs, kinds: NDArray[np.str_] | None, share: float
) -> LabelledInputs:
    """Return the inputs with labels that images of the same kind and camera have in part in common.

    Args:
        inputs: N images.
        kinds: ``(N,)`` what was done to each image; None if unknown, which changes nothing.
        share: Weight of the mean label of these images, in [0, 1].
    """
    if kinds is None:
        return inputs
    _, group = np.unique(np.char.add(kinds, np.char.add("@", inputs.views.astype(str))), return_inverse=True)
    means = np.bincount(group, inputs.labels) / np.bincount(group)
    return replace(inputs, labels=share * means[group] + (1.0 - share) * inputs.labels)


def label_scale(labels: NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and deviation by which the label head is standardised."""
    return float(labels.mean()), max(float(labels.std()), 1e-6)


def _epoch_of(state: _State, result: EpochResult) -> MetricEpoch:
    return MetricEpoch(result.epoch, result.loss, float(state.validation[result.epoch - 1]))


def _has_converged(state: _State, patience: int, epoch: int) -> bool:
    seen = state.validation[:epoch].nan_to_num(-1.0)
    return epoch > patience and int(seen.argmax()) < epoch - patience


def _keep_best(state: _State, validation: LabelledInputs, epoch: int) -> None:
    ranks = predict(state.network, validation)[:, 0].astype(np.float64)
    state.validation[epoch] = srcc(ranks, validation.labels).value
    seen = state.validation[: epoch + 1].nan_to_num(-1.0)
    if int(seen.argmax()) == epoch or epoch == 0:
        state.best.load_state_dict(state.network.state_dict())


def _rate(recipe: MetricRecipe, epoch: int, step: int, steps: int) -> float:
    """Return the learning rate: linear warm-up and cosine decay."""
    done = epoch + step / steps
    rising = min(1.0, (done + 0.1) / recipe.warm_up_epochs)
    share = rising * 0.5 * (1 + math.cos(math.pi * done / recipe.epochs))
    return recipe.rate * max(share, recipe.least_rate_share)
