"""Networks of the learned VLAs: from images and a task to waypoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from embodied_iqa.models.panel.training.encoders import (
    ENCODERS,
    TASK_WIDTH,
    make_encoder,
    make_reader,
)
from embodied_iqa.models.panel.training.glimpses import Glimpses, Look, Objects
from embodied_iqa.models.subjects.backends.panel.format import PLAN_CENTRE, PLAN_SCALE
from embodied_iqa.world.manipulation.waypoints import MAX_WAYPOINTS

PLAN_WIDTH: Final = len(PLAN_SCALE)
PLACES: Final = 8
_HEAD_WIDTH: Final = 256
_KEY_WIDTH: Final = 64

Spots: TypeAlias = "tuple[Tensor, ...] | None"
"""For each view ``(B, SLOTS, 2)`` where to look, in training; None to look where objects are found."""


class PolicyOutput(NamedTuple):
    """Output of a policy for ``N = B R`` tasks on ``B`` scenes; ``S = SLOTS + 1``.

    Attributes:
        plan: ``(N, K, 6)`` waypoints, centred and scaled.
        more: ``(N, K)`` logit of each waypoint's existence.
        seen: ``(N,)`` logit of the target being in the image.
        attention: For each view ``(N, heads, S)`` attention logits.
        objects: For each view, what was found.
        places: ``(N, 8)`` of `_AffineHead`.
        votes: ``(B, S, 3)``, x, y and yaw of each object in the last view, centred and scaled like a plan.
    """

    plan: Tensor
    more: Tensor
    seen: Tensor
    attention: tuple[Tensor, ...]
    objects: tuple[Objects, ...]
    places: Tensor
    votes: Tensor | None


class Sighting(NamedTuple):
    """What a policy sees for ``N = B R`` tasks on ``B`` scenes, before it plans.

    Attributes:
        features: ``(N, F)``: the task as read, first, then what its queries found.
        voted: ``(N, 2, 3)``, x, y and yaw of target and destination by the votes of what was found.
        attention: As in `PolicyOutput`, as the following ones; not stored with states.
        objects: What was found.
        votes: Of each object.
    """

    features: Tensor
    voted: Tensor
    attention: tuple[Tensor, ...] = ()
    objects: tuple[Objects, ...] = ()
    votes: Tensor | None = None


def _hidden_layers(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, _HEAD_WIDTH), nn.ReLU(), nn.Linear(_HEAD_WIDTH, _HEAD_WIDTH), nn.ReLU()
    )


class _AffineHead(nn.Module):
    """Predicts the places of target and destination; the plan is an affine function of them, set by the task.

    The places are eight numbers: x and y of the target, then of the destination (centred and scaled like a
    plan), the target's yaw, and three free ones. The first five correct the votes of the cells that the
    first two queries attend to.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = _hidden_layers(width)
        self.out = nn.Linear(_HEAD_WIDTH, PLACES + 1)
        outputs = MAX_WAYPOINTS * (PLAN_WIDTH * (PLACES + 1) + 1)
        self.task = nn.Sequential(nn.Linear(TASK_WIDTH, 128), nn.ReLU(), nn.Linear(128, outputs))

    def places(self, sight: Sighting) -> tuple[Tensor, Tensor]:
        """Return ``(N, 8)`` places, and ``(N,)`` logits of the target being in the image."""
        out, voted = self.out(self.hidden(sight.features)).float(), sight.voted
        first = torch.cat([voted[:, 0, :2], voted[:, 1, :2], voted[:, 0, 2:]], dim=1)
        return torch.cat([out[:, :5] + first, out[:, 5:PLACES]], dim=1), out[:, -1]

    def plan(self, task: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``(N, K, 6)`` waypoints and ``(N, K)`` logits of their existence."""
        task = self.task(task).float()
        maps = task[:, MAX_WAYPOINTS:].view(-1, MAX_WAYPOINTS, PLAN_WIDTH, PLACES + 1)
        plan = (maps[..., :PLACES] * places[:, None, None]).sum(-1) + maps[..., PLACES]
        return plan, task[:, :MAX_WAYPOINTS]


@dataclass(frozen=True, slots=True)
class SightShape:
    """How a network looks at one image.

    Attributes:
        encoder: Name of the image encoder.
        look: Network of the patches.
        context: Add the encoder's features at an object to those of its patch.
        image_px: Width and height of the image.
        heads: Queries of a task.
    """

    encoder: str
    look: Look
    context: bool
    image_px: tuple[int, int]
    heads: int = 4


class Sight(nn.Module):
    """One camera's image: its encoder, close looks at its objects, and the queries of tasks."""

    def __init__(self, shape: SightShape) -> None:
        super().__init__()
        self.encoder, self.width = make_encoder(shape.encoder, shape.image_px)
        self.glimpses = Glimpses(self.width, shape.look, context=shape.context)
        self.query = Query(self.width, shape.heads)

    def forward(self, image: Tensor, task: Tensor, spots: Tensor | None) -> tuple[Tensor, Tensor, Objects]:
        """Return ``(B, R, heads (C + 2))`` features, ``(B, R, heads, S)`` logits, and the objects."""
        objects = self.glimpses(image, self.encoder(image), spots)
        seen, logits = self.query(objects, task)
        return seen, logits, objects


class QueryPolicy(nn.Module):
    """Late fusion: queries of the task attend to the objects of each image.

    The plan is an affine function, set by the task, of places that are read from the image.

    Args:
        words: Size of the vocabulary.
        reader: Task encoder.
        shape: How it looks at an image.
        views: Number of images.
    """

    def __init__(self, words: int, reader: str, shape: SightShape, views: int) -> None:
        super().__init__()
        self.reader = make_reader(reader, words)
        self.sights = nn.ModuleList(Sight(shape) for _ in range(views))
        width = ENCODERS[shape.encoder]
        self.vote = nn.Linear(width, 3)
        self.vote_place = _place_network(3)
        self.head = _AffineHead(views * shape.heads * (width + 2) + TASK_WIDTH)

    @property
    def image_encoders(self) -> tuple[nn.Module, ...]:
        """The encoder of each view."""
        return tuple(sight.encoder for sight in self.sights)

    def forward(self, images: tuple[Tensor, ...], tasks: Tensor, spots: Spots = None) -> PolicyOutput:
        """Plan from ``(B, 3, H, W)`` images of each view and ``(B, R, 32)`` tasks."""
        sight = self.see(images, tasks, spots)
        places, known = self.head.places(sight)
        plan, more = self.head.plan(sight.features[:, :TASK_WIDTH], places)
        return PolicyOutput(plan, more, known, sight.attention, sight.objects, places, sight.votes)

    def see(self, images: tuple[Tensor, ...], tasks: Tensor, spots: Spots = None) -> Sighting:
        """Look for what tasks name, see `forward`."""
        batch, several = tasks.shape[:2]
        task = self.reader(tasks.flatten(0, 1)).float()
        parts, attention, found = [task], [], []
        for index, (image, sight) in enumerate(zip(images, self.sights, strict=True)):
            where = None if spots is None else spots[index]
            seen, logits, objects = sight(image, task.view(batch, several, -1), where)
            parts.append(seen.flatten(0, 1))
            attention.append(logits.flatten(0, 1))
            found.append(objects)
        votes = self.vote(found[-1].tokens).float() + self.vote_place(found[-1].places).float()
        looks = attention[-1][:, :2].softmax(-1).view(batch, several * 2, -1)
        voted = torch.matmul(looks, votes).view(batch * several, 2, 3)
        return Sighting(torch.cat(parts, dim=1), voted, tuple(attention), tuple(found), votes)


class Query(nn.Module):
    """Attention of a task's queries to the objects of an image, in two passes.

    The result of the first pass shifts the queries of the second: "left of the bowl" depends on the place of
    the bowl. Before training both passes are equal.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ask = nn.Sequential(nn.Linear(TASK_WIDTH, 128), nn.ReLU(), nn.Linear(128, heads * _KEY_WIDTH))
        self.key = nn.Linear(width, _KEY_WIDTH)
        self.key_place = _place_network(_KEY_WIDTH)
        self.again = nn.Sequential(
            nn.Linear(heads * (width + 2) + TASK_WIDTH, 128), nn.ReLU(), nn.Linear(128, heads * _KEY_WIDTH)
        )
        nn.init.zeros_(self.again[2].weight)
        nn.init.zeros_(self.again[2].bias)

    def forward(self, objects: Objects, task: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``(B, R, heads (C + 2))`` features and positions, and ``(B, R, heads, S)`` logits."""
        batch, several = task.shape[:2]
        queries = self.ask(task).view(batch, several * self.heads, _KEY_WIDTH)
        keys = self.key(objects.tokens) + self.key_place(objects.places)
        valued = torch.cat([objects.tokens, objects.places], dim=-1).float()
        first, _ = self._look(queries, keys, valued)
        found = torch.cat([first.view(batch, several, -1), task], dim=-1)
        queries = queries + self.again(found).view(batch, several * self.heads, _KEY_WIDTH)
        seen, logits = self._look(queries, keys, valued)
        return seen.view(batch, several, -1), logits.view(batch, several, self.heads, -1)

    @staticmethod
    def _look(queries: Tensor, keys: Tensor, valued: Tensor) -> tuple[Tensor, Tensor]:
        """Return the attended values and the attention logits."""
        logits = torch.matmul(queries, keys.transpose(1, 2)).float() * _KEY_WIDTH**-0.5
        return torch.matmul(logits.softmax(-1), valued), logits


def _place_network(outputs: int) -> nn.Sequential:
    """Return a network of places (u, v)."""
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs))


def plan_in_metres(plan: Tensor) -> Tensor:
    """Undo centring and scaling."""
    return plan * plan.new_tensor(PLAN_SCALE) + plan.new_tensor(PLAN_CENTRE)
