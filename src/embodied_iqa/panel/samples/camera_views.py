"""Where a camera has the objects of a scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame
from embodied_iqa.manipulation.shapes import SHAPES
from embodied_iqa.panel.answers import VisibleThing
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.subjects.backends.panel.format import ABSENT

__all__ = ["object_marks", "visible_things"]

_NEAR_M = 0.01


def object_marks(scene: Scene, frame: Frame) -> NDArray[np.float64]:
    """Return ``(n, 2)``: where the centres of standing objects appear, (u, v) in [0, 1] in the picture."""
    centres = np.array([[item.x_m, item.y_m, SHAPES[item.kind].height_m / 2, 1.0] for item in scene.objects])
    x, y, z, _ = np.linalg.inv(frame.T_base_camera) @ centres.T
    size = frame.intrinsics
    ahead = np.maximum(z, _NEAR_M)
    u = (size.fx_px * x / ahead + size.cx_px + 0.5) / size.width_px
    v = (size.fy_px * y / ahead + size.cy_px + 0.5) / size.height_px
    marks: NDArray[np.float64] = np.clip(np.stack([u, v], axis=1), -1.0, 2.0)
    return np.where((z > _NEAR_M)[:, None], marks, ABSENT)


def visible_things(scene: Scene, frame: Frame) -> list[VisibleThing]:
    """Return the objects of a scene at rest as a camera has them."""
    marks = object_marks(scene, frame)
    return [
        VisibleThing(item.colour, item.kind, float(u), float(v), item.x_m, item.y_m)
        for item, (u, v) in zip(scene.objects, marks, strict=True)
    ]
