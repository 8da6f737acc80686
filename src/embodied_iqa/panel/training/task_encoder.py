"""From the words of a task to one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from embodied_iqa.subjects.backends.panel.format import MAX_TASK_WORDS, PAD

__all__ = ["TASK_WIDTH", "GatedReader", "PooledReader", "make_reader"]

TASK_WIDTH = 96
_WORD_WIDTH = 32


class GatedReader(nn.Module):
    """A learned embedding of every word, then a gated recurrent unit; the state after the last word."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, _WORD_WIDTH, padding_idx=PAD)
        self.unit = nn.GRU(_WORD_WIDTH, TASK_WIDTH, batch_first=True)

    def forward(self, tasks: Tensor) -> Tensor:
        """Read ``(N, 24)`` word numbers into ``(N, 96)``."""
        states, _ = self.unit(self.embed(tasks))
        last = (tasks != PAD).sum(1, keepdim=True).clamp_min(1) - 1
        here = torch.arange(MAX_TASK_WORDS, device=tasks.device)[None] == last
        read: Tensor = (states * here[:, :, None].to(states.dtype)).sum(1)
        return read


class PooledReader(nn.Module):
    """Embeddings with places, a convolution over neighbours, and the largest value of each channel."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, _WORD_WIDTH, padding_idx=PAD)
        self.places = nn.Parameter(0.1 * torch.randn(MAX_TASK_WORDS, _WORD_WIDTH))
        self.near = nn.Conv1d(_WORD_WIDTH, TASK_WIDTH, 5, padding=2)
        self.mix = nn.Sequential(nn.ReLU(), nn.Linear(TASK_WIDTH, TASK_WIDTH))

    def forward(self, tasks: Tensor) -> Tensor:
        """Read ``(N, 24)`` word numbers into ``(N, 96)``."""
        there = (tasks != PAD)[:, :, None]
        words = (self.embed(tasks) + self.places) * there
        heard = self.near(words.transpose(1, 2)).transpose(1, 2)
        pooled = heard.masked_fill(~there, -10.0).amax(1)
        read: Tensor = self.mix(pooled)
        return read


def make_reader(name: str, words: int) -> nn.Module:
    """Return a new reader: ``gated`` or ``pooled``."""
    return {"gated": GatedReader, "pooled": PooledReader}[name](words)
