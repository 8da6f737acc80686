"""Card of a trained metric: what it takes, how it was trained, what it reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import Plain, read_versioned, unstructure
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.metrics.learned.inputs import InputKind

CARD_FILE: Final = "card.json"
NETWORK_FILE: Final = "network.onnx"
CARD_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class MetricCard:
    """Description of a trained metric; a JSON file beside its network.

    Attributes:
        name: Name of the recipe, such as ``embodied-nr``.
        summary: One sentence.
        input: What the network takes.
        input_version: Version of the input, see `NetworkInput.version`.
        subjects: Subjects whose features count.
        size_px: Width and height to which images are resized.
        views: Cameras of the training images, in the order of the network; others count as unknown.
        target: What was learned, such as ``decision``; empty if the caller did not say.
        label_low: Least label of the training.
        label_high: Largest label of the training.
        rank_range: Ends of the range in which the rank is held; None for a network that predicts the label
            alone, and for a metric of an earlier version.
        sha256: Hash of the network's file.
        training: Recipe, seed, numbers of pairs and references, epochs, validation.
        database: Where the images and labels come from, and how they were made.
        versions: Of this package and the libraries that trained.
        results: On references that were held out, with ends of their 95 % intervals; empty before a test.
        command: By which it was trained; empty from Python.
        format: Version of the file's layout.
    """

    name: str
    summary: str
    input: InputKind
    input_version: str
    subjects: tuple[str, ...]
    size_px: tuple[int, int]
    views: tuple[View, ...]
    target: str
    label_low: float
    label_high: float
    sha256: str
    training: dict[str, Plain] = field(default_factory=dict)
    database: dict[str, Plain] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    results: dict[str, float] = field(default_factory=dict)
    command: str = ""
    rank_range: tuple[float, float] | None = None
    format: int = CARD_FORMAT


def save_metric_card(card: MetricCard, folder: Path) -> None:
    """Write the card, whole or not at all."""
    write_json_whole(folder / CARD_FILE, unstructure(card))


def load_metric_card(folder: Path) -> MetricCard:
    """Read a card.

    Raises:
        InputError: The file is missing, broken or of another format.
    """
    return read_versioned(MetricCard, folder / CARD_FILE, "the card of the metric", CARD_FORMAT)
