"""Answers and decisions on undistorted images that see no target: scores against them mean little.

A subject that says of an image and of its distorted version that it sees nothing has the best score there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.known_tasks import names_no_target
from embodied_iqa.world.protocols import ChunkStatus

_SAID: Final = {Role.VLM: "answers name", Role.VLA: "decisions see"}


@dataclass(slots=True)
class Seen:
    """Answers of VLMs, or decisions of VLAs: those that see no target, and all; failures are in neither."""

    unseen: int = 0
    total: int = 0


@dataclass(slots=True)
class UnseenTargets:
    """Counts by the kind of subject."""

    counts: Mapping[Role, Seen] = field(default_factory=lambda: {role: Seen() for role in _SAID})

    def add(self, role: Role, said: str) -> None:
        """Count the answer of a VLM, or the status of a decision of a VLA."""
        sees_none = names_no_target(said) if role is Role.VLM else said == ChunkStatus.NO_TARGET
        self.counts[role].unseen += sees_none
        self.counts[role].total += 1

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said; nothing where every target is seen."""
        return tuple(
            f"{one.unseen:,} of {one.total:,} reference {_SAID[role]} no target: their scores mean little"
            for role, one in self.counts.items()
            if one.unseen
        )
