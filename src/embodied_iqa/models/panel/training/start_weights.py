"""Weights of a member as it ships, for a training that starts from them.

A network in ONNX holds each normalisation within the convolution before it, and transposed matrices without
names. A new network of the same kind is exported in the same way; where its numbers stand in that file, those
of the shipped file belong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError

Array = NDArray[Any]


def load_start(network: nn.Module, path: Path, like: Path) -> None:
    """Set the weights of a network to those of a file.

    Its normalisations then scale by one: what they did stands in the convolutions.

    Args:
        network: What ``like`` was exported from, not yet trained: every number of it stands for itself.
        path: The file with the weights.
        like: Export of ``network``, in single precision.

    Raises:
        InternalError: The two files are not of the same network.
    """
    slots = _slots(network)
    ours, wanted = _weights(like), _weights(path)
    if [weight.shape for weight in ours] != [weight.shape for weight in wanted]:
        raise InternalError(f"{path.name} is another network than {type(network).__name__}")
    for weight, value in zip(ours, wanted, strict=True):
        for slot in slots:
            if slot.shown.shape == weight.shape and np.allclose(slot.shown, weight, 1e-3, 1e-4):
                slot.write(torch.from_numpy(value.copy()))
                break
        else:
            raise InternalError(f"{path.name} has a weight of shape {weight.shape} that no layer has")
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.ones_(layer.weight)
            nn.init.zeros_(layer.running_mean)
            nn.init.constant_(layer.running_var, 1.0 - layer.eps)


def made_distinct(network: nn.Module, seed: int) -> None:
    """Give every number of a network a random value, so that each can be recognised."""
    source = torch.Generator().manual_seed(seed)
    for name, value in network.state_dict().items():
        if value.dtype.is_floating_point:
            drawn = 0.1 * torch.randn(value.shape, generator=source)
            value.copy_(drawn.abs() + 0.5 if name.endswith("running_var") else drawn)


@dataclass(frozen=True, slots=True, eq=False)
class _Slot:
    """Where a weight of a file belongs.

    Attributes:
        shown: The weight as the file would have it now.
        write: Sets its values.
    """

    shown: Array
    write: Callable[[Tensor], object]

    @classmethod
    def of(cls, weight: Tensor, shown: Tensor | None = None) -> _Slot:
        """Return the slot of a weight that a file has in its own order, as it is or as ``shown``."""
        return cls((weight if shown is None else shown).detach().numpy().copy(), weight.data.copy_)


def _slots(network: nn.Module) -> list[_Slot]:
    slots: list[_Slot] = []
    for layer in network.modules():
        if isinstance(layer, nn.GRU):
            slots += _recurrent(layer)
        if isinstance(layer, nn.Sequential):
            for conv, norm in pairwise(layer):
                if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                    slots += _folded(conv, norm)
    for weight in network.parameters():
        slots.append(_Slot.of(weight))
        if weight.ndim == 2:
            slots.append(_Slot(weight.T.detach().numpy().copy(), weight.data.T.copy_))
    return slots


def _folded(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> list[_Slot]:
    """Return the slots of a convolution and the normalisation behind it, which a file holds as one."""
    if norm.running_mean is None or norm.running_var is None:
        raise InternalError("a normalisation without statistics")
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    return [
        _Slot.of(conv.weight, conv.weight * scale[:, None, None, None]),
        _Slot.of(norm.bias, norm.bias - norm.running_mean * scale),
    ]


def _recurrent(unit: nn.GRU) -> list[_Slot]:
    """Return the slots of a recurrent unit: ONNX has the gates update, reset; torch has reset, update."""
    weights = [unit.weight_ih_l0, unit.weight_hh_l0]
    biases = [unit.bias_ih_l0, unit.bias_hh_l0]

    def set_biases(value: Tensor) -> None:
        for bias, half in zip(biases, value.view(2, -1), strict=True):
            bias.data.copy_(_turned(half))

    both = torch.cat([_turned(bias.data) for bias in biases])[None]
    slots = [_Slot(both.numpy(), set_biases)]
    for weight in weights:
        shown = _turned(weight.data)[None].numpy()
        slots.append(_Slot(shown, partial(_set_turned, weight)))
    return slots


def _set_turned(weight: Tensor, value: Tensor) -> None:
    weight.data.copy_(_turned(value[0]))


def _turned(gates: Tensor) -> Tensor:
    """Return three blocks of rows with the first two exchanged."""
    first, second, third = gates.chunk(3)
    return torch.cat([second, first, third])


def _weights(path: Path) -> list[Array]:
    """Return the weights of a file, in its order."""
    graph = onnx.load(path).graph
    return [numpy_helper.to_array(weight).astype(np.float32) for weight in graph.initializer]
