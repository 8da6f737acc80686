"""The table of camera sources: what each is called, what opens it, and what follows from it for the graph."""

from __future__ import annotations

from enum import StrEnum, auto
from typing import Self


class CameraKind(StrEnum):
    """Where the images of a source come from."""

    WORLD = auto()
    """The simulated world: they go with the simulated arm."""
    STORED = auto()
    """Files that must exist: they play in each run of a trial."""
    LIVE = auto()
    """Cameras that set the pace: where an image is late, the newest one wins."""
    OWN = auto()
    """The user's code, read at the rate of the parameters; the path names its factory."""


class CameraSource(StrEnum):
    """Source of the images: its name, its kind, and what opens it, loaded when it is used.

    The opener takes the `CameraRig` of camera_node and returns a `CameraFeed`; see `live.cameras.camera_rig`.

    Attributes:
        kind: Where the images come from.
        opener: ``module:function``; in the table without the package `embodied_iqa.live.cameras`.
    """

    kind: CameraKind
    opener: str

    def __new__(cls, name: str, kind: CameraKind, opener: str) -> Self:
        """Make a source that is its name."""
        source = str.__new__(cls, name)
        source._value_ = name
        source.kind = kind
        source.opener = f"embodied_iqa.live.cameras.{opener}"
        return source

    SIMULATED = "simulated", CameraKind.WORLD, "simulated_feed:SimulatedFeed"
    FILES = "files", CameraKind.STORED, "stored_cameras:open_files"
    BAG = "bag", CameraKind.STORED, "stored_cameras:open_bag"
    REALSENSE = "realsense", CameraKind.LIVE, "realsense_cameras:open_realsense"
    TOPIC = "topic", CameraKind.LIVE, "topic_cameras:open_topics"
    PYTHON = "python", CameraKind.OWN, "own_cameras:open_own"

    @classmethod
    def kind_of(cls, name: object) -> CameraKind | None:
        """Return the kind of the source with a name; None where there is none, which is refused elsewhere."""
        return next((source.kind for source in cls if source == name), None)

    @classmethod
    def of_kind(cls, *kinds: CameraKind) -> str:
        """Return the names of the sources of some kinds, for messages."""
        return " or ".join(source for source in cls if source.kind in kinds)
