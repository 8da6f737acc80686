"""Metrics of pyiqa by name, measured in its own environment: ``pyiqa:NAME`` or ``pyiqa:NAME@FILE``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.worker_process import WorkerProcess
from embodied_iqa.quality.metrics.functions import required
from embodied_iqa.quality.metrics.input_checks import check_image, check_pair
from embodied_iqa.quality.metrics.metric import Image, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.pyiqa.environment import WORKER, environment, pyiqa_python

_MODES: Final = {"FR": Needs.REFERENCE, "NR": Needs.NOTHING}
_SOURCE: Final = "pyiqa 0.1.16 (PolyForm Noncommercial)"


class PyiqaMetric:
    """A metric of pyiqa in a process of its own environment; `close` ends the process.

    Args:
        name: Name in pyiqa, such as ``"topiq_nr"``.
        weights: File of weights; None for the files that pyiqa keeps in its cache, if it needs any.

    Raises:
        UserError: The environment, the metric or its weights are missing.
    """

    def __init__(self, name: str, weights: Path | None = None) -> None:
        text = f"pyiqa:{name}" if weights is None else f"pyiqa:{name}@{weights}"
        files: Sequence[str] = [] if weights is None else [str(weights.resolve())]
        command = [str(pyiqa_python()), str(WORKER), "{socket}", name, *files]
        self._worker = WorkerProcess(command, environment(), text, again="the metric loaded again")
        about = self._worker.about
        if about["mode"] not in _MODES:
            self.close()
            raise InputError(f"{text} does not measure single images", got=about["mode"])
        self.info = MetricInfo(
            text,
            _MODES[about["mode"]],
            not about["lower_better"],
            source=_SOURCE,
            megabytes=round(about["megabytes"], 2),
        )

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the value of an image; see `Metric`."""
        images = [distorted]
        if self.info.needs is Needs.REFERENCE:
            images.append(required(reference, self.info))
            check_pair(images[1], distorted, 1)
        else:
            check_image(distorted)
        request = {"shape": list(distorted.shape), "images": len(images)}
        answer = self._worker.ask(request, (image.tobytes() for image in images))
        return _finite(answer, self.info.name)

    def close(self) -> None:
        """End the process."""
        self._worker.close()


def make(text: str) -> PyiqaMetric:
    """Make the metric of ``NAME`` or ``NAME@FILE``.

    Raises:
        UserError: It is not found or cannot be loaded.
    """
    name, at, file = text.partition("@")
    weights = Path(file) if at else None
    if not name or (at and not file):
        raise UsageError(
            "not a metric of pyiqa", expected="pyiqa:NAME or pyiqa:NAME@FILE", got=f"pyiqa:{text}"
        )
    if weights is not None and not weights.is_file():
        raise InputError(f"no weights for pyiqa:{name}", expected="a file of weights", got=file)
    return PyiqaMetric(name, weights)


def _finite(answer: Mapping[str, Any], name: str) -> float:
    """Return the value of an answer.

    Raises:
        InputError: It is not a number.
    """
    value = answer.get("value")
    if not isinstance(value, float | int) or math.isnan(value):
        raise InputError(f"{name} has no value for this image", got=value)
    return float(value)
