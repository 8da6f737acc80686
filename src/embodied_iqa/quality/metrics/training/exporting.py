"""Trained networks of metrics as ONNX files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from embodied_iqa.base.training.onnx_writer import write_network
from embodied_iqa.quality.metrics.training.loop import LabelledInputs, Network


class _Predicting(nn.Module):
    """The network with labels in their own units; one without a rank head has the label for both outputs."""

    def __init__(self, network: Network, mean: float, deviation: float, *, ranks: bool) -> None:
        super().__init__()
        self.network = network
        self.mean, self.deviation, self.ranks = mean, deviation, ranks

    def forward(self, inputs: Tensor, view: Tensor) -> tuple[Tensor, Tensor]:
        output = self.network(inputs, view)
        label = output[:, 1] * self.deviation + self.mean
        return output[:, 0] if self.ranks else label + 0.0, label


def export_network(
    network: Network, example: LabelledInputs, scale: tuple[float, float], path: Path, *, ranks: bool = True
) -> None:
    """Write a network as ONNX, atomically.

    Inputs: ``input`` ``(N, D)`` float32 or ``(N, H, W, 3)`` uint8, and ``view`` ``(N,)`` int64. Outputs:
    ``rank`` and ``label``, ``(N,)``.

    Args:
        network: In evaluation mode.
        example: Two rows or more.
        scale: Mean and deviation of the labels.
        path: The file.
        ranks: The network has a rank head; else both outputs are the label.
    """
    inputs = torch.from_numpy(np.ascontiguousarray(example.values[:2]))
    views = torch.from_numpy(example.views[:2])
    module = _Predicting(network, *scale, ranks=ranks).eval()
    outputs = ["rank", "label"]
    rows = dict.fromkeys(["input", "view", *outputs], "images")
    write_network(module, {"input": inputs, "view": views}, outputs, rows, path, halved=False)
