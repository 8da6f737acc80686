"""Networks of the learned VLAs: from pictures and a task to waypoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.manipulation.waypoints import MAX_WAYPOINTS
from embodied_iqa.panel.training.encoders import (
    TASK_WIDTH,
    TOKENS,
    cell_centres,
    conv,
    make_encoder,
    make_reader,
    stem,
)
from embodied_iqa.subjects.backends.panel.format import PLAN_CENTRE, PLAN_SCALE

PLAN_WIDTH: Final = len(PLAN_SCALE)
PLACES: Final = 8
_HEAD_WIDTH: Final = 256
_KEY_WIDTH: Final = 64
FILM_WIDTH: Final = 56


class PolicyOutput(NamedTuple):
    """Output of a policy for ``N = B R`` tasks on ``B`` scenes.

    Attributes:
        plan: ``(N, K, 6)`` waypoints, centred and scaled.
        more: ``(N, K)`` logit of each waypoint's existence.
        seen: ``(N,)`` logit of the target being in the picture.
        attention: For each view ``(N, heads, 300)`` attention logits.
        tokens: For each view ``(B, 300, C)`` features.
        places: ``(N, 8)`` of `_AffineHead`, or ``(N, 0)``.
        votes: ``(B, 300, 3)``, x, y and yaw of the object in each cell of the last view, centred and scaled
            like a plan; or ``(B, 0, 3)``.
    """

    plan: Tensor
    more: Tensor
    seen: Tensor
    attention: tuple[Tensor, ...]
    tokens: tuple[Tensor, ...]
    places: Tensor
    votes: Tensor


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

    def forward(self, features: Tensor, task: Tensor, voted: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        out = self.out(self.hidden(features)).float()
        task = self.task(task).float()
        maps = task[:, MAX_WAYPOINTS:].view(-1, MAX_WAYPOINTS, PLAN_WIDTH, PLACES + 1)
        first = torch.cat([voted[:, 0, :2], voted[:, 1, :2], voted[:, 0, 2:]], dim=1)
        places = torch.cat([out[:, :5] + first, out[:, 5:PLACES]], dim=1)
        plan = (maps[..., :PLACES] * places[:, None, None]).sum(-1) + maps[..., PLACES]
        return plan, task[:, :MAX_WAYPOINTS], out[:, -1], places


class _Head(nn.Module):
    """Two hidden layers, then the plan, the existence of its waypoints, and whether the target is seen."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = _hidden_layers(width)
        self.out = nn.Linear(_HEAD_WIDTH, MAX_WAYPOINTS * (PLAN_WIDTH + 1) + 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        out = self.out(self.hidden(features))
        plan = out[:, : MAX_WAYPOINTS * PLAN_WIDTH].view(-1, MAX_WAYPOINTS, PLAN_WIDTH)
        return plan, out[:, MAX_WAYPOINTS * PLAN_WIDTH : -1], out[:, -1]


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Parts of a `QueryPolicy`.

    Attributes:
        encoder: Name of the image encoder.
        reader: Name of the task encoder.
        picture_px: Width and height of the pictures.
        views: Number of views.
        heads: Queries per view.
    """

    encoder: str
    reader: str
    picture_px: tuple[int, int]
    views: int = 1
    heads: int = 4


class QueryPolicy(nn.Module):
    """Late fusion: queries of the task attend to the picture's cells, to their features and positions.

    The plan is an affine function, set by the task, of places that are read from the picture.
    """

    def __init__(self, words: int, shape: QueryShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.reader = make_reader(shape.reader, words)
        pairs = [make_encoder(shape.encoder, shape.picture_px) for _ in range(shape.views)]
        self.encoders = nn.ModuleList(encoder for encoder, _ in pairs)
        width = pairs[0][1]
        self.queries = nn.ModuleList(Query(width, shape.heads) for _ in pairs)
        self.vote = nn.Linear(width, 3)
        self.vote_place = nn.Parameter(torch.zeros(TOKENS, 3))
        self.head = _AffineHead(shape.views * shape.heads * (width + 2) + TASK_WIDTH)

    def forward(self, pictures: tuple[Tensor, ...], tasks: Tensor) -> PolicyOutput:
        """Plan from ``(B, 3, H, W)`` pictures of each view and ``(B, R, 32)`` tasks."""
        batch, several = tasks.shape[:2]
        task = self.reader(tasks.flatten(0, 1)).float()
        parts, attention, tokens = [task], [], []
        for picture, encoder, query in zip(pictures, self.encoders, self.queries, strict=True):
            cells = encoder(picture).flatten(2).transpose(1, 2).float()
            seen, logits = query(cells, task.view(batch, several, -1))
            parts.append(seen.flatten(0, 1))
            attention.append(logits.flatten(0, 1))
            tokens.append(cells)
        votes = self.vote(tokens[-1]).float() + self.vote_place
        looks = attention[-1][:, :2].softmax(-1).view(batch, several * 2, TOKENS)
        voted = torch.matmul(looks, votes).view(batch * several, 2, 3)
        plan, more, known, places = self.head(torch.cat(parts, dim=1), task, voted)
        return PolicyOutput(plan, more, known, tuple(attention), tuple(tokens), places, votes)


class Query(nn.Module):
    """Attention of a task's queries to a picture's cells, in two passes.

    The result of the first pass shifts the queries of the second: "left of the bowl" depends on the place of
    the bowl. Before training both passes are equal.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ask = nn.Sequential(nn.Linear(TASK_WIDTH, 128), nn.ReLU(), nn.Linear(128, heads * _KEY_WIDTH))
        self.key = nn.Linear(width, _KEY_WIDTH)
        self.key_place = nn.Parameter(0.02 * torch.randn(TOKENS, _KEY_WIDTH))
        self.again = nn.Sequential(
            nn.Linear(heads * (width + 2) + TASK_WIDTH, 128), nn.ReLU(), nn.Linear(128, heads * _KEY_WIDTH)
        )
        nn.init.zeros_(self.again[2].weight)
        nn.init.zeros_(self.again[2].bias)
        self.register_buffer("centres", cell_centres(), persistent=False)

    def forward(self, cells: Tensor, task: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``(B, R, heads (C + 2))`` features and positions, and ``(B, R, heads, 300)`` logits."""
        batch, several = task.shape[:2]
        queries = self.ask(task).view(batch, several * self.heads, _KEY_WIDTH)
        keys = self.key(cells) + self.key_place
        valued = torch.cat([cells, self.centres.expand(batch, -1, -1)], dim=-1).float()
        first, _ = self._look(queries, keys, valued)
        found = torch.cat([first.view(batch, several, -1), task], dim=-1)
        queries = queries + self.again(found).view(batch, several * self.heads, _KEY_WIDTH)
        seen, logits = self._look(queries, keys, valued)
        return seen.view(batch, several, -1), logits.view(batch, several, self.heads, TOKENS)

    @staticmethod
    def _look(queries: Tensor, keys: Tensor, valued: Tensor) -> tuple[Tensor, Tensor]:
        """Return the attended values and the attention logits."""
        logits = torch.matmul(queries, keys.transpose(1, 2)).float() * _KEY_WIDTH**-0.5
        return torch.matmul(logits.softmax(-1), valued), logits


class FilmPolicy(nn.Module):
    """Early fusion: the task modulates every block (FiLM, Perez et al. 2018).

    Its plan is regressed from keypoints, the positions of a spatial softmax, and a few features at these.
    """

    def __init__(
        self,
        words: int,
        reader: str,
        picture_px: tuple[int, int],
        width: int = FILM_WIDTH,
        keypoints: int = 24,
    ) -> None:
        super().__init__()
        self.reader = make_reader(reader, words)
        self.stem = nn.Sequential(stem(width, picture_px, fine=True), conv(width, width))
        self.blocks = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1, bias=False) for _ in range(3))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width, affine=False) for _ in range(3))
        self.modulate = nn.Linear(TASK_WIDTH, 3 * 2 * width)
        self.to_keypoints = nn.Conv2d(width, keypoints, 1)
        self.to_values = nn.Conv2d(width, 32, 1)
        self.valued = 4
        self.register_buffer("centres", cell_centres(), persistent=False)
        self.head = _Head(2 * keypoints + 32 * self.valued + TASK_WIDTH)

    def forward(self, pictures: tuple[Tensor, ...], tasks: Tensor) -> PolicyOutput:
        """As `QueryPolicy.forward`; one view."""
        batch, several = tasks.shape[:2]
        task = self.reader(tasks.flatten(0, 1)).float()
        first = self.stem(pictures[0])
        film = self.modulate(task).view(batch * several, 3, 2, -1, 1, 1)
        features = first[:, None].expand(-1, several, -1, -1, -1).flatten(0, 1)
        for index, (block, norm) in enumerate(zip(self.blocks, self.norms, strict=True)):
            scaled = norm(block(features)) * (1 + film[:, index, 0]) + film[:, index, 1]
            features = features + functional.relu(scaled)
        logits = self.to_keypoints(features).flatten(2).float()
        weights = logits.softmax(-1)
        points = torch.matmul(weights, self.centres).flatten(1)
        values = self.to_values(features).flatten(2).transpose(1, 2).float()
        held = torch.matmul(weights[:, : self.valued], values).flatten(1)
        plan, more, seen = self.head(torch.cat([points, held, task], dim=1))
        cells = first.flatten(2).transpose(1, 2).float()
        places = plan.new_zeros((len(plan), 0))
        votes = plan.new_zeros((batch, 0, 3))
        return PolicyOutput(plan, more, seen, (logits[:, : self.valued],), (cells,), places, votes)


def plan_in_metres(plan: Tensor) -> Tensor:
    """Undo centring and scaling."""
    return plan * plan.new_tensor(PLAN_SCALE) + plan.new_tensor(PLAN_CENTRE)
