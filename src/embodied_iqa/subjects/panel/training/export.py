"""A trained network as ONNX: pictures as bytes and word numbers in, metres or words out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from embodied_iqa.subjects.panel.format import MAX_TASK_WORDS, PICTURE_PX
from embodied_iqa.subjects.panel.training.captioners import Captioner
from embodied_iqa.subjects.panel.training.encoders import cell_centres
from embodied_iqa.subjects.panel.training.networks import Network
from embodied_iqa.subjects.panel.training.policies import FilmPolicy, QueryPolicy, plan_in_metres

__all__ = ["export_member"]

_OPSET: Final = 17


class _Acting(nn.Module):
    """One task on one scene, from bytes to metres."""

    def __init__(self, network: FilmPolicy | QueryPolicy) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("centres", cell_centres(), persistent=False)

    def forward(self, words: Tensor, *pictures: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        said = self.network(tuple(map(_unit, pictures)), words[None])
        aim = torch.matmul(said.attention[0][:, 0].softmax(-1), self.centres)
        return plan_in_metres(said.plan)[0], said.more.sigmoid()[0], said.seen.sigmoid()[0], aim[0]


class _Answering(nn.Module):
    """One task on one picture, from bytes to word numbers."""

    def __init__(self, network: Captioner) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, *pictures: Tensor) -> Tensor:
        return self.network.say(tuple(map(_unit, pictures)), words[None])[0]


def _unit(picture: Tensor) -> Tensor:
    return picture.permute(0, 3, 1, 2).float() / 255 - 0.5


def export_member(network: Network, views: int, path: Path) -> None:
    """Write the network as ONNX, whole or not at all.

    Inputs: ``words`` ``(1, 16)`` int64, and ``picture_0`` (``picture_1``) ``(1, 180, 240, 3)`` uint8. Outputs
    of a VLA: ``plan`` ``(K, 6)``, ``more`` ``(K,)`` and ``seen`` ``()`` probabilities, ``aim`` ``(2,)`` in
    [0, 1]; of a VLM: ``answer`` ``(22,)`` int64.
    """
    answering = isinstance(network, Captioner)
    module = _Answering(network) if isinstance(network, Captioner) else _Acting(network)
    module.eval()
    width, height = PICTURE_PX
    pictures = tuple(torch.zeros((1, height, width, 3), dtype=torch.uint8) for _ in range(views))
    words = torch.full((1, MAX_TASK_WORDS), 4, dtype=torch.int64)
    partial = path.with_suffix(".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter announces its successor
        torch.onnx.export(
            module,
            (words, *pictures),
            str(partial),
            input_names=["words", *(f"picture_{index}" for index in range(views))],
            output_names=["answer"] if answering else ["plan", "more", "seen", "aim"],
            opset_version=_OPSET,
            dynamo=False,
        )
    partial.replace(path)
