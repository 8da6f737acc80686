"""A camera driver as others write them: plain rclpy, best effort, CameraInfo beside the images.

`python -m foreign_camera front` runs one; several run freely, each with stamps of its own.
"""

import sys
import zlib

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, Image

WIDTH, HEIGHT, RATE_HZ = 320, 240, 15.0
SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class ForeignCamera(Node):
    """Publishes /lab/NAME/image_raw and camera_info: a table with some blocks, and a little noise."""

    def __init__(self, name: str) -> None:
        super().__init__(f"lab_{name}")
        self._frame = f"lab_{name}_optical_frame"
        self._images = self.create_publisher(Image, f"/lab/{name}/image_raw", SENSOR)
        self._infos = self.create_publisher(CameraInfo, f"/lab/{name}/camera_info", SENSOR)
        self._random = np.random.default_rng(zlib.crc32(name.encode()))
        table = self._random.integers(60, 200, (HEIGHT // 20, WIDTH // 20, 3))
        self._table = table.repeat(20, 0).repeat(20, 1).astype(np.int16)
        self.create_timer(1.0 / RATE_HZ, self._shoot)

    def _shoot(self) -> None:
        noise = self._random.integers(-4, 5, self._table.shape, dtype=np.int16)
        bgr = np.clip(self._table + noise, 0, 255).astype(np.uint8)
        image = Image(height=HEIGHT, width=WIDTH, encoding="bgr8", step=3 * WIDTH, data=bgr.tobytes())
        image.header.frame_id = self._frame
        image.header.stamp = self.get_clock().now().to_msg()
        focal, u, v = 260.0, WIDTH / 2, HEIGHT / 2
        info = CameraInfo(
            header=image.header,
            height=HEIGHT,
            width=WIDTH,
            distortion_model="plumb_bob",
            d=[0.0] * 5,
            k=[focal, 0.0, u, 0.0, focal, v, 0.0, 0.0, 1.0],
            r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p=[focal, 0.0, u, 0.0, 0.0, focal, v, 0.0, 0.0, 0.0, 1.0, 0.0],
        )
        self._infos.publish(info)
        self._images.publish(image)


if __name__ == "__main__":
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # SIGTERM just ends it
    camera = ForeignCamera(sys.argv[1])
    print("ready", flush=True)
    rclpy.spin(camera)
