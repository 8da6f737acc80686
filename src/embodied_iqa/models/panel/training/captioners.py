"""Network of the learned VLMs: from an image and a task to an answer."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from embodied_iqa.models.panel.training.encoders import TASK_WIDTH, make_reader
from embodied_iqa.models.panel.training.glimpses import Objects
from embodied_iqa.models.panel.training.policies import Sight, SightShape, Spots
from embodied_iqa.models.subjects.backends.panel.format import BEGIN, MAX_ANSWER_WORDS

_STATE: Final = 160
_KEY_WIDTH: Final = 64
_WORD_WIDTH: Final = 48
_WAVES: Final = (1.0, 2.0, 4.0, 8.0)
"""Half waves an image."""
_PLACE_WIDTH: Final = 2 + 4 * len(_WAVES)
_NOT_ITSELF: Final = 20.0
"""At first, how much less the target's neighbour is the target than any other object (logit)."""


class CaptionerOutput(NamedTuple):
    """Output of a captioner for ``N = B R`` tasks.

    Attributes:
        words: ``(N, L, V)`` logits of the next word.
        attention: ``(N, heads, SLOTS + 1)`` attention logits of the task's queries, for one view.
        objects: What was found, for one view.
    """

    words: Tensor
    attention: tuple[Tensor, ...]
    objects: tuple[Objects, ...]


class _Encoded(NamedTuple):
    """Encoded image and task.

    Attributes:
        values: ``(B, S, C + 18)`` features of the objects, and `place_waves` of their positions.
        keys: ``(B, 64, S)`` attention keys of the objects.
        context: ``(1, B R, H)``, the initial state.
        fixed: ``(B R, 1, D)``, the encoded task and the object beside the target.
    """

    values: Tensor
    keys: Tensor
    context: Tensor
    fixed: Tensor


