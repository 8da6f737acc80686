"""Network of statistics: small perceptrons side by side, whose outputs are averaged."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

_LIMIT: Final = 5.0
"""Standardised inputs are cut here: a statistic far outside its range says no more than one at its edge."""
_LEAST_DEVIATION: Final = 1e-3


class Standardise(nn.Module):
    """Standardises inputs by the camera's mean and deviation; an unknown camera gets those of all.

    Args:
        inputs: Length D of the input.
        views: Number V of known cameras; number V stands for unknown ones.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, inputs: int, views: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(views + 1, inputs))
        self.register_buffer("scale", torch.ones(views + 1, inputs))

    def fit(self, inputs: Tensor, view: Tensor) -> None:
        """Set means and deviations: of each camera, and of all images for unknown ones and absent ones."""
        unknown = len(self.mean) - 1
        for number in range(len(self.mean)):
            rows = inputs[view == number] if number < unknown else inputs
            rows = rows if len(rows) > 1 else inputs
            self.mean[number] = rows.mean(0)
            self.scale[number] = 1.0 / rows.std(0).clamp_min(_LEAST_DEVIATION)

    def forward(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Map ``(N, D)`` to the same shape."""
        return ((inputs - self.mean[view]) * self.scale[view]).clamp(-_LIMIT, _LIMIT)


class VectorNetwork(nn.Module):
    """K perceptrons with two hidden layers and two heads; trained side by side, averaged afterwards.

    Args:
        inputs: Length D of the input.
        views: Number of known cameras.
        members: Number K of perceptrons.
        width: Units of a hidden layer.
        dropout: Share of inputs and units that a training step leaves out.
    """

    def __init__(
        self, inputs: int, views: int, members: int = 6, width: int = 64, dropout: float = 0.25
    ) -> None:
        super().__init__()
        self.standard = Standardise(inputs, views)
        sizes = (inputs, width, width, 2)
        self.weights = nn.ParameterList(
            torch.randn(members, a, b) * math.sqrt(1.0 / a) for a, b in pairwise(sizes)
        )
        self.biases = nn.ParameterList(torch.zeros(members, 1, b) for b in sizes[1:])
        self.dropout = dropout

    def fit_inputs(self, inputs: Tensor, view: Tensor) -> None:
        """Set the standardisation from the training inputs."""
        self.standard.fit(inputs, view)

    def members(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Return ``(K, N, 2)``: rank and standardised label of each perceptron."""
        values = self.standard(inputs, view)[None].expand(len(self.weights[0]), -1, -1)
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = functional.dropout(values, self.dropout * (0.5 if layer == 0 else 1.0), self.training)
            values = torch.baddbmm(bias, values, weight)
            values = values if layer == len(self.weights) - 1 else functional.silu(values)
        return values

    def forward(self, inputs: Tensor, view: Tensor) -> Tensor:
        """Return ``(N, 2)``, the mean over the perceptrons."""
        return self.members(inputs, view).mean(0)
