"""A world of your own: a tool comes down to a mark. Use: experiment --world python:own_world:make"""

from collections.abc import Mapping, Sequence

import numpy as np

from embodied_iqa import Frame, Intrinsics, View, World, WorldObservation, WorldTask

WIDTH_PX, HEIGHT_PX = 640, 480
STEP_NS = 100_000_000
DOWN = np.diag([1.0, -1.0, -1.0])
"""Axes of a tool that points down, in the base frame."""


class DescentWorld:
    """No physics: each increment moves the tool at once. The mark is 2 cm below the start."""

    name = "descent"
    version = "1"
    views = (View.TOP,)
    rate_hz = None
    violation = ""
    tasks = (WorldTask("come down", "come down to the mark", states=5, horizon=20),)

    def __init__(self) -> None:
        self.time_ns = 0
        self._T_base_tool = np.eye(4)
        self._mark_m = 0.0

    @property
    def success(self) -> bool:
        return bool(self._T_base_tool[2, 3] <= self._mark_m)

    def open(self, task: WorldTask, state: int) -> None:
        self._T_base_tool = np.eye(4)
        self._T_base_tool[:3, :3] = DOWN
        self._T_base_tool[2, 3] = 0.30 + 0.01 * state  # metres
        self._mark_m = self._T_base_tool[2, 3] - 0.02
        self.time_ns = 0

    def observe(self, views: Sequence[View]) -> WorldObservation:
        frames = {view: self._frame(view) for view in views}
        return WorldObservation(frames, self._T_base_tool.copy(), gripper=0.0)

    def step(self, increments: np.ndarray, T_base_tool: np.ndarray) -> int:
        executed = 0
        for increment in increments:
            self._T_base_tool[:3, 3] += self._T_base_tool[:3, :3] @ increment[:3]
            self.time_ns += STEP_NS
            executed += 1
            if self.success:
                break
        return executed

    def objects(self) -> Mapping[str, np.ndarray]:
        return {}

    def close(self) -> None:
        """Nothing to release."""

    def _frame(self, view: View) -> Frame:
        rgb = np.full((HEIGHT_PX, WIDTH_PX, 3), 90, np.uint8)
        left_m = self._T_base_tool[2, 3] - self._mark_m
        row = HEIGHT_PX // 2 - round(2000 * left_m)  # 2 px a millimetre
        rgb[max(row, 0) : max(row, 0) + 40, 300:340] = (30, 30, 160)
        rgb[HEIGHT_PX // 2 + 40 :, :] = (160, 120, 60)
        intrinsics = Intrinsics(WIDTH_PX, HEIGHT_PX, 600.0, 600.0, WIDTH_PX / 2, HEIGHT_PX / 2)
        return Frame(view, self.time_ns, rgb, intrinsics, np.eye(4))


def make() -> World:
    return DescentWorld()
