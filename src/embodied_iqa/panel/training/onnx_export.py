"""A trained network as ONNX: pictures as bytes and word numbers in, metres or words out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from embodied_iqa.panel.training.captioners import Captioner
from embodied_iqa.panel.training.encoders import cell_centres
from embodied_iqa.panel.training.networks import Network
from embodied_iqa.panel.training.policies import FilmPolicy, QueryPolicy, plan_in_metres
from embodied_iqa.subjects.backends.panel.format import MAX_TASK_WORDS, PICTURE_PX

__all__ = ["export_member"]

_OPSET: Final = 17
_LARGE: Final = 1024
"""Numbers from which a weight is stored in half precision."""


class _Acting(nn.Module):
    """Tasks on one scene, from bytes to metres."""

    def __init__(self, network: FilmPolicy | QueryPolicy) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("centres", cell_centres(), persistent=False)

    def forward(self, words: Tensor, *pictures: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        said = self.network(tuple(map(_unit, pictures)), words[None])
        aim = torch.matmul(said.attention[0][:, 0].softmax(-1), self.centres)
        return plan_in_metres(said.plan), said.more.sigmoid(), said.seen.sigmoid(), aim


class _Answering(nn.Module):
    """Tasks on one picture, from bytes to word numbers."""

    def __init__(self, network: Captioner) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, *pictures: Tensor) -> Tensor:
        return self.network.say(tuple(map(_unit, pictures)), words[None])


def _unit(picture: Tensor) -> Tensor:
    return picture.permute(0, 3, 1, 2).float() / 255 - 0.5


def export_member(network: Network, views: int, path: Path) -> None:
    """Write the network as ONNX, whole or not at all.

    Inputs: ``words`` ``(R, 24)`` int64, of any number of tasks, and ``picture_0`` (``picture_1``)
    ``(1, 180, 240, 3)`` uint8. Outputs of a VLA: ``plan`` ``(R, K, 6)``, ``more`` ``(R, K)`` and ``seen``
    ``(R,)`` probabilities, ``aim`` ``(R, 2)`` in [0, 1]; of a VLM: ``answer`` ``(R, 22)`` int64.
    """
    answering = isinstance(network, Captioner)
    module = _Answering(network) if isinstance(network, Captioner) else _Acting(network)
    module.eval()
    width, height = PICTURE_PX
    pictures = tuple(torch.zeros((1, height, width, 3), dtype=torch.uint8) for _ in range(views))
    words = torch.full((2, MAX_TASK_WORDS), 4, dtype=torch.int64)
    outputs = ["answer"] if answering else ["plan", "more", "seen", "aim"]
    partial = path.with_suffix(".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter announces its successor
        torch.onnx.export(
            module,
            (words, *pictures),
            str(partial),
            input_names=["words", *(f"picture_{index}" for index in range(views))],
            output_names=outputs,
            dynamic_axes={name: {0: "tasks"} for name in ["words", *outputs]},
            opset_version=_OPSET,
            dynamo=False,
        )
    _halve(partial)
    partial.replace(path)


def _halve(path: Path) -> None:
    """Store large weights in half precision; a cast, done once at loading, makes them single again.

    The networks then take half the room. Rounding moved plans for pictures of noise by 1.1 mm at most.
    """
    model = onnx.load(path)
    graph = model.graph
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype == np.float32 and values.size >= _LARGE:
            name = f"{weight.name}.half"
            cast = helper.make_node("Cast", [name], [weight.name], to=TensorProto.FLOAT)
            graph.node.insert(0, cast)
            weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), name))
    onnx.save(model, path)
