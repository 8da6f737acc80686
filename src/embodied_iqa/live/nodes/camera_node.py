"""Camera node: publishes the images of its source; the table of sources is `runs.graph.camera_sources`."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image

from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.live.cameras.camera_poses import fix_cameras
from embodied_iqa.live.cameras.camera_rig import CameraFeed, CameraRig
from embodied_iqa.live.ros.conversion import frame_to_msgs, optical_frame
from embodied_iqa.live.ros.node import BaseNode, Health, leave, main_of
from embodied_iqa.live.ros.qos import IMAGE
from embodied_iqa.live.ros.transforms import FrameBroadcaster
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


class CameraNode(BaseNode[CameraParameters]):
    """Publishes /camera/<view>/image_raw, camera_info and pose, all with the stamp of the image."""

    changeable = frozenset({"frames.publish"})

    def __init__(self) -> None:
        super().__init__("camera_node", CameraParameters)
        views = self.config.views
        self._images = self.create_publishers(Image, "camera/{view}/image_raw", views, IMAGE)
        self._infos = self.create_publishers(CameraInfo, "camera/{view}/camera_info", views, IMAGE)
        self._poses = self.create_publishers(PoseStamped, "camera/{view}/pose", views, IMAGE)
        self._counts = dict.fromkeys(views, 0)
        self._broadcaster = FrameBroadcaster(self, self.config.frames.publish)
        self._fixed = fix_cameras(self.config, self._broadcaster.fix)
        open_feed = load(self.config.source.opener)
        self._feed: CameraFeed = open_feed(CameraRig(self, self.config, self._publish))

    def health(self) -> Health:
        """Return the state of the source, and the number of published images."""
        health = self._feed.health()
        counts = {f"{view} images": count for view, count in self._counts.items()}
        values = counts | health.values | {"frames": self._broadcaster.state}
        return Health(health.level, health.message, values)

    def why_not(self, wanted: CameraParameters) -> str:
        """Return why frames cannot be published; empty where they can."""
        return self._broadcaster.why_not(wanted.frames.publish)

    def changed(self) -> None:
        """Publish the frames, or no more."""
        self._broadcaster.set(self.config.frames.publish)

    def destroy_node(self) -> None:
        """Close the cameras."""
        self._feed.close()
        super().destroy_node()

    def _publish(self, frame: Frame) -> None:
        view, base = frame.view, self.config.frames.base
        info, pose, image = frame_to_msgs(frame, base)
        self._infos[view].publish(info)
        self._poses[view].publish(pose)
        self._images[view].publish(image)
        self._counts[view] += 1
        if frame.T_base_camera is not None and view not in self._fixed:
            self._broadcaster.send(base, optical_frame(view), frame.T_base_camera, frame.stamp_ns)


def main() -> int:
    """Run the node."""
    return main_of(CameraNode)


if __name__ == "__main__":
    leave(main())
