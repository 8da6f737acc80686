"""Specification of a distortion: type, level, seed."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.errors import UsageError

LEVELS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class DistortionSpec:
    """Distortion of a run.

    Attributes:
        id: Two digits, ``"01"`` to ``"30"``.
        level: 1 (mild) to 5 (severe).
        seed: Seed of all randomness, 0 to 2**63 - 1.
        frozen: Whether every frame gets the same noise pattern.
    """

    id: str
    level: int
    seed: int = 0
    frozen: bool = False

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError("unknown distortion level", got=self.level, available=LEVELS)
        if not 0 <= self.seed < 2**63:
            raise UsageError("seed out of range", expected="0 to 2**63 - 1", got=self.seed)
