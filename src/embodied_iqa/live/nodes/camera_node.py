"""Camera node: simulated cameras, RealSense, image files or a recording."""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from embodied_iqa_msgs.msg import SimState, TrialEvent
from geometry_msgs.msg import PoseStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.base.lazy import load
from embodied_iqa.base.user_code import own_code
from embodied_iqa.data.recording.errors import WrongPoseError
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Camera, Frame, View
from embodied_iqa.imaging.images.hand_eye import PoseHistory
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.imaging.images.realsense import RgbdFrame
from embodied_iqa.imaging.images.run_playback import RunPlayback
from embodied_iqa.live.ros.camera_sources import open_cameras, open_realsense
from embodied_iqa.live.ros.conversion import (
    camera_info_of,
    depth_to_msg,
    header_of,
    ns_of,
    optical_frame,
    pose_of,
    uncalibrated_info,
    unknown_pose,
)
from embodied_iqa.live.ros.frames import tool_pose_of
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.live_cameras import LiveCameras
from embodied_iqa.live.ros.node import BaseNode, Health, leave, main_of
from embodied_iqa.live.ros.qos import EVENT, LATCHED, PICTURE, STATE, picture_input
from embodied_iqa.runs.graph.camera_parameters import CameraParameters, CameraSource
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.tasks.instruction import parse_instruction

if TYPE_CHECKING:
    from embodied_iqa.world.simulation.camera.simulated_cameras import (
        SimulatedCameras,  # needs a graphics context
    )
    from embodied_iqa.world.simulation.renderer import SceneRenderer


