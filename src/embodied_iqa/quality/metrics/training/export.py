"""Export of a trained network to ONNX."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from embodied_iqa.base.files import write_whole
from embodied_iqa.quality.metrics.training.loop import LabelledInputs, Network

_OPSET: Final = 17


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

    def write(fresh: Path) -> None:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # a deprecation warning of the exporter
            fast = torch.backends.mha.get_fastpath_enabled()
            torch.backends.mha.set_fastpath_enabled(False)  # ONNX has no such operator
            torch.onnx.export(
                module,
                (inputs, views),
                str(fresh),
                input_names=["input", "view"],
                output_names=["rank", "label"],
                dynamic_axes={name: {0: "pictures"} for name in ("input", "view", "rank", "label")},
                opset_version=_OPSET,
                dynamo=False,
            )
            torch.backends.mha.set_fastpath_enabled(fast)

    write_whole(path, write)
