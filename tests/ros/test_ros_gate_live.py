"""`gate calibrate --live` beside a foreign publisher: Ctrl-C calibrates from what has come."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import numpy as np
from sensor_msgs.msg import Image

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.cell.image_topics import TopicImages
from embodied_iqa.live.ros.conversion import header_of
from embodied_iqa.live.ros.qos import NEWEST_SENSOR
from embodied_iqa.quality.gate.calibration_file import load_calibrations
from gated_policies import scene_image
from live_process import COMPLETION_S, running_program
from ros_graph import RosGraph

TOPIC, WANTED = "/front/color/image_raw", 25


def test_a_topic_calibrates_until_ctrl_c(ros_domain: int, tmp_path: Path) -> None:
    spool, output = tmp_path / "spool", tmp_path / "mine.yaml"
    spool.mkdir()
    words = ["gate", "calibrate", "--live", "--topic", f"top={TOPIC}", "--seconds", "3600"]
    command = [sys.executable, "-m", "embodied_iqa.cli.main", *words, "--out", str(output)]
    environment = {"TMPDIR": str(spool), "ROS_DOMAIN_ID": str(ros_domain)}
    with (
        RosGraph(ros_domain, tmp_path, []) as graph,
        running_program(command, tmp_path / "logs", environment) as program,
    ):
        wrong = TopicImages(graph.node, graph.node.executor, {f"{TOPIC}s": View.TOP}, print)
        camera = graph.publisher(Image, TOPIC, NEWEST_SENSOR)
        sent = iter(range(10**9))

        def publish() -> None:
            rgb = scene_image(next(sent))
            header = header_of(graph.node.get_clock().now().nanoseconds)
            image = Image(header=header, height=64, width=64, encoding="rgb8", step=192, data=rgb.tobytes())
            camera.publish(image)

        graph.node.create_timer(0.05, publish)
        graph.wait(lambda: len(list(spool.rglob("*.png"))) >= WANTED, "images of the topic")
        assert wrong.why_silent(View.TOP) == f"nobody publishes it; images are on {TOPIC}"
        program.process.send_signal(signal.SIGINT)
        assert program.wait(COMPLETION_S) == 0
        assert "interrupted; calibrating from what there is" in program.stderr
    (made,) = load_calibrations(output)
    assert (made.view, made.width_px, made.n_frames >= WANTED) == (View.TOP, 64, True)
    assert not list(spool.rglob("*.png")), "nothing is left behind"
    assert np.isfinite(made.bounds["sharpness"].soft_low)
