"""Losses of the two heads."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor
from torch.nn import functional

_TEMPERATURE = 0.1
"""Difference of rank outputs that counts as a clear order."""


def shares_below(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each label as a share of all, in [0, 1]; ties get their mean."""
    ranks: NDArray[np.float64] = (rankdata(labels) - 0.5) / max(1, len(labels))
    return ranks


def two_head_loss(outputs: Tensor, ranks: Tensor, labels: Tensor, rank_share: float) -> Tensor:
    """Return the loss of K members on a batch.

    Rank head: the order of every two images of the batch (logistic loss, as in RankNet, weighted by the
    difference of their ranks), and the squared error of the rank itself, which fixes the scale. Label head:
    squared error.

    Args:
        outputs: ``(K, N, 2)`` rank and standardised label.
        ranks: ``(N,)`` in [0, 1].
        labels: ``(N,)`` standardised.
        rank_share: Weight of the rank head, in [0, 1].
    """
    rank, label = outputs[..., 0], outputs[..., 1]
    order = ranks[:, None] - ranks[None]
    apart = (rank[:, :, None] - rank[:, None]) / _TEMPERATURE
    logistic = functional.softplus(-apart * order.sign()) * order.abs()
    pairwise = logistic.sum() / (order.abs().sum() * len(rank)).clamp_min(1e-6)
    scale = functional.mse_loss(rank, ranks.expand_as(rank))
    error = functional.smooth_l1_loss(label, labels.expand_as(label))
    return rank_share * (pairwise + 4.0 * scale) + (1 - rank_share) * torch.as_tensor(2.0) * error


def squared_loss(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the mean squared error of the label.

    Args:
        outputs: ``(K, N, 2)``; the last column is the standardised label.
        labels: ``(N,)`` standardised.
    """
    label = outputs[..., 1]
    return functional.mse_loss(label, labels.expand_as(label))
