"""Parameters of the nodes that write a recording and play one back."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.base.config import ranged
from embodied_iqa.data.recording.compression import Compression
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.graph.camera_parameters import DEFAULT_VIEWS


@dataclass(frozen=True, slots=True)
class RecorderParameters:
    """The recorder.

    Attributes:
        views: The cameras whose raw images are recorded.
        distorted_images: Record the distorted images too; they can be recomputed from the raw ones.
        queue_bytes: Memory of the writer's queue [byte].
        compression: Compression of the recording: zstd, lz4 or none.
    """

    views: tuple[View, ...] = DEFAULT_VIEWS
    distorted_images: bool = False
    queue_bytes: int = ranged(268_435_456, 1_000_000, 8_000_000_000)
    compression: Compression = Compression.ZSTD


@dataclass(frozen=True, slots=True)
class PlaybackParameters:
    """The playback of a recorded trial.

    Attributes:
        recording: The recorded trial, absolute path.
        out: The new recording, absolute path.
        has_vlm: Whether a VLM answers. Follows from vlm_node.
        views: The cameras.
        managed_nodes: Lifecycle nodes that the playback configures and activates.
        start_deadline_s: Longest start of all nodes [s, real time].
        reply_deadline_s: Longest wait for a service or a verdict [s, real time].
        drain_s: Time for messages to reach the recorder before it is closed [s, real time].
    """

    recording: str = ""
    out: str = ""
    has_vlm: bool = True
    views: tuple[View, ...] = DEFAULT_VIEWS
    managed_nodes: tuple[str, ...] = ("gate_node", "vlm_node", "vla_node")
    start_deadline_s: float = ranged(60.0, 1.0, 3600.0)
    reply_deadline_s: float = ranged(20.0, 0.1, 3600.0)
    drain_s: float = ranged(0.5, 0.0, 60.0)
