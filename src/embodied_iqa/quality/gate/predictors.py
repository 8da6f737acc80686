"""What the fitted judges predict from an image: networks of its statistics, or a quality metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.fitted import NetworkFile, Networks
from embodied_iqa.quality.gate.second_stage import Prediction
from embodied_iqa.quality.metrics.learned.card import CARD_FILE
from embodied_iqa.quality.metrics.learned.inputs import NetworkInput
from embodied_iqa.quality.metrics.learned.shipped import CALIBRATED
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric, model_folder
from embodied_iqa.quality.metrics.metric import Metric, MetricContext, Needs

_DIGITS: Final = 6
"""Digits after the point of a predicted value."""
_AGAIN: Final = "run `embodied-iqa gate fit` again"

Image = NDArray[np.uint8]
Array = NDArray[np.float64]


class NetworkPredictor:
    """Two networks of the same input: expected loss, and probability of a wrong motion.

    The input is the statistics of an image, or these with the features of a subject. The labels of the
    networks are qualities: the loss and the probability with a minus sign.

    Args:
        networks: Their folders and the hashes of their cards.
        base: Folder to which the folders are relative.

    Raises:
        InputError: A file is missing or damaged, or not the one of the fit; or the subject has changed.
        UserError: The subject cannot be loaded.
    """

    def __init__(self, networks: Networks, base: Path) -> None:
        self._loss, self._wrong = (_network(file, base) for file in (networks.loss, networks.wrong_motion))
        inputs = [_input_of(network) for network in (self._loss, self._wrong)]
        if inputs[0] != inputs[1] or inputs[0].needs is Needs.REFERENCE:
            shown = " and ".join(map(str, inputs))
            raise InputError("wrong networks", expected="one input, without reference", got=shown)
        self._input = inputs[0]

    def predict(self, view: View, rgb: Image, half: Image) -> tuple[float, float | None]:
        """See `Predictor`."""
        image = half if self._input.halves(rgb) else rgb
        values = self._input.measure(image, None, MetricContext(view))
        loss, wrong = self.outputs(values[None], np.array([self._loss.number_of(view)]))
        return float(loss[0]), float(wrong[0])

    def outputs(self, values: NDArray[Any], views: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return ``(N,)`` expected losses and probabilities of ``(N, D)`` measured inputs."""
        labels = (network.outputs(values, views)[1] for network in (self._loss, self._wrong))
        loss, wrong = (np.round(-label, _DIGITS) + 0.0 for label in labels)  # + 0.0: no minus zero
        return loss, wrong

    @staticmethod
    def words(prediction: Prediction) -> str:
        """See `Predictor`."""
        return (
            f"expected loss {prediction.value:.3f} above {prediction.threshold:.3f}, "
            f"probability of a wrong motion {prediction.wrong_motion or 0.0:.2f}"
        )


class MetricPredictor:
    """A quality metric without reference; its value with the sign that makes higher worse.

    Args:
        name: Of the metric.
        model: Of a trained metric, its copy beside the gate's file: the threshold is for this one.
        base: Folder to which the copy is relative.

    Raises:
        InputError: The model is missing, damaged or another one, or the fit has no copy of it.
        UserError: An unknown metric, one that needs a reference, or one that cannot be loaded.
    """

    def __init__(self, name: str, model: NetworkFile | None, base: Path) -> None:
        if model is None and model_folder(name) is not None:
            raise InputError(f"the fit of {name} has no copy of its model", expected=_AGAIN)
        self._name = name
        self._metric: Metric = (
            judging_metric(name)
            if model is None
            else _network(model, base, calibrated=name.endswith(CALIBRATED))
        )

    def predict(self, view: View, rgb: Image, half: Image) -> tuple[float, float | None]:
        """See `Predictor`."""
        del half
        return self.value(rgb, MetricContext(view)), None

    def value(self, rgb: Image, context: MetricContext) -> float:
        """Return the value of an image, higher is worse."""
        return round(-self._metric.info.sign * self._metric.measure(rgb, None, context), _DIGITS) + 0.0

    def words(self, prediction: Prediction) -> str:
        """See `Predictor`."""
        sign = -self._metric.info.sign
        side = "above" if sign > 0 else "below"
        shown, bound = sign * prediction.value, sign * prediction.threshold
        return f"{self._name} {shown:.3f} {side} {bound:.3f}"


def judging_metric(name: str) -> Metric:
    """Return a metric by name that can judge.

    Raises:
        UserError: An unknown metric, one that needs a reference, or one that cannot be loaded.
    """
    metric: Metric = load("embodied_iqa.quality.metrics.catalogue:metric_by_name")(name)
    if metric.info.needs is Needs.REFERENCE:
        raise UsageError(
            f"{name} compares with an undistorted image, which a live gate does not have",
            expected="a metric without reference",
        )
    return metric


def _network(file: NetworkFile, base: Path, *, calibrated: bool = False) -> TrainedMetric:
    folder = base / file.folder
    if not (folder / CARD_FILE).is_file():
        beside = base / Path(file.folder).parts[0]
        raise InputError(
            f"cannot read the card {folder / CARD_FILE}: a file of `gate fit` needs its folder",
            expected=f"{beside}/, copied with the file",
        )
    network = TrainedMetric(folder, calibrated=calibrated)  # reports a missing or damaged file
    found = sha256_of(folder / CARD_FILE)
    if found != file.card_sha256:
        raise InputError(
            f"{folder} is not the network of the fit: {_AGAIN}",
            expected=file.card_sha256,
            got=found,
        )
    return network


def _input_of(network: TrainedMetric) -> NetworkInput:
    return NetworkInput(network.card.input, network.card.subjects, network.card.size_px)
