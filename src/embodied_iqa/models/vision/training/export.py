"""Export of networks of the vision panel to ONNX."""

from __future__ import annotations

from pathlib import Path

import torch

from embodied_iqa.models.panel.training.onnx_export import write_network
from embodied_iqa.models.vision.training.classifiers import Classifier
from embodied_iqa.models.vision.training.loop import Network


def export_network(network: Network, input_px: tuple[int, int], path: Path) -> None:
    """Write a network as ONNX, atomically; large weights in half precision.

    Input: ``pictures`` ``(N, H, W, 3)`` uint8. Output of a classifier: ``probabilities`` ``(N, classes)``; of
    the others those of `Detector.forward`: ``scores``, ``classes``, ``boxes`` and ``masks``.

    Args:
        network: In evaluation mode.
        input_px: Width and height of its pictures.
        path: The file.

    Raises:
        InputError: The file cannot be written.
    """
    width, height = input_px
    pictures = torch.zeros((2, height, width, 3), dtype=torch.uint8)
    outputs = output_names(network)
    rows = dict.fromkeys(["pictures", *outputs], "pictures")
    write_network(network.eval(), {"pictures": pictures}, outputs, rows, path)


def output_names(network: Network) -> list[str]:
    """Return the names of the outputs of ``forward``, in order."""
    if isinstance(network, Classifier):
        return ["probabilities"]
    return ["scores", "classes", "boxes", *(["masks"] if network.shapes is not None else [])]