class CameraNode(BaseNode[CameraParameters]):
    """Publishes /camera/<view>/image_raw, camera_info and pose, all with the stamp of the image."""

    def __init__(self) -> None:
        super().__init__("camera_node", CameraParameters)
        views = self.config.views
        self._pictures = self.create_publishers(Image, "/camera/{view}/image_raw", views, PICTURE)
        self._infos = self.create_publishers(CameraInfo, "/camera/{view}/camera_info", views, PICTURE)
        self._poses = self.create_publishers(PoseStamped, "/camera/{view}/pose", views, PICTURE)
        self._depths: dict[View, Publisher[Image]] = {}
        self._counts = dict.fromkeys(views, 0)
        self._latency_ms = 0.0
        self._late = LateCount()
        self._renderer: SceneRenderer | None = None
        self._scene_key: tuple[int, str] | None = None
        self._simulated: SimulatedCameras | None = None
        self._epoch = 0
        self._cameras: list[Camera] = []
        self._live: LiveCameras | None = None
        self._open()

    def health(self) -> Health:
        """Return the number of published images."""
        values: dict[str, object] = {f"{view} pictures": count for view, count in self._counts.items()}
        values |= {f"{camera.view} repeated": camera.repeated for camera in self._playbacks()}
        if self._simulated is not None:
            faults = self._simulated.faults.items()
            values |= {f"{view} {fault}": count for (view, fault), count in faults}
        if self._live is None:
            return Health(
                values=values | {"late": self._late.total, "latency_ms": round(self._latency_ms, 2)}
            )
        values |= self._live.health()
        if not self._live.failed:
            return Health(values=values)
        return Health(DiagnosticStatus.ERROR, "; ".join(self._live.failed.values()), values)

    def destroy_node(self) -> None:
        """Close the cameras."""
        if self._live is not None:
            self._live.close()
        if self._renderer is not None:
            self._renderer.close()
        super().destroy_node()

    def _open(self) -> None:
        if self.config.source is CameraSource.SIMULATED:
            qos = picture_input(newest_only=self.config.newest_only)
            self.create_subscription(SimState, "/sim/snapshot", self._late.counting(self._draw), qos)
            self.create_subscription(SimState, "/sim/status", self._renderer_of, LATCHED)
        elif self.config.source is CameraSource.REALSENSE:
            self._open_realsense()
        else:
            self._cameras = open_cameras(self.config, self._now_ns)
            self.create_timer(1.0 / self.config.rate_hz, self._read)
            self.create_subscription(TrialEvent, "/trial/events", self._follow_trial, EVENT)

    def _open_realsense(self) -> None:
        history = PoseHistory()
        cameras = open_realsense(self.config, self._now_ns, history)
        if View.WRIST in self.config.views:

            def note(pose: PoseStamped) -> None:
                if (T_base_tool := tool_pose_of(self, pose)) is not None:
                    history.add(ns_of(pose.header.stamp), T_base_tool)

            self.create_subscription(PoseStamped, "/arm/tool_pose", note, STATE)
        if self.config.realsense.depth:
            topic = "/camera/{view}/depth/image_raw"
            self._depths = self.create_publishers(Image, topic, self.config.views, PICTURE)
        self._live = LiveCameras(cameras, self._publish_rgbd, self.get_logger().info)

    def _now_ns(self) -> int:
        return self.get_clock().now().nanoseconds

    def _publish_rgbd(self, both: RgbdFrame) -> None:
        """Publish a frame of a live camera; called from the thread of the camera."""
        self._publish(both.frame)
        if both.depth is not None and both.frame.view in self._depths:
            self._depths[both.frame.view].publish(depth_to_msg(both))

    def _draw(self, state: SimState) -> None:
        """Render the snapshot."""
        began = perf_counter()
        cameras = self._cameras_of(state)
        stamp_ns = ns_of(state.header.stamp)
        shot = cameras.take(WorldSnapshot(stamp_ns, np.asarray(state.qpos, dtype=np.float64)))
        for view in self.config.views:
            if view not in shot.dropped:
                self._publish(cameras.frame(view, shot))
        self._latency_ms = (perf_counter() - began) * 1e3

    def _cameras_of(self, state: SimState) -> SimulatedCameras:
        """Return the cameras in the scene; their controls start anew when the world is reset."""
        renderer = self._renderer_of(state)
        if self._simulated is None or self._simulated.renderer is not renderer:
            make = load("embodied_iqa.world.simulation.camera.simulated_cameras:SimulatedCameras")
            self._simulated = make(renderer, self.config.model, self.config.views, self.config.faults)
        elif state.epoch != self._epoch:
            self._simulated.reset()
        self._epoch = state.epoch
        return self._simulated

    def _renderer_of(self, state: SimState) -> SceneRenderer:
        """Return the renderer of the scene; a scene is loaded as soon as the world reports it."""
        key = (state.scene_seed, state.instruction)
        if self._renderer is None or key != self._scene_key:
            instruction = parse_instruction(state.instruction) if state.instruction else None
            scene = make_scene(state.scene_seed, instruction)
            if self._renderer is None:
                # it needs a graphics context
                make = load("embodied_iqa.world.simulation.renderer:SceneRenderer")
                self._renderer = make(scene, self.config.width_px, self.config.height_px)
            else:
                self._renderer.load(scene)
            self._scene_key = key
        return self._renderer

    def _read(self) -> None:
        """Publish the next image of every camera; close a camera at its end."""
        is_own = self.config.source is CameraSource.PYTHON
        for camera in list(self._cameras):
            try:
                with own_code(f"camera {camera.view} failed") if is_own else nullcontext():
                    frame = camera.read(deadline_s=0.0)
            except EndOfFramesError as end:
                self.get_logger().warning(f"{camera.view}: {end}")
                self._cameras.remove(camera)
                camera.close()
                continue
            except WrongPoseError as error:
                self.get_logger().warning(f"{camera.view}: {error}", throttle_duration_sec=1.0)
                continue
            if frame is not None:
                self._publish(frame)

    def _playbacks(self) -> list[RunPlayback]:
        return [camera for camera in self._cameras if isinstance(camera, RunPlayback)]

    def _follow_trial(self, event: TrialEvent) -> None:
        """Play stored pictures in each run."""
        for camera in self._playbacks():
            if event.kind == TrialEvent.KIND_RUN_START:
                camera.play()
            elif event.kind in {TrialEvent.KIND_TRIAL_START, TrialEvent.KIND_RUN_END}:
                camera.rewind()

    def _publish(self, frame: Frame) -> None:
        view, stamp_ns, frame_id = frame.view, frame.stamp_ns, optical_frame(frame.view)
        known, T_base_camera = frame.intrinsics, frame.T_base_camera
        info = uncalibrated_info(*frame.size_px) if known is None else camera_info_of(known)
        pose = unknown_pose() if T_base_camera is None else pose_of(T_base_camera)
        info.header = header_of(stamp_ns, frame_id)
        self._infos[view].publish(info)
        self._poses[view].publish(PoseStamped(header=header_of(stamp_ns), pose=pose))
        self._pictures[view].publish(image_to_cdr(frame.rgb, stamp_ns, frame_id))
        self._counts[view] += 1


def main() -> int:
    """Run the node."""
    return main_of(CameraNode)


if __name__ == "__main__":
    leave(main())
