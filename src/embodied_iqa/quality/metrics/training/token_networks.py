"""How unusual the features of an image are: distances from those of images that did no harm.

Per camera, a Gaussian of the tokens at each place and one of all tokens, as in PaDiM (Defard et al. 2021) and
NIQE (Mittal et al. 2013), fitted in the features of a policy.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from embodied_iqa.quality.metrics.learned.tokens import CELLS, CHANNELS, TOKEN_VALUES

_HARMLESS: Final = 0.3
"""Of the images of each camera, those with the highest labels are the pattern."""
_RIDGE: Final = 0.01
_SMALL: Final = 1e-3
_LEVELS: Final = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_CELLS: Final = CELLS[0] * CELLS[1]


class TokenDistances(nn.Module):
    """Replaces the token map behind the statistics by twenty numbers about its distances.

    Args:
        views: Number V of known cameras; number V stands for unknown ones.
    """

    place: Tensor
    centre: Tensor
    place_whitening: Tensor
    whitening: Tensor

    def __init__(self, views: int) -> None:
        super().__init__()
        self.register_buffer("place", torch.zeros(views + 1, _CELLS, CHANNELS))
        self.register_buffer("centre", torch.zeros(views + 1, 1, CHANNELS))
        self.register_buffer("place_whitening", torch.zeros(views + 1, CHANNELS, CHANNELS))
        self.register_buffer("whitening", torch.zeros(views + 1, CHANNELS, CHANNELS))

    def fit(self, inputs: Tensor, view: Tensor, labels: Tensor) -> None:
        """Fit on the images with the highest labels of each camera; of all for unknown cameras."""
        unknown = len(self.place) - 1
        for number in range(len(self.place)):
            rows = (view == number) if number < unknown else torch.ones_like(view, dtype=torch.bool)
            rows = rows if int(rows.sum()) > 1 else torch.ones_like(rows)
            least = torch.quantile(labels[rows], 1 - _HARMLESS)
            tokens = _tokens(inputs[rows & (labels >= least)]).double()
            place, centre = tokens.mean(0), tokens.mean((0, 1))[None]
            self.place[number], self.centre[number] = place, centre
            self.place_whitening[number] = _whitening(tokens - place)
            self.whitening[number] = _whitening(tokens - centre)

    def forward(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Map ``(N, S + TOKEN_VALUES)`` to ``(N, S + 20)``."""
        tokens = _tokens(inputs)
        at_place = _summary(torch.bmm(tokens - self.place[view], self.place_whitening[view]))
        anywhere = _summary(torch.bmm(tokens - self.centre[view], self.whitening[view]))
        return torch.cat([inputs[:, :-TOKEN_VALUES], at_place, anywhere], 1)


class TokenNetwork(nn.Module):
    """Distances of tokens, and the network of statistics behind them."""

    def __init__(self, distances: TokenDistances, network: nn.Module) -> None:
        super().__init__()
        self.distances, self.network = distances, network

    def forward(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Return ``(N, 2)``, rank and standardised label."""
        found: Tensor = self.network(self.distances(inputs, view), view)
        return found


def _tokens(inputs: Tensor) -> Tensor:
    return inputs[:, -TOKEN_VALUES:].reshape(-1, _CELLS, CHANNELS)


def _whitening(centred: Tensor) -> Tensor:
    """Return ``(C, C)`` that maps tokens to unit covariance, regularised by the mean variance."""
    flat = centred.reshape(-1, CHANNELS)
    covariance = flat.T @ flat / len(flat)
    ridge = (_RIDGE * covariance.diagonal().mean()).clamp_min(_SMALL**2)
    values, vectors = torch.linalg.eigh(covariance + ridge * torch.eye(CHANNELS, dtype=flat.dtype))
    return (vectors / values.sqrt()).float()


def _summary(white: Tensor) -> Tensor:
    """Return ``(N, 10)``: levels, mean and deviation of log distances, and that of the mean token."""
    distances = (white.square().mean(2) + _SMALL).log()
    ordered = torch.topk(distances, _CELLS, dim=1, largest=False).values
    places = [round(level * (_CELLS - 1)) for level in _LEVELS]
    middle = distances.mean(1, keepdim=True)
    spread = (distances - middle).square().mean(1, keepdim=True).sqrt()
    whole = (white.mean(1).square().mean(1, keepdim=True) + _SMALL**2).log()
    return torch.cat([ordered[:, places], middle, spread, whole], 1)
