"""Network of policies that look while they act, and what it learns from states.

What is seen is that of a shipped member, whose weights stay as they are: they know where things are that the
arm does not hide. What is new says where the tool tells more than the image (what it holds or covers), and
which waypoint of the plan comes next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.samples.path_expert import CLEARLY
from embodied_iqa.models.panel.training.encoders import TASK_WIDTH
from embodied_iqa.models.panel.training.policies import (
    PLACES,
    PLAN_WIDTH,
    PolicyOutput,
    QueryPolicy,
    Sighting,
    SightShape,
    Spots,
    plan_in_metres,
)
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS

_HIDDEN: Final = 192
_DROPPED: Final = 0.5
"""Share of what is seen that is left out in training; there are few scenes."""
_DOUBT: Final = 4.0
"""Before training the tool counts for so little (a logit) where things are."""
_AT_TOOL: Final = 3
"""What may be where the tool is: the target, the destination, and the target's yaw."""
_YAW: Final = 4
"""Of the places, the target's yaw; its column in a plan follows."""
_YAW_COLUMN: Final = 3
_FAR: Final = 6.0
_BETA: Final = 0.05
"""Errors above 5 mm count linearly, smaller ones quadratically."""
_COLUMNS: Final = (1.0, 1.0, 1.0, 0.5, 0.5, 0.3)
_PLAN: Final = 2.0


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
        super().__init__(words, reader, shape, views)
        features = int(self.head.hidden[0].in_features)
        self.drop = nn.Dropout(_DROPPED)
        self.correct = _layers(features + PLAN_WIDTH + 3 * PLACES, _AT_TOOL + PLACES)
        self.differ = nn.Linear(TASK_WIDTH, MAX_WAYPOINTS * PLAN_WIDTH)
        self.turn = nn.Linear(TASK_WIDTH, MAX_WAYPOINTS)
        near = 2 * MAX_WAYPOINTS * PLAN_WIDTH + 2 * (MAX_WAYPOINTS - 1)
        self.phase = _layers(features + PLACES + PLAN_WIDTH + near, MAX_WAYPOINTS + 1)
        self.phase_of_task = nn.Linear(TASK_WIDTH, MAX_WAYPOINTS + 1)
        for layer in (self.correct[-1], self.differ, self.turn):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def new_parts(self) -> tuple[nn.Module, ...]:
        """Return what a shipped member does not have."""
        return self.correct, self.differ, self.turn, self.phase, self.phase_of_task

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
        return self.decide(self.see(images, tasks, spots), tools)

    def decide(self, sight: Sighting, tools: Tensor) -> ReactiveOutput:
        """Return the plan and what comes next of it, from what is seen and the tool."""
        task, features = sight.features[:, :TASK_WIDTH], self.drop(sight.features)
        places, known = self.head.places(sight)
        tool = torch.cat([tools[:, :2], tools[:, :2], tools[:, 3:4]], dim=1)
        of_tool = tool.shape[1]
        from_tool = functional.pad(places[:, :of_tool] - tool, (0, PLACES - of_tool))
        seen_and_tool = [features, tools, places, (from_tool / 0.2).tanh(), from_tool.tanh()]
        corrections = self.correct(torch.cat(seen_and_tool, dim=1)).float()
        at_tool, shift = corrections.split((_AT_TOOL, PLACES), dim=1)
        share = (at_tool - _DOUBT).sigmoid()
        share = torch.cat([share[:, :1], share[:, :1], share[:, 1:2], share[:, 1:2], share[:, 2:]], dim=1)
        places = places - functional.pad(share, (0, PLACES - of_tool)) * from_tool + shift
        plan, more = self.head.plan(task, places)
        plan = plan + self.differ(task).float().view(plan.shape)
        turned = self.turn(task).float() * places[:, _YAW, None]
        plan = plan + functional.pad(turned[..., None], (_YAW_COLUMN, PLAN_WIDTH - _YAW_COLUMN - 1))
        inputs = [features, places.detach(), tools, _nearness(plan.detach(), tools)]
        following = self.phase(torch.cat(inputs, dim=1)).float() + self.phase_of_task(task).float()
        output = PolicyOutput(plan, more, known, sight.attention, sight.objects, places, sight.votes)
        return ReactiveOutput(output, following)


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, _HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, _HIDDEN),
        nn.ReLU(),
        nn.Linear(_HIDDEN, outputs),
    )


def _nearness(plan: Tensor, tools: Tensor) -> Tensor:
    """Return how far tools are from each waypoint and from each way between two, as for the expert."""
    unit = plan.new_tensor(CLEARLY)
    at, here = plan_in_metres(plan) / unit, plan_in_metres(tools)[:, None] / unit
    ahead = at - here
    way, begin = at[:, 1:] - at[:, :-1], here - at[:, :-1]
    share = ((begin * way).sum(-1) / way.square().sum(-1).clamp_min(1e-6)).clamp(0.0, 1.0)
    beside = ((begin - share[..., None] * way).square().sum(-1) + 1e-6).sqrt()
    return torch.cat([ahead.tanh().flatten(1), (ahead / _FAR).tanh().flatten(1), beside.tanh(), share], dim=1)


@dataclass(frozen=True, slots=True, eq=False)
class StateBatch:
    """``B`` states with a task each, and what a shipped member sees in them.

    Attributes:
        sight: What it sees.
        tools: ``(B, 6)``, centred and scaled.
        plan: ``(B, K, 6)`` the expert's, centred and scaled.
        length: ``(B,)`` its number of waypoints.
        following: ``(B,)`` the waypoint that comes next; K where nothing is left to do.
    """

    sight: Sighting
    tools: Tensor
    plan: Tensor
    length: Tensor
    following: Tensor


def reactive_loss(output: ReactiveOutput, batch: StateBatch) -> Tensor:
    """Smooth L1 of the way to the next waypoint and of the rest; cross-entropy of which comes next."""
    index = torch.arange(MAX_WAYPOINTS)[None]
    last = torch.minimum(batch.following, batch.length)[:, None] - 1  # where the way to the next one begins
    counts = ((index >= last) & (index < batch.length[:, None])).float()
    error = functional.smooth_l1_loss(output.policy.plan, batch.plan, reduction="none", beta=_BETA)
    missed = ((error * error.new_tensor(_COLUMNS)).sum(-1) * counts).sum() / counts.sum().clamp_min(1.0)
    return _PLAN * missed + functional.cross_entropy(output.following, batch.following)
