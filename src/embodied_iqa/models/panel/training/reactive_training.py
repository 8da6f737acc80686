"""Training of a policy that looks while it acts, from the weights of a shipped member; resumable."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from embodied_iqa.base.training.trainer import Trainer, adamw, full_batches, rate_share, run_epochs
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult, save_curve
from embodied_iqa.models.panel.evaluation.closed_loop import act_out, success_of
from embodied_iqa.models.panel.panel_members import ReactiveRecipe
from embodied_iqa.models.panel.samples.sample_files import load_samples
from embodied_iqa.models.panel.samples.state_samples import load_states
from embodied_iqa.models.panel.training.encoders import ENCODERS
from embodied_iqa.models.panel.training.glimpses import Look
from embodied_iqa.models.panel.training.member_training import (
    SampleOrigin,
    TrainingFolders,
    export_member,
    export_with_card,
    training_facts,
)
from embodied_iqa.models.panel.training.panel_losses import ThingHead, grounding_loss, vote_loss
from embodied_iqa.models.panel.training.policies import QueryPolicy, SightShape
from embodied_iqa.models.panel.training.reactive import ReactivePolicy, StateBatch, StateData, reactive_loss
from embodied_iqa.models.panel.training.start_weights import load_start, made_distinct
from embodied_iqa.models.subjects.backends.panel.format import Vocabulary
from embodied_iqa.models.subjects.backends.panel.reactive import ReactiveVla
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS, card_of
from embodied_iqa.models.subjects.model_card import ModelCard, save_card

_GROUNDING: Final = 0.3
_THINGS: Final = 0.3
_WEIGHT_DECAY: Final = 0.02
_ACTED_OUT: Final = 40
"""Held-out scenes on which the member acts at the end."""


class _Training(nn.Module):
    """A network with the auxiliary head; its normalisations keep the statistics that they start with."""

    def __init__(self, recipe: ReactiveRecipe, data: StateData) -> None:
        super().__init__()
        self.network = started(recipe, len(data.words.words))
        self.things = ThingHead(ENCODERS[recipe.encoder], len(recipe.views))

    def train(self, mode: bool = True) -> _Training:  # noqa: FBT001, FBT002 - as in torch
        super().train(mode)
        for layer in self.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.eval()
        return self

    def loss(self, batch: StateBatch) -> Tensor:
        """Return the whole loss of a batch."""
        scene = batch.scene
        output = self.network.act(scene.images, scene.tasks, batch.tools, scene.spots)
        policy = output.policy
        main = reactive_loss(output, batch) + vote_loss(policy.votes, scene)
        grounding = _GROUNDING * grounding_loss(policy.attention, scene.wanted)
        return main + grounding + _THINGS * self.things(policy.objects, scene)


def started(recipe: ReactiveRecipe, words: int) -> ReactivePolicy:
    """Return a network with the weights of the member that it starts from, where that has them."""
    shape = SightShape(recipe.encoder, Look(recipe.look), recipe.context, recipe.pictures.size_px)
    torch.manual_seed(recipe.seed)
    network = ReactivePolicy(words, recipe.reader, shape, len(recipe.views))
    before = QueryPolicy(words, recipe.reader, shape, len(recipe.views))
    made_distinct(before, recipe.seed)
    with TemporaryDirectory() as folder:
        like = Path(folder) / "like.onnx"
        export_member(before, len(recipe.views), recipe.pictures.size_px, like, halved=False)
        load_start(before, MODELS / f"{recipe.start}.onnx", like)
    ours = network.state_dict()
    with torch.no_grad():
        for name, value in before.state_dict().items():
            if ours[name].shape == value.shape:
                ours[name].copy_(value)
            else:  # the tool's columns are new
                ours[name].zero_()
                ours[name][:, : value.shape[1]].copy_(value)
    return network


def train_reactive(recipe: ReactiveRecipe, origin: SampleOrigin, folders: TrainingFolders) -> ModelCard:
    """Train, export and evaluate a policy that looks while it acts; resumes an interrupted training.

    Args:
        recipe: The member.
        origin: Noted in the card.
        folders: Samples of states, checkpoints and models.
    """
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    words = Vocabulary(card_of(recipe.start).words)
    data = _data(recipe, folders.train, words)
    network, results = _train(recipe, data, folders.work / recipe.name)
    save_curve(results, recipe.name, folders.work / f"{recipe.name}.svg")
    facts = training_facts(recipe, origin, len(data), results)
    card = export_with_card(recipe, folders, data, network, facts)
    held_out = _data(recipe, folders.test, words)
    member = ReactiveVla(folders.models, recipe.name)
    acted = [act_out(member, origin.held_out_seed, number) for number in range(_ACTED_OUT)]
    card = dataclasses.replace(card, results=success_of(acted) | evaluate_states(member, held_out))
    save_card(card, folders.models / f"{recipe.name}.json")
    return card


def _data(recipe: ReactiveRecipe, folder: Path, words: Vocabulary) -> StateData:
    return StateData(load_samples(folder, recipe.views, recipe.pictures), load_states(folder), words)


def _train(recipe: ReactiveRecipe, data: StateData, folder: Path) -> tuple[ReactivePolicy, list[EpochResult]]:
    model = _Training(recipe, data)
    model.to(memory_format=torch.channels_last)
    optimiser = adamw(model, recipe.rate, _WEIGHT_DECAY)
    record = dataclasses.asdict(recipe) | {"lessons": len(data)}
    trainer = Trainer(model, optimiser, partial(_rate, recipe), bfloat16=True)
    checkpoint = Checkpoint(folder, model, optimiser, record)
    one_epoch = partial(_epoch, trainer, model, recipe, data)
    results = run_epochs(checkpoint.load(), recipe.epochs, one_epoch, checkpoint, lambda _: None)
    return model.network.eval(), results


def _epoch(
    trainer: Trainer, model: _Training, recipe: ReactiveRecipe, data: StateData, epoch: int
) -> EpochResult:
    rng = np.random.default_rng([recipe.seed, epoch])

    def prepare(rows: NDArray[np.int64]) -> Callable[[], Tensor]:
        return partial(model.loss, data.states(rows, recipe.augmentation, rng))

    return trainer.epoch(epoch, full_batches(rng.permutation(len(data)), recipe.batch), prepare)


def _rate(recipe: ReactiveRecipe, epoch: int, step: int, steps: int) -> float:
    return recipe.rate * rate_share((epoch + step / steps) / recipe.epochs)


def evaluate_states(member: ReactiveVla, data: StateData) -> dict[str, float | str]:
    """Return how often a member names the right waypoint in held-out states, and how far off it then is."""
    samples, states = data.samples, data.labels
    right: list[bool] = []
    off_mm: list[float] = []
    for row in range(len(samples)):
        images = [shots[row] for shots in samples.images]
        plan = member.plan(images, samples.tasks[row][0], states.tool[row].astype(np.float64), prepared=True)
        wanted, following = states.plan[row], int(states.following[row])
        is_done = following == states.length[row]
        right.append(plan.following == (len(plan.waypoints) if is_done else following))
        if not is_done and following < len(plan.waypoints):
            off_mm.append(1e3 * float(np.linalg.norm(plan.waypoints[following, :3] - wanted[following, :3])))
    return {
        "right_waypoint": round(float(np.mean(right)), 4),
        "median_position_mm": round(float(np.median(off_mm)), 2) if off_mm else -1.0,
        "states": float(len(right)),
    }
