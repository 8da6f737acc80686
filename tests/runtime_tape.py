"""What the parity tests share: made-up frames, and a recording of messages in their order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from embodied_iqa_msgs.msg import GateLease, TrialEvent
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CameraInfo

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import camera_info_of, header_of, pose_of, state_to_msg
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from trial_recording import type_store

START_NS = 1_000_000_000_000
PERIOD_NS = 66_666_667
INTRINSICS = Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5)
SNAPSHOT = WorldSnapshot(0, np.zeros(8))
_MODES = {
    GateMode.ON: GateLease.MODE_ON,
    GateMode.SHADOW: GateLease.MODE_SHADOW,
    GateMode.OFF: GateLease.MODE_OFF,
}


def ideal_cameras(image: Callable[[View, int], NDArray[np.uint8]]) -> SimulatedCameras:
    """Cameras that show given images."""

    def frame(view: View, snapshot: WorldSnapshot) -> Frame:
        rgb = image(view, snapshot.time_ns)
        return Frame(view, snapshot.time_ns, rgb, INTRINSICS, np.eye(4))

    renderer: Any = SimpleNamespace(frame=frame)
    return SimulatedCameras(renderer, CameraModel.IDEAL, CELL_VIEWS)


class Tape:
    """Records one run, message by message; their order is that in which they are written.

    Args:
        path: Of the recording.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = TrialWriter(path, types=type_store())
        self._arrived_ns = START_NS

    def write(self, topic: str, message: Any) -> None:
        package, kind = type(message).__module__.split(".")[0], type(message).__name__
        self._put(topic, f"{package}/msg/{kind}", serialize_message(message))

    def begin(
        self, mode: GateMode, start_ns: int = START_NS, distortion: DistortionSpec | None = None
    ) -> None:
        state = state_to_msg(distortion, start_ns, start_ns)
        self.event(TrialEvent.KIND_RUN_START, start_ns, distortion=state)
        self.write("/gate/lease", GateLease(header=header_of(start_ns), view="top", mode=_MODES[mode]))

    def end(self, end_ns: int) -> Path:
        self.event(TrialEvent.KIND_RUN_END, end_ns, outcome=1)
        self._writer.close()
        return self._path

    def event(self, kind: int, stamp_ns: int, **fields: Any) -> None:
        words = {"task": "pick the red cube", "scene_seed": 7, "tool_pose": pose_of(np.eye(4))}
        self.write("/trial/events", TrialEvent(header=header_of(stamp_ns), kind=kind, **words, **fields))

    def frame(self, view: View, stamp_ns: int, rgb: NDArray[np.uint8]) -> None:
        info: CameraInfo = camera_info_of(INTRINSICS)
        info.header = header_of(stamp_ns)
        self.write(f"/camera/{view}/camera_info", info)
        self.write(f"/camera/{view}/pose", PoseStamped(header=header_of(stamp_ns), pose=pose_of(np.eye(4))))
        self._put(
            f"/camera/{view}/image_raw", "sensor_msgs/msg/Image", image_to_cdr(rgb, stamp_ns, str(view))
        )

    def _put(self, topic: str, type_name: str, cdr: bytes) -> None:
        self._arrived_ns += 1_000
        self._writer.add_channel(topic, type_name)
        self._writer.write(topic, cdr, self._arrived_ns)
