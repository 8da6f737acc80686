"""Model cards: what a member is, how it was made, how well it does and where it fails."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from embodied_iqa.errors import InputError
from embodied_iqa.images.frame import View

__all__ = ["CARD_FORMAT", "ModelCard", "load_card", "save_card"]

CARD_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class ModelCard:
    """All about one member; JSON beside its ``.onnx``.

    Attributes:
        name: Its name in the catalogue.
        role: ``vla`` or ``vlm``.
        summary: One honest sentence.
        views: What it looks at; the first is the one that it names.
        sha256: Of the network's file; the version of its answers.
        words: The words of tasks that it knows, by number.
        answer_words: The words of its answers, by number; empty for a VLA.
        network: Encoder, reader, number of parameters.
        training: Scenes, seeds, epochs, augmentation, style: enough to do it again.
        results: What was measured on unseen scenes, clean; empty until it was.
        known_failures: In words, as found.
        format: Version of this file's layout.
    """

    name: str
    role: str
    summary: str
    views: tuple[View, ...]
    sha256: str
    words: tuple[str, ...]
    answer_words: tuple[str, ...]
    network: dict[str, str | int] = field(default_factory=dict)
    training: dict[str, str | int | float | bool] = field(default_factory=dict)
    results: dict[str, float | str] = field(default_factory=dict)
    known_failures: tuple[str, ...] = ()
    format: int = CARD_FORMAT

    @property
    def version(self) -> str:
        """Changes whenever answers can change: the first letters of the file's hash."""
        return self.sha256[:12]


_LISTS: Final = ("views", "words", "answer_words", "known_failures")


def save_card(card: ModelCard, path: Path) -> None:
    """Write the card as JSON, whole or not at all."""
    text = json.dumps(asdict(card), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = Path(folder) / path.name
        whole.write_text(text, encoding="utf-8")
        whole.replace(path)


def load_card(path: Path) -> ModelCard:
    """Read a card.

    Raises:
        InputError: The file is missing, broken or of another format.
    """
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the model card {path}: {error}") from error
    names = {item.name for item in fields(ModelCard)}
    if not isinstance(value, dict) or set(value) != names or value["format"] != CARD_FORMAT:
        raise InputError(f"{path} is no model card", expected=f"JSON with format {CARD_FORMAT}")
    lists = {name: tuple(value[name]) for name in _LISTS}
    try:
        lists["views"] = tuple(View(word) for word in lists["views"])
    except ValueError as error:
        raise InputError(f"{path}: {error}", available=list(View)) from error
    return ModelCard(**(value | lists))
