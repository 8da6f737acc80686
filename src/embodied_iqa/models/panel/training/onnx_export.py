"""Export of a trained network to ONNX: inputs are bytes and word numbers, outputs metres or word numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from embodied_iqa.base.training.onnx_writer import write_network
from embodied_iqa.models.panel.training.captioners import Captioner
from embodied_iqa.models.panel.training.policies import QueryPolicy, plan_in_metres
from embodied_iqa.models.panel.training.training_loop import Network
from embodied_iqa.models.subjects.backends.panel.format import FEATURES, MAX_TASK_WORDS


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

    Inputs: ``words`` ``(R, 32)`` int64 for any number of tasks, and ``picture_0`` (``picture_1``)
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
    rows = dict.fromkeys(["words", *outputs], "tasks")
    write_network(module, inputs, [*outputs, *features], rows, path, halved=True)
