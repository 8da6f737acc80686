"""Measures images with pyiqa; runs in its environment and imports nothing of this package.

python worker.py DESCRIPTOR [NAME [WEIGHTS]]

Over the socket of the file descriptor DESCRIPTOR it sends a line of JSON that describes the metric; without a
NAME, one with the ``names`` of all metrics, and it ends. Each
request is a line of JSON with the ``shape``, ``[H, W, 3]``, and the number of ``images``, followed by the
bytes of the distorted image and the reference; each answer is a line with ``value`` or ``error``. It ends
when the socket is closed.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np


def _refuse(*_: object, **__: object) -> NoReturn:
    raise OSError("pyiqa wants to download a file, and nothing is downloaded here")


def stay_offline() -> None:
    """Refuse every connection of this process."""
    socket.socket.connect = socket.socket.connect_ex = _refuse  # type: ignore[method-assign]
    socket.getaddrinfo = _refuse


def options_of(name: str, weights: str) -> dict[str, Any]:
    """Return the options with which a network loads a file of weights, and no other file."""
    if not weights:
        return {}
    whole = {"backbone_pretrain": False} if name.startswith("topiq") else {}
    return {"pretrained_model_path": weights, **whole}


def _metric(name: str, weights: str) -> tuple[dict[str, Any], Callable[..., float]]:
    """Return the description of a metric and the function that measures."""
    torch = importlib.import_module("torch")
    metric = importlib.import_module("pyiqa").create_metric(name, **options_of(name, weights))
    size_bytes = sum(part.numel() * part.element_size() for part in metric.parameters())

    def measure(*images: Any) -> float:
        scaled = (image.transpose(2, 0, 1)[None].astype(np.float32) / 255 for image in images)
        tensors = [torch.from_numpy(values) for values in scaled]
        value = metric(*tensors)
        return float((value[0] if isinstance(value, tuple) else value).reshape(-1)[0])

    about = {"mode": metric.metric_mode, "lower_better": metric.lower_better, "megabytes": size_bytes / 1e6}
    return about, measure


def _text(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"


def _send(stream: Any, tree: dict[str, Any]) -> None:
    stream.write(json.dumps(tree).encode() + b"\n")
    stream.flush()


def _serve(stream: Any, measure: Callable[..., float]) -> None:
    while line := stream.readline():
        request = json.loads(line)
        shape = request["shape"]
        data = [stream.read(shape[0] * shape[1] * shape[2]) for _ in range(request["images"])]
        try:
            images = [np.frombuffer(one, np.uint8).reshape(shape) for one in data]
            answer: dict[str, Any] = {"value": measure(*images)}
        except Exception as error:  # noqa: BLE001 - a network may raise anything; the next image may do
            answer = {"error": _text(error)}
        _send(stream, answer)


def main() -> None:
    """Load the metric, describe it, answer until the socket is closed."""
    descriptor, *words = sys.argv[1:]
    stream = socket.socket(fileno=int(descriptor)).makefile("rwb")
    os.dup2(2, 1)  # pyiqa prints while it loads
    stay_offline()
    try:
        if not words:
            _send(stream, {"names": importlib.import_module("pyiqa").list_models()})
            return
        about, measure = _metric(words[0], words[1] if words[1:] else "")
    except Exception as error:  # noqa: BLE001 - as above
        _send(stream, {"error": _text(error)})
        return
    _send(stream, about)
    _serve(stream, measure)


if __name__ == "__main__":
    main()
