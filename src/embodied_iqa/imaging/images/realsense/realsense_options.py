"""Stream and time-out options of a RealSense."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.base.errors import UsageError


@dataclass(frozen=True, slots=True)
class RealSenseOptions:
    """Options of one camera.

    Attributes:
        width_px: Width of the colour images, and of the depth images that are aligned to them.
        height_px: Their height.
        rate_hz: Images per second, an integer.
        depth: Also stream depth, aligned to colour.
        allow_host_stamps: Accept stamps of the computer's clock if the camera has none of its own.
        silence_s: Time without an image after which the stream is restarted.
        give_up_s: Time without the camera after which reading fails.
        stale_s: Age of an image, when it is read, from which the stream is restarted.
        queue_frames: Images waiting to be read; the oldest is dropped first.
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
        """Size and rate as text."""
        return f"{self.width_px}x{self.height_px} at {self.rate_hz} Hz"
