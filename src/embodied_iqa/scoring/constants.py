"""What a subject's scores are scaled by: stored, so that a live pair is scored like a whole database."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from embodied_iqa.errors import InputError
from embodied_iqa.scoring.frequencies import DocumentFrequencies

__all__ = ["FORMAT", "SubjectConstants", "UncalibratedError", "load_constants", "save_constants"]

FORMAT: Final = 1
"""Version of the file format."""

_KEYS: Final = frozenset(
    {"format", "subject", "version", "recipe", "n_references", "d_max_m", "document_frequencies"}
)


class UncalibratedError(InputError):
    """A subject has no constants of its version: nothing of it can be scored yet."""


@dataclass(frozen=True, slots=True)
class SubjectConstants:
    """The constants of one subject.

    Attributes:
        subject: The subject's name in the registry.
        version: The subject's version; constants of another version are worthless.
        recipe: How they were measured, in words: the command, the scenes, the seed.
        n_references: Number of reference answers or actions that they come from, at least 1.
        d_max_m: Scale of the position score of a VLA, above 0 m; None for a VLM.
        frequencies: Document frequencies of the reference answers of a VLM; None for a VLA.
    """

    subject: str
    version: str
    recipe: str
    n_references: int
    d_max_m: float | None = None
    frequencies: DocumentFrequencies | None = None

    def __post_init__(self) -> None:
        if self.d_max_m is None and self.frequencies is None:
            raise InputError(
                f"constants of {self.subject} are empty", expected="d_max_m or document frequencies"
            )
        if self.d_max_m is not None and not (math.isfinite(self.d_max_m) and self.d_max_m > 0):
            raise InputError(
                f"wrong d_max_m of {self.subject}", expected="a length above 0 m", got=self.d_max_m
            )
        if self.n_references < 1:
            raise InputError(
                f"wrong n_references of {self.subject}", expected="1 or more", got=self.n_references
            )


def save_constants(constants: SubjectConstants, path: Path) -> None:
    """Write the constants as JSON, whole or not at all."""
    frequencies = constants.frequencies
    value = {
        "format": FORMAT,
        "subject": constants.subject,
        "version": constants.version,
        "recipe": constants.recipe,
        "n_references": constants.n_references,
        "d_max_m": constants.d_max_m,
        "document_frequencies": None if frequencies is None else frequencies.to_json(),
    }
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = Path(folder) / path.name
        whole.write_text(text, encoding="utf-8")
        whole.replace(path)


def load_constants(path: Path) -> SubjectConstants:
    """Read a file that :func:`save_constants` wrote.

    Raises:
        InputError: The file is missing, broken or of another format.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the subject's constants {path}: {error}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InputError(f"{path} holds no subject's constants", expected=f"JSON with format {FORMAT}")
    if set(value) != _KEYS:
        raise InputError(f"{path} has wrong keys", got=sorted(value), available=sorted(_KEYS))
    return _parse(value, path)


def _parse(value: dict[str, object], path: Path) -> SubjectConstants:
    match value:
        case {
            "subject": str(subject),
            "version": str(version),
            "recipe": str(recipe),
            "n_references": int(n),
        }:
            pass
        case _:
            raise InputError(f"{path}: wrong type", expected="texts and a whole number n_references")
    d_max_m, frequencies = value["d_max_m"], value["document_frequencies"]
    if d_max_m is not None and type(d_max_m) not in {int, float}:
        raise InputError(f"{path}: wrong d_max_m", expected="a number or null", got=d_max_m)
    return SubjectConstants(
        subject,
        version,
        recipe,
        n,
        d_max_m=None if d_max_m is None else float(cast("float", d_max_m)),
        frequencies=None if frequencies is None else DocumentFrequencies.from_json(frequencies),
    )
