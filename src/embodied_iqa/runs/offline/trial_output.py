"""Writes a run that nobody executed as the recording of a trial, which reports and readers take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.kinematics.se3 import matrix_to_quaternion
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.trial_reading import METADATA
from embodied_iqa.data.recording.trial_record import AnswerRecord, ChunkRecord, VerdictRecord
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.distortions import DistortionSpec, entry
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View, pinhole_lens
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.world.protocols import ChunkStatus

_OURS: Final = "embodied_iqa_msgs/msg"
_EVENTS: Final = "/trial/events"
_INFO: Final = "sensor_msgs/msg/CameraInfo"
_POSE: Final = "geometry_msgs/msg/PoseStamped"
_RUN_START, _RUN_END = 1, 3
_STATUSES: Final = {ChunkStatus.ACT: 0, ChunkStatus.DONE: 1, ChunkStatus.NO_TARGET: 2, None: 3}
_MODES: Final = {GateMode.ON: 0, GateMode.SHADOW: 1, GateMode.OFF: 2}
_AXES: Final = ("x", "y", "z", "rx", "ry", "rz", "gripper")


class TrialOutput:
    """A recording of one run; images, answers, decisions and verdicts are written as they come.

    Args:
        path: The file.
        task: The instruction.
        distortion: Of the run; None for the images as they were recorded.
        start_ns: Stamp of the first image.
        metadata: Stored with the recording.

    Raises:
        RecordingWriteError: The file exists, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        task: str,
        distortion: DistortionSpec | None,
        start_ns: int,
        metadata: Mapping[str, str],
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._task, self._spec = path, task, distortion
        self._types = TypeStore()
        self._writer = TrialWriter(path, types=self._types)
        self._last_ns, self._images = start_ns, 0
        try:
            self._writer.add_metadata(METADATA, dict(metadata))
            self._event(_RUN_START, start_ns)
        except BaseException:
            self.discard()
            raise

    def image(self, frame: Frame) -> None:
        """Add an undistorted image, with what is known of its camera."""
        view, stamp_ns, rgb, model = frame.view, frame.stamp_ns, frame.rgb, frame.intrinsics
        if model is not None:
            lens = pinhole_lens(model)
            size = {"width": model.width_px, "height": model.height_px, "distortion_model": lens.model}
            matrices = {"d": lens.d, "k": lens.k, "r": lens.r, "p": lens.p}
            self._send_kind(f"/camera/{view}/camera_info", _INFO, stamp_ns, **size, **matrices)
        if frame.T_base_camera is not None:
            self._send_kind(f"/camera/{view}/pose", _POSE, stamp_ns, pose=self._pose(frame.T_base_camera))
        topic = f"/camera/{view}/image_raw"
        self._writer.add_channel(topic, IMAGE_TYPE)
        self._writer.write(topic, image_to_cdr(rgb, stamp_ns, str(view)), stamp_ns)
        self._last_ns = max(self._last_ns, stamp_ns)
        self._images += 1

    def depth(self, view: View, stamp_ns: int, depth_mm: NDArray[np.uint16]) -> None:
        """Add the depth of an image, ``(H, W)`` in mm, on the topic that a live camera has for it."""
        height, width = depth_mm.shape
        size = {"height": height, "width": width, "step": 2 * width}
        data = np.ascontiguousarray(depth_mm, "<u2").tobytes()
        topic = f"/camera/{view}/depth/image_raw"
        self._send_kind(topic, IMAGE_TYPE, stamp_ns, encoding="16UC1", data=data, **size)

    def verdict(self, record: VerdictRecord, mode: GateMode) -> None:
        """Add a verdict of the gate."""
        fields = {"view": str(record.view), "reason": record.reason, "verdict": int(record.verdict)}
        predicted = {name: _or_nan(getattr(record, name)) for name in ("predicted", "threshold")}
        self._send(
            "/gate/quality",
            "ImageQuality",
            record.stamp_ns,
            latency_ms=record.latency_ms,
            wrong_motion=math.nan,
            **predicted,
            **fields,
        )
        granted = {"judged": fields["verdict"], "mode": _MODES[mode]}
        self._send("/gate/lease", "GateLease", record.stamp_ns, **granted, **fields)

    def answer(self, said: AnswerRecord) -> None:
        """Add an answer of a VLM."""
        fields = {
            name: getattr(said, name) for name in ("answer", "subject", "subject_version", "latency_ms")
        }
        place = {"view": str(said.view), "source": int(said.source)}
        self._send("/vlm/answer", "VlmAnswer", said.stamp_ns, task=self._task, **place, **fields)

    def decision(self, chunk: ChunkRecord) -> None:
        """Add a decision of a VLA."""
        rows = [
            self._types.new(f"{_OURS}/ActionIncrement", **dict(zip(_AXES, map(float, row), strict=True)))
            for row in chunk.increments
        ]
        u, v = chunk.target_px or (math.nan, math.nan)
        names = ("sequence", "step", "gripper", "reason", "subject", "subject_version", "latency_ms")
        self._send(
            "/vla/reference_actions" if chunk.source is Source.RAW else "/vla/actions",
            "ActionChunk",
            chunk.stamp_ns,
            view=str(chunk.view),
            other_views=[str(view) for view, _ in chunk.other_frames],
            other_stamps=[self._types.time(stamp_ns) for _, stamp_ns in chunk.other_frames],
            source=int(chunk.source),
            status=_STATUSES[chunk.status],
            task=self._task,
            tool_pose=self._pose(chunk.T_base_tool),
            increments=rows,
            target_u=u,
            target_v=v,
            seen=_or_nan(chunk.seen),
            **{name: getattr(chunk, name) for name in names},
        )

    def close(self, reason: str) -> None:
        """End the run and the file.

        Args:
            reason: Why it has no outcome.
        """
        self._event(_RUN_END, self._last_ns, reason=reason, frames_published=self._images)
        self._writer.close()

    def rest(self) -> None:
        """Close the file until more is added."""
        self._writer.rest()

    def discard(self) -> None:
        """Remove the file, and its folder if nothing else is in it."""
        self._writer.discard()
        with suppress(OSError):
            self.path.parent.rmdir()

    def _event(self, kind: int, stamp_ns: int, **fields: Any) -> None:
        spec = self._spec
        state = {} if spec is None else {**asdict(spec), "name": entry(spec.id).name}
        distortion = self._types.new(f"{_OURS}/DistortionState", **state)
        number = 0 if spec is None else 1
        self._send(
            _EVENTS,
            "TrialEvent",
            stamp_ns,
            kind=kind,
            run_index=number,
            run_count=number + 1,
            task=self._task,
            distortion=distortion,
            tool_pose=self._pose(np.eye(4)),
            **fields,
        )

    def _pose(self, T: NDArray[np.float64]) -> Any:
        place = dict(zip("xyz", map(float, T[:3, 3]), strict=True))
        point = self._types.new("geometry_msgs/msg/Point", **place)
        turn = dict(zip("xyzw", map(float, matrix_to_quaternion(T[:3, :3])), strict=True))
        orientation = self._types.new("geometry_msgs/msg/Quaternion", **turn)
        return self._types.new("geometry_msgs/msg/Pose", position=point, orientation=orientation)

    def _send(self, topic: str, name: str, stamp_ns: int, /, **fields: Any) -> None:
        self._send_kind(topic, f"{_OURS}/{name}", stamp_ns, **fields)

    def _send_kind(self, topic: str, kind: str, stamp_ns: int, /, **fields: Any) -> None:
        message = self._types.new(kind, header=self._types.header(stamp_ns), **fields)
        self._writer.add_channel(topic, kind)
        self._writer.write(topic, self._types.serialise(message), stamp_ns)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
