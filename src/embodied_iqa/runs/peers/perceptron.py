"""A small neural network: one hidden layer, fitted by L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

_DECAY: Final = 1e-3
_STEPS: Final = 200

Array = NDArray[np.float64]


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
