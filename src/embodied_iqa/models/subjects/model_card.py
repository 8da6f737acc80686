"""Model cards of panel members: role, words, training, results and known failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import read_versioned, write_record
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Role

CARD_FORMAT: Final = 1
STEP_RATE: Final = "step_rate_hz"
"""Entry of `ModelCard.network` of a policy that looks while it acts: the rate of its steps [Hz]."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Description of one member; a JSON file beside its ``.onnx`` file.

    Attributes:
        name: Name in the catalogue.
        role: VLM or VLA.
        summary: One sentence.
        views: Input views; a VLA's actions aim in the first.
        sha256: Hash of the network's file.
        words: Vocabulary of tasks, by number.
        answer_words: Vocabulary of answers, by number; empty for a VLA.
        network: Encoder, reader, number of parameters.
        training: Scenes, seeds, epochs, augmentation, style: enough to repeat the training.
        results: Measured on held-out scenes, undistorted; empty before the evaluation.
        known_failures: One sentence each.
        simulation_only: Trained on simulated images only: a VLA must not move a real arm.
        format: Version of the file's layout.
    """

    name: str
    role: Role
    summary: str
    views: tuple[View, ...]
    sha256: str
    words: tuple[str, ...]
    answer_words: tuple[str, ...]
    network: dict[str, str | int] = field(default_factory=dict)
    training: dict[str, str | int | float | bool] = field(default_factory=dict)
    results: dict[str, float | str] = field(default_factory=dict)
    known_failures: tuple[str, ...] = ()
    simulation_only: bool = True
    format: int = CARD_FORMAT

    @property
    def version(self) -> str:
        """Version of the answers: the first 12 digits of the hash."""
        return self.sha256[:12]

    @property
    def step_rate_hz(self) -> float | None:
        """Rate of the steps of a policy that looks while it acts; None of every other member."""
        rate_hz = self.network.get(STEP_RATE)
        return None if rate_hz is None else float(rate_hz)


def save_card(card: ModelCard, path: Path) -> None:
    """Write the card as JSON, whole or not at all."""
    write_record(card, path)


def load_card(path: Path) -> ModelCard:
    """Read a card.

    Raises:
        InputError: The file is missing, broken or of another format.
    """
    return read_versioned(ModelCard, path, "the model card", CARD_FORMAT)
