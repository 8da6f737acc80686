"""From a picture and a task to an answer in words: the learned VLM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from embodied_iqa.panel.training.encoders import TOKENS, make_encoder
from embodied_iqa.panel.training.policies import Query
from embodied_iqa.panel.training.task_encoder import TASK_WIDTH, make_reader
from embodied_iqa.subjects.backends.panel.format import BEGIN, MAX_ANSWER_WORDS

__all__ = ["Captioner", "CaptionerOutput", "CaptionerShape"]

_STATE: Final = 160
_KEY_WIDTH: Final = 64
_WORD_WIDTH: Final = 48


class CaptionerOutput(NamedTuple):
    """What a captioner says about ``N = B R`` tasks.

    Attributes:
        words: ``(N, L, V)`` logits of the next word.
        attention: One view's ``(N, heads, 300)`` logits of where the task's queries look.
        tokens: One view's ``(B, 300, C)`` features.
    """

    words: Tensor
    attention: tuple[Tensor, ...]
    tokens: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class CaptionerShape:
    """What it is built of.

    Attributes:
        encoder: Its name.
        reader: Its name.
        heads: Queries of the task.
    """

    encoder: str
    reader: str
    heads: int = 4


class _Sight(NamedTuple):
    """What is seen.

    Attributes:
        values: ``(B, 300, C + 2)`` features and places of the cells.
        keys: ``(B, 64, 300)``.
        context: ``(1, B R, H)``, the first state.
        task: ``(B R, 1, 96)``, as the reader has it.
    """

    values: Tensor
    keys: Tensor
    context: Tensor
    task: Tensor


class Captioner(nn.Module):
    """A gated recurrent unit follows the words; for each word its state looks at the picture's cells.

    Queries of the task set the first state. Attention comes after the unit, as in Luong et al. (2015): in
    training all words look at once. Each word is chosen beside the task as it was read: what to do is said
    last, and a unit does not always learn to keep it that long.
    """

    def __init__(self, words: int, answers: int, shape: CaptionerShape) -> None:
        super().__init__()
        self.reader = make_reader(shape.reader, words)
        self.encoder, width = make_encoder(shape.encoder)
        self.query = Query(width, shape.heads)
        self.begin = nn.Sequential(
            nn.Linear(shape.heads * (width + 2) + TASK_WIDTH, 192), nn.ReLU(), nn.Linear(192, _STATE)
        )
        self.key = nn.Linear(width, _KEY_WIDTH)
        self.key_place = nn.Parameter(0.02 * torch.randn(TOKENS, _KEY_WIDTH))
        self.embed = nn.Embedding(answers, _WORD_WIDTH)
        self.unit = nn.GRU(_WORD_WIDTH, _STATE, batch_first=True)
        self.look = nn.Linear(_STATE, _KEY_WIDTH)
        known = _STATE + width + 2 + TASK_WIDTH
        self.out = nn.Sequential(nn.Linear(known, _STATE), nn.ReLU(), nn.Linear(_STATE, answers))

    def forward(self, pictures: tuple[Tensor, ...], tasks: Tensor, answers: Tensor) -> CaptionerOutput:
        """Predict each word of ``(B, R, L + 1)`` answers from those before it."""
        sight, attention, cells = self._see(pictures[0], tasks)
        words, _ = self._continue(answers[:, :, :-1].flatten(0, 1), sight.context, sight)
        return CaptionerOutput(words, (attention,), (cells,))

    def say(self, pictures: tuple[Tensor, ...], tasks: Tensor) -> Tensor:
        """Return the most probable words, one after the other, ``(B R, 22)``; what follows END is noise."""
        sight, _, _ = self._see(pictures[0], tasks)
        state, said = sight.context, []
        word = torch.full_like(tasks[:, :, 0].flatten()[:, None], BEGIN)
        for _ in range(MAX_ANSWER_WORDS):
            logits, state = self._continue(word, state, sight)
            word = logits.argmax(-1)
            said.append(word)
        return torch.cat(said, dim=1)

    def _see(self, picture: Tensor, tasks: Tensor) -> tuple[_Sight, Tensor, Tensor]:
        batch, several = tasks.shape[:2]
        task = self.reader(tasks.flatten(0, 1)).float()
        cells = self.encoder(picture).flatten(2).transpose(1, 2).float()
        seen, logits = self.query(cells, task.view(batch, several, -1))
        context = self.begin(torch.cat([seen.flatten(0, 1), task], dim=1)).float().tanh()
        valued = torch.cat([cells, self.query.centres.expand(batch, -1, -1)], dim=-1)
        keys = (self.key(cells) + self.key_place).transpose(1, 2)
        return _Sight(valued, keys, context[None], task[:, None]), logits.flatten(0, 1), cells

    def _continue(self, words: Tensor, state: Tensor, sight: _Sight) -> tuple[Tensor, Tensor]:
        """Follow ``(N, L)`` words; return the logits of those that come after each, and the last state."""
        batch = len(sight.values)
        states, state = self.unit(self.embed(words), state)
        look = self.look(states).view(batch, -1, _KEY_WIDTH)
        weights = (torch.matmul(look, sight.keys).float() * _KEY_WIDTH**-0.5).softmax(-1)
        seen = torch.matmul(weights, sight.values).view(*states.shape[:2], -1)
        task = sight.task.expand(-1, words.shape[1], -1)
        return self.out(torch.cat([states, seen, task], dim=-1)), state