class Captioner(nn.Module):
    """A gated recurrent unit over the words; for each word its state attends to the image's objects.

    Queries of the task set the initial state. Attention follows the unit, as in Luong et al. (2015), so that
    training computes all words at once. The output layer also gets the encoded task: an answer ends with the
    action, and the unit does not always learn to keep it that long.
    """

    def __init__(self, words: int, answers: int, reader: str, shape: SightShape) -> None:
        super().__init__()
        self.reader = make_reader(reader, words)
        self.sight = Sight(shape)
        width = self.sight.width
        value = width + _PLACE_WIDTH
        self.neighbour = Neighbour()
        self.begin = nn.Sequential(
            nn.Linear(shape.heads * (width + 2 + _PLACE_WIDTH) + value + TASK_WIDTH + 1, 192),
            nn.ReLU(),
            nn.Linear(192, _STATE),
        )
        self.key = nn.Linear(width, _KEY_WIDTH)
        self.key_place = nn.Linear(_PLACE_WIDTH, _KEY_WIDTH)
        self.embed = nn.Embedding(answers, _WORD_WIDTH)
        self.unit = nn.GRU(_WORD_WIDTH, _STATE, batch_first=True)
        self.look = nn.Linear(_STATE, _KEY_WIDTH)
        known = _STATE + 2 * value + TASK_WIDTH
        self.out = nn.Sequential(nn.Linear(known, _STATE), nn.ReLU(), nn.Linear(_STATE, answers))

    @property
    def image_encoders(self) -> tuple[nn.Module, ...]:
        """The encoder of the one view."""
        return (self.sight.encoder,)

    def forward(
        self, images: tuple[Tensor, ...], tasks: Tensor, answers: Tensor, spots: Spots = None
    ) -> CaptionerOutput:
        """Predict each word of ``(B, R, L + 1)`` answers from those before it."""
        encoded, attention, objects = self._encode(images[0], tasks, None if spots is None else spots[0])
        words, _ = self._continue(answers[:, :, :-1].flatten(0, 1), encoded.context, encoded)
        return CaptionerOutput(words, (attention,), (objects,))

    def say(self, images: tuple[Tensor, ...], tasks: Tensor) -> Tensor:
        """Return the greedy answer, ``(B R, 28)`` word numbers; those after END are meaningless."""
        encoded, _, _ = self._encode(images[0], tasks, None)
        state, answer = encoded.context, []
        word = torch.full_like(tasks[:, :, 0].flatten()[:, None], BEGIN)
        for _ in range(MAX_ANSWER_WORDS):
            logits, state = self._continue(word, state, encoded)
            word = logits.argmax(-1)
            answer.append(word)
        return torch.cat(answer, dim=1)

    def _encode(self, image: Tensor, tasks: Tensor, spots: Tensor | None) -> tuple[_Encoded, Tensor, Objects]:
        batch, several = tasks.shape[:2]
        task = self.reader(tasks.flatten(0, 1)).float()
        seen, logits, objects = self.sight(image, task.view(batch, several, -1), spots)
        count = objects.heat[:, 0].sigmoid().sum((1, 2))[:, None].expand(-1, several).reshape(-1, 1) / 10
        waves = place_waves(objects.places)
        valued = torch.cat([objects.tokens, waves], dim=-1)
        attention = logits.softmax(-1)
        places = torch.matmul(attention.flatten(1, 2), waves).view(batch * several, -1)
        beside = torch.matmul(self.neighbour(objects, attention[:, :, 0]), valued).flatten(0, 1)
        known = torch.cat([seen.flatten(0, 1), places, beside, task, count], dim=1)
        context = self.begin(known).float().tanh()
        keys = (self.key(objects.tokens) + self.key_place(waves)).transpose(1, 2)
        fixed = torch.cat([task, beside.float()], dim=1)[:, None]
        return _Encoded(valued, keys, context[None], fixed), logits.flatten(0, 1), objects

    def _continue(self, words: Tensor, state: Tensor, encoded: _Encoded) -> tuple[Tensor, Tensor]:
        """Process ``(N, L)`` words; return the logits of each next word, and the last state."""
        batch = len(encoded.values)
        states, state = self.unit(self.embed(words), state)
        look = self.look(states).view(batch, -1, _KEY_WIDTH)
        weights = (torch.matmul(look, encoded.keys).float() * _KEY_WIDTH**-0.5).softmax(-1)
        seen = torch.matmul(weights, encoded.values).view(*states.shape[:2], -1)
        fixed = encoded.fixed.expand(-1, words.shape[1], -1)
        return self.out(torch.cat([states, seen, fixed], dim=-1)), state


class Neighbour(nn.Module):
    """Attention to the object that is nearest to the target, in a plane that is learned."""

    def __init__(self) -> None:
        super().__init__()
        self.plane = nn.Parameter(12.0 * torch.eye(2))
        self.there = nn.Parameter(torch.ones(1))
        self.other = nn.Parameter(torch.full((1,), _NOT_ITSELF))

    def forward(self, objects: Objects, target: Tensor) -> Tensor:
        """Return ``(B, R, S)`` weights, for ``(B, R, S)`` attention to the target."""
        place = (target[..., None] * objects.places[:, None]).sum(2)
        away = objects.places[:, None] - place[:, :, None]
        on_plane = away[..., :1] * self.plane[0] + away[..., 1:] * self.plane[1]
        spots = objects.places[:, :-1, None] * 2 - 1
        heat = functional.grid_sample(objects.heat[:, :1], spots, align_corners=False)[:, 0, :, 0]
        there = functional.pad(functional.logsigmoid(heat), (0, 1), value=-_NOT_ITSELF)
        logits = self.there * there[:, None] - self.other * target - on_plane.square().sum(-1)
        return logits.softmax(-1)


def place_waves(places: Tensor) -> Tensor:
    """Map ``(..., 2)`` positions in [0, 1] to ``(..., 18)``: centred, and as waves (Vaswani et al. 2017).

    The product of two such vectors tells how near the positions are.
    """
    angles = math.pi * places[..., None] * places.new_tensor(_WAVES)
    return torch.cat([2 * places - 1, angles.sin().flatten(-2), angles.cos().flatten(-2)], dim=-1)
