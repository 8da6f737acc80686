"""Network and batches of policies that look while they act.

What is seen and planned is that of the other policies. Beside it a network says which waypoint of the plan
comes next, from where the tool is relative to each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.panel_members import Augmentation
from embodied_iqa.models.panel.samples.sample_files import Samples
from embodied_iqa.models.panel.samples.state_samples import StateLabels
from embodied_iqa.models.panel.training.batches import TrainingData, scaled_plan
from embodied_iqa.models.panel.training.encoders import TASK_WIDTH
from embodied_iqa.models.panel.training.panel_losses import Batch, plan_loss
from embodied_iqa.models.panel.training.policies import (
    PLACES,
    PLAN_WIDTH,
    PolicyOutput,
    QueryPolicy,
    SightShape,
    Spots,
    plan_in_metres,
)
from embodied_iqa.models.subjects.backends.panel.format import Vocabulary
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS

_NEAR: Final = (0.02, 0.02, 0.02, 0.15, 0.15, 0.06)
"""m, rad and a part of the stroke: far more than this is far, however far it is."""
_HIDDEN: Final = 192
_FOLLOWING: Final = 1.0
_JITTER: Final = (0.001, 0.001, 0.0005, 0.01, 0.01, 0.005)
"""Spread of the tool's pose and gripper in training, in these units."""


class ReactiveOutput(NamedTuple):
    """Output for ``N`` tasks.

    Attributes:
        policy: The plan, and what it rests on.
        following: ``(N, K + 1)`` logits of the waypoint that comes next; the last one: nothing is left to do.
    """

    policy: PolicyOutput
    following: Tensor


class ReactivePolicy(QueryPolicy):
    """`QueryPolicy` that also gets the tool, and says which of its waypoints comes next."""

    def __init__(self, words: int, reader: str, shape: SightShape, views: int) -> None:
        super().__init__(words, reader, shape, views, told=PLAN_WIDTH)
        inputs = int(self.head.hidden[0].in_features) + PLACES + 2 * MAX_WAYPOINTS * PLAN_WIDTH + 1
        self.phase = nn.Sequential(
            nn.Linear(inputs, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, MAX_WAYPOINTS + 1),
        )
        self.phase_of_task = nn.Linear(TASK_WIDTH, MAX_WAYPOINTS + 1)

    def act(
        self, images: tuple[Tensor, ...], tasks: Tensor, tools: Tensor, spots: Spots = None
    ) -> ReactiveOutput:
        """Return the plan and what comes next of it.

        Args:
            images: ``(B, 3, H, W)`` of each view.
            tasks: ``(B, R, 32)`` word numbers.
            tools: ``(B R, 6)`` tool and gripper, centred and scaled as a plan.
            spots: Where to look, in training.
        """
        output, features = self.plan(images, tasks, spots, tools)
        near = output.plan.new_tensor(_NEAR)
        off = (plan_in_metres(output.plan.detach()) - plan_in_metres(tools)[:, None]) / near
        nearness = torch.cat([off.tanh(), (off / 6).tanh()], dim=-1).flatten(1)
        inputs = [features, output.places.detach(), nearness, output.seen[:, None].detach()]
        following = self.phase(torch.cat(inputs, dim=1)).float()
        return ReactiveOutput(output, following + self.phase_of_task(features[:, :TASK_WIDTH]).float())


@dataclass(frozen=True, slots=True, eq=False)
class StateBatch:
    """``B`` states with a task each.

    Attributes:
        scene: Images, task and what is wanted, as of a scene.
        tools: ``(B, 6)``, centred and scaled.
        following: ``(B,)`` the waypoint that comes next; the last number where nothing is left to do.
    """

    scene: Batch
    tools: Tensor
    following: Tensor


class StateData(TrainingData):
    """Samples of states with words as numbers.

    Args:
        samples: Of the states, a task each.
        states: What else is known of them.
        words: Vocabulary of tasks; None for the words of the samples.
    """

    def __init__(self, samples: Samples, states: StateLabels, words: Vocabulary | None = None) -> None:
        self.labels = states
        super().__init__(samples, None, words)

    def _plans(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        states = self.labels
        return scaled_plan(states.plan)[:, None], states.length[:, None]

    def states(
        self, rows: NDArray[np.int64], augmentation: Augmentation, rng: np.random.Generator
    ) -> StateBatch:
        """Return a batch of states.

        Args:
            rows: ``(B,)`` which.
            augmentation: Of the images.
            rng: Of the augmentation.
        """
        scene = self.batch(rows, np.zeros((len(rows), 1), np.int64), augmentation, rng)
        jitter = rng.standard_normal((len(rows), len(_JITTER))) * _JITTER
        states = self.labels
        done = states.following[rows] >= states.length[rows]
        following = np.where(done, MAX_WAYPOINTS, states.following[rows])
        tools = torch.from_numpy(scaled_plan(states.tool[rows] + jitter))
        return StateBatch(scene, tools, torch.from_numpy(following))


def reactive_loss(output: ReactiveOutput, batch: StateBatch) -> Tensor:
    """Losses of the rest of the plan, and cross-entropy of the waypoint that comes next."""
    following = functional.cross_entropy(output.following, batch.following)
    return plan_loss(output.policy, batch.scene, batch.following) + _FOLLOWING * following
