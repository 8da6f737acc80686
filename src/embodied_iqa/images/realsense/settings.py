"""How a RealSense is to stream, and how long it may be away."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.errors import UsageError

__all__ = ["RealSenseSettings"]


@dataclass(frozen=True, slots=True)
class RealSenseSettings:
    """What is asked of one camera.

    Attributes:
        width_px: Width of the colour pictures, and of the depth pictures that are aligned to them.
        height_px: Their height.
        rate_hz: Pictures a second; RealSense cameras know whole numbers only.
        depth: Stream depth too, aligned to colour.
        allow_host_stamps: Accept stamps of the computer's clock where the camera gives none of its own.
        silence_s: Without a picture for so long the stream counts as broken and is started again.
        give_up_s: A camera that is away for longer is an error.
        stale_s: A picture that is older than this when it is read makes the stream start anew.
        queue_frames: Pictures that wait to be read; more push out the oldest.
    """

    width_px: int = 640
    height_px: int = 480
    rate_hz: int = 30
    depth: bool = True
    allow_host_stamps: bool = False
    silence_s: float = 2.0
    give_up_s: float = 30.0
    stale_s: float = 1.0
    queue_frames: int = 16

    def __post_init__(self) -> None:
        for name in ("width_px", "height_px", "rate_hz", "silence_s", "give_up_s", "stale_s", "queue_frames"):
            if getattr(self, name) <= 0:
                raise UsageError(f"wrong {name}", expected="a positive number", got=getattr(self, name))

    @property
    def mode(self) -> str:
        """The mode in words."""
        return f"{self.width_px}x{self.height_px} at {self.rate_hz} Hz"
