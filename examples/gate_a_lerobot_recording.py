"""A robot of LeRobot that holds its position while its images do not pass.

Give `GatedRobot` to LeRobot's `record_loop` instead of the robot:

    robot = GatedRobot(make_robot_from_config(config), Gate("mine.yaml"), {"laptop": "top", "phone": "wrist"})
    record_loop(robot=robot, ...)

The loop reads an observation, decides, and sends an action, in this order; a policy that takes longer than
a lease lasts (`LeaseOptions(ttl_s=...)`) holds, too. A hold sends the positions that were observed, for arms
whose actions are positions, such as SO-100 and SO-101: an action has the keys of the observation.

It wraps the robot and is no `ProcessorStep`: a step gets an observation without the time at which it was
taken, and a lease counts from there.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from embodied_iqa import Gate, GateOptions, LeaseOptions

LEASE = LeaseOptions(ttl_s=0.25)


class GatedRobot:
    """Any robot of LeRobot: `get_observation` judges its images, `send_action` asks the gate.

    Args:
        robot: The robot.
        gate: Judges its images.
        cameras: Key of an observation to name of the camera in the calibration.
        clock_ns: Time in nanoseconds.
    """

    def __init__(
        self,
        robot: Any,
        gate: Gate,
        cameras: Mapping[str, str],
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._robot, self._gate, self._cameras, self._clock_ns = robot, gate, cameras, clock_ns
        self._seen: dict[str, Any] | None = None
        self.held: list[str] = []
        """Why actions were not sent, for the notes of the recording."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._robot, name)

    def get_observation(self) -> dict[str, Any]:
        stamp_ns = self._clock_ns()  # before the images: a lease must not begin later than they do
        observation: dict[str, Any] = self._robot.get_observation()
        images = {view: observation[key] for key, view in self._cameras.items()}
        self._gate.judge_views(images, stamp_ns)
        self._seen = observation
        return observation

    def send_action(self, action: dict[str, Any]) -> Any:
        permission = self._gate.permission(self._clock_ns(), self._cameras.values())
        if not permission.reason:
            return self._robot.send_action(action)
        self.held.append(permission.reason)
        if self._seen is None:
            raise RuntimeError("an action before the first observation")
        return self._robot.send_action({key: self._seen[key] for key in action})


def gated(robot: Any, calibration: str, cameras: Mapping[str, str]) -> GatedRobot:
    """Return a robot of LeRobot behind a gate with a calibration of its cameras."""
    return GatedRobot(robot, Gate(calibration, GateOptions(lease=LEASE)), cameras)
