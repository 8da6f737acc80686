"""Draws the image of docs/reference/camera-model.md: rendered images beside those of the camera model.

python benchmarks/draw_cameras.py --out docs/images/cameras.webp
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import Light, make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, nominal_snapshot
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer

SIZE_PX: Final = (640, 480)
CUT_PX: Final = 96
ZOOM: Final = 5
GAP_PX: Final = 6
PERIOD_NS: Final = 66_666_667
TURN_RAD: Final = 0.03
"""Of the base joint from one image to the next: 0.18 m/s at the tool."""
SCENES: Final = ((3, View.TOP, 1.0, 0.0), (5, View.WRIST, 1.0, TURN_RAD), (4, View.SIDE, 0.12, 0.0))
"""Seed, camera, brightness of the lamps, turn."""


def pair(
    seed: int, view: View, brightness: float, turn_rad: float
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the rendered image and that of the camera model."""
    scene = replace(make_scene(seed), light=Light(brightness=brightness))
    states = []
    for index in range(2):
        q_rad = (HOME_Q_RAD[0] + index * turn_rad, *HOME_Q_RAD[1:])
        states.append(WorldSnapshot(index * PERIOD_NS, nominal_snapshot(scene, q_rad).qpos))
    with SceneRenderer(scene, *SIZE_PX) as renderer:
        cameras = SimulatedCameras(renderer, CameraModel.D455, (view,))
        shot = [cameras.take(state) for state in states][-1]
        return renderer.frame(view, states[-1]).rgb, cameras.frame(view, shot).rgb


def row(images: tuple[NDArray[np.uint8], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return both images and an enlarged part of each, around the most colourful place."""
    colour = cv2.boxFilter(np.ptp(images[0], axis=2).astype(np.float32), -1, (CUT_PX, CUT_PX))
    half = CUT_PX // 2
    y, x = np.unravel_index(
        colour[half:-half, half:-half].argmax(), (SIZE_PX[1] - CUT_PX, SIZE_PX[0] - CUT_PX)
    )
    parts = []
    for rgb in images:
        cut = cv2.resize(
            rgb[y : y + CUT_PX, x : x + CUT_PX], None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_NEAREST
        )
        parts += [rgb, np.full((SIZE_PX[1], GAP_PX, 3), 255, np.uint8), cut]
        parts.append(np.full((SIZE_PX[1], 3 * GAP_PX, 3), 255, np.uint8))
    return np.hstack(parts[:-1]).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images/cameras.webp"))
    arguments = parser.parse_args()
    rows = [row(pair(*scene)) for scene in SCENES]
    gap = np.full((GAP_PX, rows[0].shape[1], 3), 255, np.uint8)
    sheet = np.vstack([part for image in rows for part in (image, gap)][:-1])
    shown = cv2.resize(sheet, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(arguments.out), cv2.cvtColor(shown, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_WEBP_QUALITY, 82])
    print(arguments.out)


if __name__ == "__main__":
    main()
