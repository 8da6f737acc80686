"""Training of a policy that looks while it acts, from the weights of a shipped member; resumable.

It learns in rounds: first from states that the expert comes to, then also from those that it comes to itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, partial
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
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.panel.evaluation.closed_loop import act_out, success_of
from embodied_iqa.models.panel.panel_members import ReactiveRecipe
from embodied_iqa.models.panel.samples.state_samples import States, draw_states, load_states
from embodied_iqa.models.panel.training.batches import as_tensor, scaled_plan
from embodied_iqa.models.panel.training.glimpses import Look
from embodied_iqa.models.panel.training.member_training import (
    SampleOrigin,
    TrainingFolders,
    export_member,
    export_with_card,
    training_facts,
)
from embodied_iqa.models.panel.training.policies import QueryPolicy, Sighting, SightShape, plan_in_metres
from embodied_iqa.models.panel.training.reactive import ReactivePolicy, StateBatch, reactive_loss
from embodied_iqa.models.panel.training.start_weights import load_start, made_distinct
from embodied_iqa.models.subjects.backends.panel.format import MAX_TASK_WORDS, Vocabulary, framed, task_words
from embodied_iqa.models.subjects.backends.panel.reactive import ReactiveVla
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS, card_of
from embodied_iqa.models.subjects.model_card import ModelCard, load_card, save_card
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS

_WEIGHT_DECAY: Final = 0.05
_ACTED_OUT: Final = 40
"""Held-out scenes on which the member acts at the end."""
_FILE_SCENES: Final = 20
"""Scenes of a file of states: about 350 states."""
_JITTER: Final = (0.001, 0.001, 0.0005, 0.01, 0.01, 0.005)
"""Spread of the tool's pose and gripper in training, in the units of a plan."""


def started(recipe: ReactiveRecipe) -> ReactivePolicy:
    """Return a network that sees and plans as the member does that it starts from."""
    torch.manual_seed(recipe.seed)
    network = ReactivePolicy(*_parts_of(recipe))
    network.load_state_dict(_weights_before(recipe), strict=False)
    return network


@cache
def _weights_before(recipe: ReactiveRecipe) -> dict[str, Tensor]:
    """Return the weights of the member that a training starts from, which it needs twice."""
    before = QueryPolicy(*_parts_of(recipe))
    made_distinct(before, recipe.seed)
    with TemporaryDirectory() as folder:
        like = Path(folder) / "like.onnx"
        export_member(before, len(recipe.views), recipe.images.size_px, like, halved=False)
        load_start(before, MODELS / f"{recipe.start}.onnx", like)
    weights: dict[str, Tensor] = before.state_dict()
    return weights


def _parts_of(recipe: ReactiveRecipe) -> tuple[int, str, SightShape, int]:
    """Return what a network is made of: number of words, reader, sight and number of views."""
    shape = SightShape(recipe.encoder, Look(recipe.look), recipe.context, recipe.images.size_px)
    return len(card_of(recipe.start).words), recipe.reader, shape, len(recipe.views)


