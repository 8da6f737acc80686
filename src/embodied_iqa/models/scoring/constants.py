"""Per-subject scoring constants, stored so that single pairs and whole databases are scored alike."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.models.scoring.frequencies import DocumentFrequencies

FORMAT: Final = 1
"""Version of the file format."""


class UncalibratedError(InputError):
    """A subject without constants for its version cannot be scored yet."""


@dataclass(frozen=True, slots=True)
class SubjectConstants:
    """The constants of one subject.

    Attributes:
        subject: The subject's name in the registry.
        version: The subject's version; constants of another version do not apply.
        recipe: Description of the measurement: the command, the scenes, the seed.
        n_references: Number of reference answers or actions measured, at least 1.
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
            expected = "d_max_m or document frequencies"
            raise InputError(f"constants of {self.subject} are empty", expected=expected)
        if self.d_max_m is not None and not (math.isfinite(self.d_max_m) and self.d_max_m > 0):
            wrong = f"wrong d_max_m of {self.subject}"
            raise InputError(wrong, expected="a length above 0 m", got=self.d_max_m)
        if self.n_references < 1:
            wrong = f"wrong n_references of {self.subject}"
            raise InputError(wrong, expected="1 or more", got=self.n_references)


def save_constants(constants: SubjectConstants, path: Path) -> None:
    """Write the constants as JSON, atomically."""
    fields = unstructure(constants)
    value = {"format": FORMAT, **fields, "document_frequencies": fields["frequencies"]}
    del value["frequencies"]
    write_text_whole(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_constants(path: Path) -> SubjectConstants:
    """Read a file that :func:`save_constants` wrote.

    Raises:
        InputError: The file is missing, broken or of another format.
    """
    value = load_json(path, "the subject's constants")
    if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
        raise InputError(f"{path} is not a file of subject constants", expected=f"JSON with format {FORMAT}")
    value["frequencies"] = value.pop("document_frequencies", None)
    return structure(SubjectConstants, value, str(path))
