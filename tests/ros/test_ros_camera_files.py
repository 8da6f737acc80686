"""camera_node with stored images: they do not run out before a run, and each run shows all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from embodied_iqa_msgs.msg import TrialEvent
from sensor_msgs.msg import Image

from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.image_cdr import image_from_cdr
from embodied_iqa.live.ros.qos import EVENT
from ros_graph import EVERY, RosGraph

IMAGES = 3


def test_stored_images_play_in_each_run(ros_domain: int, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(IMAGES):
        write_image(tmp_path / "images" / f"{number}.png", np.full((48, 64, 3), number, np.uint8))
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "files",
        "camera_node.path": str(tmp_path / "images"),
        "camera_node.rate_hz": 30.0,
        "camera_node.views": ["top"],
    }
    with RosGraph(ros_domain, tmp_path / "log", ["camera_node"], overrides) as graph:
        arrived = graph.subscribe_raw(Image, "/camera/top/image_raw", EVERY)  # one image is shown once

        def shown() -> list[int]:
            return [int(image_from_cdr(cdr).rgb[0, 0, 0]) for cdr in arrived.messages]

        graph.wait(lambda: len(arrived) > 3 * IMAGES, "images before a run")
        assert set(shown()) == {0}
        events = graph.publisher(TrialEvent, "/trial/events", EVENT)
        for _run in range(2):
            arrived.messages.clear()
            events.publish(TrialEvent(kind=TrialEvent.KIND_RUN_START))
            graph.wait(lambda: shown().count(IMAGES - 1) > IMAGES, "the last image, repeatedly")
            assert shown() == sorted(shown())
            assert set(shown()) == set(range(IMAGES))
            events.publish(TrialEvent(kind=TrialEvent.KIND_RUN_END))
            graph.wait(lambda: shown()[-1] == 0, "the first image again")
