"""Cards of the members of the embedded vision panel."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import read_versioned, write_record
from embodied_iqa.models.vision.predictions import VisionTask

CARD_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class VisionCard:
    """Description of one member; a JSON file beside its ``.onnx`` file.

    Attributes:
        name: Of the member.
        task: What it does.
        sha256: Hash of the network's file.
        classes: Names of its classes, by number.
        input_px: Width and height of its input.
        threshold: Least score at which a prediction counts as pseudo-truth.
        network: Architecture, first channels, number of parameters.
        training: Command, images, seeds, epochs, augmentation: enough to repeat the training.
        performance: Measured on held-out scenes, undistorted; empty before the evaluation. ``main`` is
            the weight in labels: top-1 accuracy, box AP or mask AP; ``low`` and ``high`` are
            its interval at 95 %.
        format: Version of the file's layout.
    """

    name: str
    task: VisionTask
    sha256: str
    classes: tuple[str, ...]
    input_px: tuple[int, int]
    threshold: float
    network: dict[str, str | int] = field(default_factory=dict)
    training: dict[str, str | int | float | bool] = field(default_factory=dict)
    performance: dict[str, float] = field(default_factory=dict)
    format: int = CARD_FORMAT

    @property
    def version(self) -> str:
        """Version of the predictions: the first 12 digits of the hash."""
        return self.sha256[:12]


def save_card(card: VisionCard, path: Path) -> None:
    """Write the card as JSON, whole or not at all."""
    write_record(card, path)


def load_card(path: Path) -> VisionCard:
    """Read a card.

    Raises:
        InputError: The file is missing, broken or of another format.
    """
    return read_versioned(VisionCard, path, "the card of a vision model", CARD_FORMAT)
