"""Scores of four failure detectors of the literature on the signals of a policy; higher is worse.

Each reimplements the idea on signals that any policy with one camera offers; it is not the authors' code:

- SAFE (Gu et al., NeurIPS 2025, arXiv 2506.09937): a perceptron on the policy's features, trained on
  successes and failures, accumulated over time;
- FIPER (Roemer et al., NeurIPS 2025, arXiv 2510.09459): random network distillation of the features, and
  entropy of a batch of action chunks;
- FAIL-Detect (Xu et al., RSS 2025, arXiv 2503.08558): density of the features of successful runs;
- STAC (Agia et al., CoRL 2024, arXiv 2410.04640): distance of the distributions of successive action chunks,
  accumulated over time.

The policies here are deterministic: the batch of action chunks comes from shifted copies of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit

from embodied_iqa.runs.peers.signals import Signals

_DECAY: Final = 1e-3
_STEPS: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
    """``tanh(x W1 + b1) W2 + b2`` of standardised inputs.

    Attributes:
        mean: ``(D,)`` of the inputs.
        scale: ``(D,)`` of the inputs.
        weights: Of both layers, flat.
        hidden: Number of hidden units.
        outputs: Number of outputs.
    """

    mean: Array
    scale: Array
    weights: Array
    hidden: int
    outputs: int

    @classmethod
    def drawn(cls, inputs: Array, hidden: int, outputs: int, seed: int) -> Perceptron:
        """Return a network with random weights for inputs ``(N, D)``."""
        size = inputs.shape[1]
        rng = np.random.default_rng(seed)
        first = rng.normal(0, size**-0.5, (size, hidden))
        second = rng.normal(0, hidden**-0.5, (hidden, outputs))
        weights = np.concatenate([first.ravel(), np.zeros(hidden), second.ravel(), np.zeros(outputs)])
        return cls(inputs.mean(axis=0), inputs.std(axis=0) + 1e-6, weights, hidden, outputs)

    def __call__(self, inputs: Array) -> Array:
        """Return ``(N, outputs)`` of ``(N, D)``."""
        first, bias, second, offset = self._layers(self.weights)
        outputs: Array = np.tanh(self._standard(inputs) @ first + bias) @ second + offset
        return outputs

    def fitted(self, inputs: Array, targets: Array, *, logistic: bool = False) -> Perceptron:
        """Return the network after fitting from its weights.

        Args:
            inputs: ``(N, D)``.
            targets: ``(N, outputs)``; in [0, 1] with `logistic`.
            logistic: Minimise the cross entropy of the logistic of the outputs, else their squared error.
        """
        x = self._standard(inputs)

        def objective(weights: Array) -> tuple[float, Array]:
            first, bias, second, offset = self._layers(weights)
            h = np.tanh(x @ first + bias)
            z = h @ second + offset
            if logistic:
                loss, error = np.logaddexp(0, z) - targets * z, expit(z) - targets
            else:
                loss, error = (z - targets) ** 2 / 2, z - targets
            error = error / len(x)
            back = (error @ second.T) * (1 - h**2)
            parts = (x.T @ back, back.sum(axis=0), h.T @ error, error.sum(axis=0))
            gradient = np.concatenate([part.ravel() for part in parts]) + _DECAY * weights
            return float(loss.sum() / len(x) + _DECAY * weights @ weights / 2), gradient

        found = minimize(objective, self.weights, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        return Perceptron(self.mean, self.scale, found.x, self.hidden, self.outputs)

    def _standard(self, inputs: Array) -> Array:
        return (inputs - self.mean) / self.scale

    def _layers(self, weights: Array) -> tuple[Array, Array, Array, Array]:
        size, hidden, outputs = len(self.mean), self.hidden, self.outputs
        ends = np.cumsum([size * hidden, hidden, hidden * outputs])
        first, bias, second, offset = np.split(weights, ends)
        return first.reshape(size, hidden), bias, second.reshape(hidden, outputs), offset


_CLASSIFIER_UNITS: Final = 16
_DISTILLED_UNITS: Final = 64
_DISTILLED_OUTPUTS: Final = 16
_COMPONENTS: Final = 32
_NOISE_M: Final = 0.001
"""Standard deviation that is added to action chunks, so that equal ones have a finite entropy."""

Array = NDArray[np.float64]
Score: TypeAlias = Callable[[Signals], Array]
"""Returns ``(T,)``."""


def fit_classifier(runs: Sequence[Signals], failed: NDArray[np.bool_], seed: int = 0) -> Score:
    """Return the score of SAFE: the accumulated probability of a failure.

    Args:
        runs: Successful and failed ones.
        failed: ``(N,)`` which ones failed; every image of a run has the label of its run.
        seed: Of the first weights.
    """
    inputs = np.concatenate([run.embeddings for run in runs])
    labels = np.repeat(failed.astype(np.float64), [len(run) for run in runs])[:, None]
    network = Perceptron.drawn(inputs, _CLASSIFIER_UNITS, 1, seed).fitted(inputs, labels, logistic=True)
    return lambda run: np.cumsum(expit(network(run.embeddings)[:, 0]))


def fit_distillation(clean: Sequence[Signals], seed: int = 0) -> Score:
    """Return the first score of FIPER: the squared error of a network that imitates a random one.

    Args:
        clean: Successful runs.
        seed: Of both networks.
    """
    inputs = np.concatenate([run.embeddings for run in clean])
    sizes = _DISTILLED_UNITS, _DISTILLED_OUTPUTS
    target = Perceptron.drawn(inputs, *sizes, seed)
    imitator = Perceptron.drawn(inputs, *sizes, seed + 1).fitted(inputs, target(inputs))

    def error(run: Signals) -> Array:
        squared: Array = np.square(imitator(run.embeddings) - target(run.embeddings)).mean(axis=1)
        return squared

    return error


def action_entropy(run: Signals) -> Array:
    """Return the second score of FIPER: the entropy of a Gaussian through the batch of chunks [nat]."""
    centred = run.chunks - run.chunks.mean(axis=1, keepdims=True)
    values = np.linalg.svd(centred, compute_uv=False) ** 2 / max(run.chunks.shape[1] - 1, 1)
    size = run.chunks.shape[2]
    noise = np.full(size, _NOISE_M**2)
    variances = noise + np.pad(values, ((0, 0), (0, size - values.shape[1])))
    entropy: Array = 0.5 * np.log(2 * np.pi * np.e * variances).sum(axis=1)
    return entropy


def fit_density(clean: Sequence[Signals]) -> Score:
    """Return the score of FAIL-Detect: the negative log likelihood of a probabilistic PCA of the features.

    Args:
        clean: Successful runs.
    """
    inputs = np.concatenate([run.embeddings for run in clean])
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    _, lengths, axes = np.linalg.svd((inputs - mean) / scale, full_matrices=False)
    variances = lengths**2 / len(inputs)
    kept = min(_COMPONENTS, len(variances) - 1)
    rest = max(float(variances[kept:].sum()) / (inputs.shape[1] - kept), 1e-6)
    kept_variances = np.maximum(variances[:kept], rest)
    constant = np.log(2 * np.pi * kept_variances).sum()
    constant += (inputs.shape[1] - kept) * np.log(2 * np.pi * rest)

    def surprise(run: Signals) -> Array:
        x = (run.embeddings - mean) / scale
        along = (x @ axes[:kept].T) ** 2
        beside = np.maximum((x**2).sum(axis=1) - along.sum(axis=1), 0.0)
        total: Array = 0.5 * ((along / kept_variances).sum(axis=1) + beside / rest + constant)
        return total

    return surprise


def fit_consistency(clean: Sequence[Signals]) -> Score:
    """Return the score of STAC: the accumulated squared MMD of the batches of successive chunks.

    Args:
        clean: Successful runs; the width of the Gaussian kernel is the median distance of their chunks.
    """
    distances = np.concatenate([cdist(b, a).ravel() for run in clean for a, b in _successive(run)])
    width = max(float(np.median(distances)), _NOISE_M) if len(distances) else _NOISE_M
    return lambda run: np.cumsum([0.0, *(squared_mmd(a, b, width) for a, b in _successive(run))])


def squared_mmd(first: Array, second: Array, width: float) -> float:
    """Return the squared maximum mean discrepancy of two batches with a Gaussian kernel, in [0, 2].

    Args:
        first: ``(N, A)``.
        second: ``(M, A)``.
        width: Of the kernel, in the unit of the values.
    """
    kernels = (
        np.exp(-(cdist(a, b) ** 2) / (2 * width**2)).mean()
        for a, b in ((first, first), (second, second), (first, second))
    )
    own, other, both = kernels
    return max(float(own + other - 2 * both), 0.0)


def _successive(run: Signals) -> list[tuple[Array, Array]]:
    return list(zip(run.chunks[:-1], run.chunks[1:], strict=True))
