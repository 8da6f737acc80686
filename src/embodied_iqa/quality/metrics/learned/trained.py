"""A trained metric: ``trained:DIR``, or one of this package. Needs NumPy and ONNX Runtime only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.onnx_session import open_session
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.metrics.learned.card import NETWORK_FILE, MetricCard, load_metric_card
from embodied_iqa.quality.metrics.learned.inputs import SMALLEST_PX, NetworkInput
from embodied_iqa.quality.metrics.learned.shipped import CALIBRATED, SHIPPED, shipped_folder
from embodied_iqa.quality.metrics.learned.training_range import load_training_range
from embodied_iqa.quality.metrics.metric import Image, MetricContext, MetricInfo

KIND: Final = "trained"
_BEND: Final = 0.05
"""Share of the range of ranks, at each end, in which they approach the end."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Output of the two heads.

    Attributes:
        rank: 0 (worst) to 1 (best): about the share of training images with a lower label. Trained for
            order.
        label: Predicted label, in its own units. Trained for the least squared error.
        outside_training: The image is unlike those of the training, so that neither value nor order can be
            relied on; None where the metric, of an earlier version, does not know.
    """

    rank: float
    label: float
    outside_training: bool | None = None


class TrainedMetric:
    """Network and card of ``embodied-iqa metrics train``; higher is better.

    Its value is the rank head's, or with ``#calibrated`` behind the folder the predicted label.

    Args:
        folder: With ``network.onnx`` and ``card.json``.
        calibrated: Which head is the value.
        name: Under which it is known; empty for ``trained:FOLDER``.

    Raises:
        InputError: A file is missing or damaged, the network is not the card's, or a subject has changed.
        UserError: A subject whose features count cannot be loaded.
    """

    def __init__(self, folder: Path, *, calibrated: bool = False, name: str = "") -> None:
        self.card: MetricCard = load_metric_card(folder)
        self._session = _session(folder, self.card)
        card = self.card
        self._range = load_training_range(folder, of_images=card.input.is_image)
        self.input: Final = NetworkInput(card.input, card.subjects, card.size_px)
        if self.input.version() != card.input_version:
            raise InputError(
                f"the input of {folder} is measured otherwise by this version or these subjects",
                expected=card.input_version,
                got=self.input.version(),
            )
        self._views = {view: index for index, view in enumerate(card.views)}
        self._calibrated = calibrated
        low, high = card.rank_range or (-np.inf, np.inf)
        if calibrated:
            low, high = card.label_low, card.label_high
        self.info = MetricInfo(
            f"{name or f'{KIND}:{folder}'}{CALIBRATED if calibrated else ''}",
            self.input.needs,
            higher_is_better=True,
            lowest=low,
            highest=high,
            source=f"{card.name} trained on {card.target or 'labels of the caller'}",
            smallest_px=SMALLEST_PX,
            megabytes=(folder / NETWORK_FILE).stat().st_size / 1e6,
        )

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the quality of an image; see `Metric`. Other cameras count as unknown."""
        return self.measure_from(self.input.measure(distorted, reference, context), context)

    def measure_from(self, values: NDArray[Any], context: MetricContext | None = None) -> float:
        """Return the quality of an image whose `input` is measured."""
        found = self.predict_from(values, context)
        return found.label if self._calibrated else found.rank

    def predict(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> Prediction:
        """Return the output of both heads.

        Raises:
            InputError: Not an image, too small, or the reference is missing or of another size.
        """
        return self.predict_from(self.input.measure(distorted, reference, context), context)

    def predict_from(self, values: NDArray[Any], context: MetricContext | None = None) -> Prediction:
        """Return the output of both heads for a measured `input`: metrics of the same input can share it."""
        view = context.view if context is not None else None
        rank, label = self.outputs(values[None], np.array([self.number_of(view)]))
        return Prediction(float(rank[0]), float(label[0]), self.outside_training(values))

    def outside_training(self, values: NDArray[Any]) -> bool | None:
        """Return whether a measured `input` is unlike those of the training; see `Prediction`."""
        if self._range is None:
            return None
        return not self._range.distances(values[None])[0] <= 1  # what is not a number is outside, too

    def number_of(self, view: View | None) -> int:
        """Return the place of a camera in the card's views; their number for another camera."""
        return self._views.get(view, len(self._views)) if view is not None else len(self._views)

    def outputs(
        self, values: NDArray[Any], views: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ``(N,)`` ranks and labels of measured inputs.

        Args:
            values: ``(N, D)`` float32 or ``(N, H, W, 3)`` uint8, see `NetworkInput.measure`.
            views: ``(N,)`` index in the card's views; their number for unknown cameras.
        """
        rank, label = self._session.run(["rank", "label"], {"input": values, "view": views})
        labels = np.clip(np.asarray(label, np.float64), self.card.label_low, self.card.label_high)
        ranks, ends = np.asarray(rank, np.float64), self.card.rank_range
        return ranks if ends is None else held_in(ranks, *ends), labels


def held_in(ranks: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Hold ranks in their range without a change of their order: near an end they approach it."""
    margin = _BEND * (high - low)
    above, below = (np.minimum(0.0, side) for side in (high - margin - ranks, ranks - low - margin))
    bent: NDArray[np.float64] = np.exp(below / margin) - np.exp(above / margin)
    return np.clip(ranks, low + margin, high - margin) + margin * bent


def _session(folder: Path, card: MetricCard) -> Any:
    try:
        content = (folder / NETWORK_FILE).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the network of {folder}: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != card.sha256:
        raise InputError(f"the network of {folder} is not the one of its card", expected=card.sha256)
    return open_session(content, card.name)


def make(target: str) -> TrainedMetric:
    """Make the metric of a folder; ``#calibrated`` behind it chooses the other head.

    Raises:
        UserError: See `TrainedMetric`.
    """
    return TrainedMetric(folder_of(target), calibrated=target.endswith(CALIBRATED))


def make_shipped(name: str) -> TrainedMetric:
    """Make a metric of `SHIPPED` under its plain name; ``#calibrated`` behind it chooses the other head.

    Raises:
        UsageError: None of that name.
        UserError: See `TrainedMetric`.
    """
    folder = shipped_folder(name)
    if folder is None:
        raise UsageError("not a metric that comes with this package", got=name, available=SHIPPED)
    return TrainedMetric(folder, calibrated=name.endswith(CALIBRATED), name=folder.name)


def folder_of(target: str) -> Path:
    """Return the folder of a metric: ``DIR`` or ``DIR#calibrated``."""
    return Path(target.removesuffix(CALIBRATED)).expanduser()


def model_folder(name: str) -> Path | None:
    """Return where network and card of a metric are: ``trained:DIR`` or one of `SHIPPED`; None for others."""
    word, _, target = name.partition(":")
    return folder_of(target) if word == KIND else shipped_folder(name)