class _Eyes:
    """What the network that a training starts from sees in an image."""

    def __init__(self, recipe: ReactiveRecipe) -> None:
        self._recipe, self._network = recipe, started(recipe).eval()
        self._words = Vocabulary(card_of(recipe.start).words)

    def __call__(self, frame: Frame, task: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        kind = self._recipe.images
        image = as_tensor(framed(frame.rgb, frame.view, kind.framing, kind.size_px)[None])
        words = torch.from_numpy(self._words.encode(task_words(task), MAX_TASK_WORDS))
        with torch.no_grad():
            sight = self._network.see((image,), words[None, None])
        return sight.features[0].numpy(), sight.voted[0].numpy()


_eyes = cache(_Eyes)


def state_files(folder: Path, scenes: range) -> dict[Path, range]:
    """Return the files of the states of scenes, with the numbers of the scenes of each."""
    starts = range(scenes.start, scenes.stop, _FILE_SCENES)
    return {
        folder / f"part-{part:03d}.npz": range(start, min(start + _FILE_SCENES, scenes.stop))
        for part, start in enumerate(starts)
    }


def round_files(recipe: ReactiveRecipe, folder: Path, turn: int) -> dict[Path, range]:
    """Return the files of the states of a round of a training."""
    return state_files(folder / f"round-{turn}", recipe.scenes_of(turn))


def draw_file(
    recipe: ReactiveRecipe, file: Path, seed: int, scenes: range, member: ReactiveVla | None = None
) -> None:
    """Draw the states of a file, unless it is there."""
    if not file.is_file():
        torch.set_num_threads(1)
        cv2.setNumThreads(1)
        draw_states(file, recipe.views[0], _eyes(recipe), seed, scenes, member=member)


def train_reactive(recipe: ReactiveRecipe, origin: SampleOrigin, folders: TrainingFolders) -> ModelCard:
    """Train, export and evaluate a policy that looks while it acts; resumes an interrupted training.

    Args:
        recipe: The member.
        origin: Noted in the card.
        folders: Files of states, checkpoints and models.
    """
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    training = _Training(recipe, origin.train_seed, folders)
    network, results = training.run()
    save_curve(results, recipe.name, folders.work / f"{recipe.name}.svg")
    facts = training_facts(recipe, origin, recipe.scenes, results)
    words = Vocabulary(card_of(recipe.start).words)
    file = folders.models / f"{recipe.name}.json"
    before = load_card(file) if file.is_file() else None
    card = export_with_card(recipe, folders.models, words.words, network, facts)
    if before is not None and before.sha256 == card.sha256 and before.results:
        found = before.results  # it would do the same again
    else:
        member = ReactiveVla(folders.models, recipe.name)
        acted = [act_out(member, origin.held_out_seed, number) for number in range(_ACTED_OUT)]
        found = success_of(acted) | evaluate_states(network, load_states(sorted(folders.test.glob("*.npz"))))
    card = dataclasses.replace(card, results=found)
    save_card(card, file)
    return card


class _Training:
    """The rounds of a training: each begins with more states than the last one."""

    def __init__(self, recipe: ReactiveRecipe, seed: int, folders: TrainingFolders) -> None:
        self._recipe, self._seed, self._folders = recipe, seed, folders
        self._network = started(recipe)
        for weight in self._network.parameters():
            weight.requires_grad_(False)
        for part in self._network.new_parts():
            part.requires_grad_(True)
        optimiser = adamw(self._network, recipe.rate, _WEIGHT_DECAY)
        self._trainer = Trainer(self._network, optimiser, self._rate)
        record = dataclasses.asdict(recipe)
        self._checkpoint = Checkpoint(folders.work / recipe.name, self._network, optimiser, record)
        self._turn = -1
        self._states: States | None = None

    def run(self) -> tuple[ReactivePolicy, list[EpochResult]]:
        """Train, or continue."""
        stored = self._checkpoint.load()
        results = run_epochs(stored, self._recipe.all_epochs, self._epoch, self._checkpoint, lambda _: None)
        return self._network.eval(), results

    def _rate(self, epoch: int, step: int, steps: int) -> float:
        """Return the learning rate, which rises and falls in each round."""
        _, before, epochs = self._recipe.round_of(epoch)
        return self._recipe.rate * rate_share((before + step / steps) / epochs)

    def _epoch(self, epoch: int) -> EpochResult:
        states = self._states_of(self._recipe.round_of(epoch)[0])
        rng = np.random.default_rng([self._recipe.seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)))
        order = rng.choice(len(states), len(states), p=_shares(states))

        def prepare(rows: NDArray[np.int64]) -> Callable[[], Tensor]:
            return partial(self._loss, _batch(states, rows, rng))

        return self._trainer.epoch(epoch, full_batches(order, self._recipe.batch), prepare)

    def _loss(self, batch: StateBatch) -> Tensor:
        return reactive_loss(self._network.decide(batch.sight, batch.tools), batch)

    def _states_of(self, turn: int) -> States:
        """Return the states up to a round; at its beginning the network comes to those that are missing."""
        if self._states is None or turn != self._turn:
            files: list[Path] = []
            for earlier in range(turn + 1):
                wanted = round_files(self._recipe, self._folders.train, earlier)
                files += wanted
                missing = {file: scenes for file, scenes in wanted.items() if not file.is_file()}
                member = self._member() if missing else None
                for file, scenes in missing.items():
                    draw_file(self._recipe, file, self._seed, scenes, member)
            self._turn, self._states = turn, load_states(files)
        return self._states

    def _member(self) -> ReactiveVla:
        """Return the network as it is now, as a policy."""
        folder, words = self._folders.work / f"{self._recipe.name}-acting", card_of(self._recipe.start).words
        export_with_card(self._recipe, folder, words, self._network.eval(), {})
        return ReactiveVla(folder, self._recipe.name)


def _shares(states: States) -> NDArray[np.float64]:
    """Return how often each state is shown: rare moments of a task more often than their number says."""
    _, moments, counts = np.unique(
        np.stack([states.verb, states.following]), axis=1, return_inverse=True, return_counts=True
    )
    weights = counts[moments.ravel()] ** -0.5
    return np.asarray(weights / weights.sum(), np.float64)


def _batch(states: States, rows: NDArray[np.int64], rng: np.random.Generator | None = None) -> StateBatch:
    """Return some states; with their tools moved a little where a generator is given."""
    tools, length = states.tool[rows].astype(np.float64), states.length[rows]
    if rng is not None:
        tools += rng.standard_normal(tools.shape) * _JITTER
    following = np.where(states.following[rows] >= length, MAX_WAYPOINTS, states.following[rows])
    features, voted = torch.from_numpy(states.features[rows]), torch.from_numpy(states.voted[rows])
    return StateBatch(
        Sighting(features, voted),
        torch.from_numpy(scaled_plan(tools)),
        torch.from_numpy(scaled_plan(states.plan[rows])),
        torch.from_numpy(length),
        torch.from_numpy(following),
    )


def evaluate_states(network: ReactivePolicy, states: States) -> dict[str, float | str]:
    """Return how often a network names the right waypoint in held-out states, and how far off its own is."""
    rows = np.arange(len(states))
    batch = _batch(states, rows)
    with torch.no_grad():
        output = network.decide(batch.sight, batch.tools)
    missing = torch.arange(MAX_WAYPOINTS)[None] >= batch.length[:, None]
    named = output.following.masked_fill(nn.functional.pad(missing, (0, 1)), -torch.inf).argmax(dim=1)
    goes = states.following < states.length
    at = np.minimum(states.following, states.length - 1)
    off = plan_in_metres(output.policy.plan).numpy()[rows, at, :3] - states.plan[rows, at, :3]
    off_mm = 1e3 * np.linalg.norm(off, axis=1)[goes]
    return {
        "right_waypoint": round(float((named == batch.following).float().mean()), 4),
        "median_position_mm": round(float(np.median(off_mm)), 2) if len(off_mm) else -1.0,
        "states": float(len(states)),
    }
