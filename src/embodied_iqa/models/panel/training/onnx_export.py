"""Export of a trained network to ONNX: inputs are bytes and word numbers, outputs metres or word numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from embodied_iqa.base.files import write_whole
from embodied_iqa.models.panel.training.captioners import Captioner
from embodied_iqa.models.panel.training.policies import QueryPolicy, plan_in_metres
from embodied_iqa.models.panel.training.training_loop import Network
from embodied_iqa.models.subjects.backends.panel.format import FEATURES, MAX_TASK_WORDS

_OPSET: Final = 17
_LARGE: Final = 1024
"""Smallest number of elements of a weight that is stored in half precision."""


class _Acting(nn.Module):
    """Policy for several tasks on one scene, with images as bytes and plans in metres."""

    def __init__(self, network: QueryPolicy) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, *images: Tensor) -> tuple[Tensor, ...]:
        with _features_of(self.network) as features:
            output = self.network(tuple(map(_unit, images)), words[None])
        aim = torch.matmul(output.attention[0][:, 0].softmax(-1), output.objects[0].places[0])
        return plan_in_metres(output.plan), output.more.sigmoid(), output.seen.sigmoid(), aim, *features


class _Answering(nn.Module):
    """Captioner for several tasks on one image, with images as bytes."""

    def __init__(self, network: Captioner) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, *images: Tensor) -> tuple[Tensor, ...]:
        with _features_of(self.network) as features:
            answer = self.network.say(tuple(map(_unit, images)), words[None])
        return answer, *features


@contextmanager
def _features_of(network: Network) -> Iterator[list[Tensor]]:
    """Collect what the image encoder of each view returns."""
    features: list[Tensor] = []
    hooks = [
        encoder.register_forward_hook(lambda _module, _inputs, output: features.append(output.float()))
        for encoder in network.image_encoders
    ]
    try:
        yield features
    finally:
        for hook in hooks:
            hook.remove()


def _unit(image: Tensor) -> Tensor:
    return image.permute(0, 3, 1, 2).float() / 255 - 0.5


def export_member(network: Network, views: int, picture_px: tuple[int, int], path: Path) -> None:
    """Write the network as ONNX, atomically.

    Inputs: ``words`` ``(R, 32)`` int64 for any number of tasks, and ``image_0`` (``image_1``)
    ``(1, H, W, 3)`` uint8. Outputs of a VLA: ``plan`` ``(R, K, 6)``, ``more`` ``(R, K)`` and ``seen``
    ``(R,)`` probabilities, ``aim`` ``(R, 2)`` in [0, 1]; of a VLM: ``answer`` ``(R, 28)`` int64. Of both:
    ``features_0`` (``features_1``) ``(1, C, rows, columns)``, what the encoder of each view sees before any
    task is read.
    """
    answering = isinstance(network, Captioner)
    module = _Answering(network) if isinstance(network, Captioner) else _Acting(network)
    module.eval()
    width, height = picture_px
    images = tuple(torch.zeros((1, height, width, 3), dtype=torch.uint8) for _ in range(views))
    words = torch.full((2, MAX_TASK_WORDS), 4, dtype=torch.int64)
    outputs = ["answer"] if answering else ["plan", "more", "seen", "aim"]
    features = [f"{FEATURES}{index}" for index in range(views)]
    inputs = {"words": words} | {f"picture_{index}": image for index, image in enumerate(images)}
    write_network(module, inputs, [*outputs, *features], dict.fromkeys(["words", *outputs], "tasks"), path)


def write_network(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    rows: Mapping[str, str],
    path: Path,
) -> None:
    """Write a network as ONNX with large weights in half precision, atomically.

    Args:
        module: In evaluation mode.
        inputs: Examples by name, in the order of ``forward``.
        outputs: Names.
        rows: Name of the first dimension of those inputs and outputs where it varies.
        path: The file.

    Raises:
        InputError: The file cannot be written.
    """

    def write(fresh: Path) -> None:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # a deprecation warning of the exporter
            torch.onnx.export(
                module,
                tuple(inputs.values()),
                str(fresh),
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_axes={name: {0: axis} for name, axis in rows.items()},
                opset_version=_OPSET,
                dynamo=False,
            )
        _halve(fresh)

    write_whole(path, write)


def _halve(path: Path) -> None:
    """Store large weights in half precision; a cast, done once at loading, restores single precision.

    This halves the files. Rounding moved plans for images of noise by at most 1.1 mm.
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
