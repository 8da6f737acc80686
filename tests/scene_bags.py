"""Recordings of clean images, one scene each, to fit a gate to `gate_policy`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.quality.gate.fitting import split
from trial_recording import Recorder, stamp_ns, start_ns

SCENES = 14
WIDTH_PX, HEIGHT_PX = 128, 96


def scene(number: int, frame: int = 0) -> NDArray[np.uint8]:
    """Return an image of coloured blocks."""
    rng = np.random.default_rng([number, frame])
    blobs = rng.integers(40, 216, (HEIGHT_PX // 8, WIDTH_PX // 8, 3)).repeat(8, axis=0).repeat(8, axis=1)
    return np.clip(blobs + rng.integers(-6, 7, blobs.shape), 0, 255).astype(np.uint8)


@dataclass
class SceneRecorder(Recorder):
    """Every recording shows another scene, in images that are large enough for a database."""

    number: int = 0

    def camera(self, view: View, run: int, frame: int, *, pose_late: bool) -> NDArray[np.uint8]:
        """Record the messages of one frame."""
        del pose_late
        stamp, topic, rgb = stamp_ns(run, frame), f"/camera/{view}", scene(self.number, frame)
        k = [140.0, 0.0, 63.5, 0.0, 140.0, 47.5, 0.0, 0.0, 1.0]
        size = {"width": WIDTH_PX, "height": HEIGHT_PX}
        self.send(f"{topic}/camera_info", "sensor_msgs/msg/CameraInfo", stamp, k=k, **size)
        self.writer.add_channel(f"{topic}/image_raw", "sensor_msgs/msg/Image")
        self.writer.write(f"{topic}/image_raw", image_to_cdr(rgb, stamp, "x"), stamp + 2)
        self.send(f"{topic}/pose", "geometry_msgs/msg/PoseStamped", stamp, pose=self.pose(0.5))
        return rgb


def scene_bags(folder: Path) -> Path:
    """Write a recording of each scene, with one decision each; return the folder."""
    for number in range(SCENES):
        path = folder / f"run{number:02d}" / "task" / "trial.mcap"
        path.parent.mkdir(parents=True)
        recorder = SceneRecorder(path, number=number)
        recorder.event(1, 0, start_ns(0), None)
        recorder.frame(0, 0, None, decides=True)
        recorder.event(3, 0, stamp_ns(0, 1), None, outcome=1, reason="done", frames_published=2)
        recorder.close()
    return folder


def allow_few_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a fit train on seven scenes and check on three."""
    monkeypatch.setattr(split, "_FEWEST_TRAINING", 7)
    monkeypatch.setattr(split, "_FEWEST_CHECKED", 3)
