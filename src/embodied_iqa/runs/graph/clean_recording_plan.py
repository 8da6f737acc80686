"""What a recording of clean images outside of a trial shall hold, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.graph.parameters import GraphParameters


@dataclass(frozen=True, slots=True)
class CleanRecordingPlan:
    """What to record.

    Attributes:
        graph: The parameters of a trial in this cell.
        path: The file; it must not exist.
        seconds: From the moment on when every camera has an image.
        silence_s: End with an error where a camera has no image for so long.
        metadata: Of the recording.
        namespace: Of the relative names of topics, such as cell1.
    """

    graph: GraphParameters
    path: Path
    seconds: float
    silence_s: float = 10.0
    metadata: Mapping[str, str] | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class CleanRecordingProgress:
    """How far a recording has come.

    Attributes:
        seconds: Since its start.
        images: Of each camera.
        arm_states: Of the arm.
        lost: Messages for which the disk was too slow.
        earlier: Of the images, those before the start, while another camera had none yet.
    """

    seconds: float
    images: Mapping[View, int]
    arm_states: int = 0
    lost: int = 0
    earlier: Mapping[View, int] = field(default_factory=dict)

    def rate_hz(self, view: View) -> float | None:
        """Return the images of a camera per second since the start; None where no time has passed."""
        count = self.images[view] - self.earlier.get(view, 0)
        return count / self.seconds if self.seconds > 0.0 else None
