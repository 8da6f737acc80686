"""Plan of a build of machine-vision labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.models.vision.model import VisionModelInfo
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.building.reference import MiqaSource

_LABELS_VERSION: Final = 1
"""Changes when the same plan gives other labels."""


@dataclass(frozen=True, slots=True)
class MiqaPlan:
    """What labels depend on.

    Attributes:
        source: Source of the references.
        references: Their number; may grow later.
        models: Names of models; ``panel`` for the embedded vision panel.
        tasks: The tasks, each once.
        seed: Of scenes, distortions, drawn images and the split.
        share: Share of the 250 images of a reference that is labelled, in (0, 1].
        keep_images: Whether distorted images are written.
    """

    source: MiqaSource
    references: int
    models: tuple[str, ...]
    tasks: tuple[VisionTask, ...]
    seed: int = ranged(0, 0, 2**32 - 1)
    share: float = ranged(1.0, 0, 1, "(]")
    keep_images: bool = False

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.references < 1:
            raise UsageError("wrong number of references", expected="1 or more", got=self.references)
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise UsageError("wrong tasks", expected="each once", available=list(VisionTask))
        available = len(self.source.names)
        if self.references > available:
            raise InputError(
                f"too few references in {self.source.description}",
                expected=f"{self.references}",
                got=available,
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the references."""
        return self.source.names[: self.references]

    def tree(self) -> dict[str, Any]:
        """Return what must be the same when a build is continued, or another task is added."""
        return {
            "source": self.source.description,
            "fingerprint": self.source.fingerprint,
            "seed": self.seed,
            "share": self.share,
            "images": "files" if self.keep_images else "seeds",
        }

    def digest(self, reference: str, models: list[VisionModelInfo]) -> str:
        """Return the hash of everything that the measures of models on a reference depend on."""
        known = [(model.name, model.version, model.threshold) for model in models]
        return digest_of("miqa", _LABELS_VERSION, self.tree(), reference, known)
