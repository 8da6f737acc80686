"""A control loop with a policy of openpi: the policy is asked, and each action sent, only under a lease.

python examples/gate_an_openpi_client.py --host gpu --calibration mine.yaml

`Robot` stands for your robot; its black images are held. It needs a server of openpi that runs, and `pip
install openpi-client typing_extensions`: openpi-client 0.1.2 imports the second without asking for it. To
leave the client as it is, put `embodied-iqa gate proxy` in front of the policy server instead
(docs/gate-proxy.md); then nothing is judged between the actions of a chunk.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import embodied_iqa
from embodied_iqa import GateOptions, LeaseOptions

CAMERAS = {"observation/exterior_image_1_left": "top", "observation/wrist_image_left": "wrist"}
"""Images of an observation, and the names of their cameras in the calibration."""
PERIOD_S = 1 / 15
STEPS = 8
"""Actions of a chunk that are executed."""
LEASE = LeaseOptions(ttl_s=0.2)
"""An image is good for three periods."""


class Robot:
    """Replace it: images and state in, one action out."""

    def observe(self) -> dict[str, Any]:
        black = np.zeros((224, 224, 3), np.uint8)
        return {**dict.fromkeys(CAMERAS, black), "prompt": "pick up the cube"}

    def act(self, action: Any) -> None:
        print("action", action)

    def hold(self, reason: str) -> None:
        print("hold:", reason)


def judged(robot: Robot, gate: embodied_iqa.Gate) -> dict[str, Any]:
    """Return a new observation, whose images are judged."""
    stamp_ns = time.time_ns()  # before the images: a lease must not begin later than they do
    observation = robot.observe()
    gate.judge_views({view: observation[key] for key, view in CAMERAS.items()}, stamp_ns)
    return observation


def run(
    robot: Robot,
    policy: Any,
    gate: embodied_iqa.Gate,
    periods: int,
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Control the robot; each action needs images that were judged in its own period."""
    chunk: list[Any] = []
    for _ in range(periods):
        observation = judged(robot, gate)
        if gate.allows() and not chunk:
            chunk = list(policy.infer(observation)["actions"][:STEPS])
            judged(robot, gate)  # the policy took its time
        permission = gate.permission()
        if permission.reason:
            robot.hold(permission.reason)
            chunk = []  # out of date
        elif chunk:
            robot.act(chunk.pop(0))
        wait(PERIOD_S)


def main() -> None:
    parser = argparse.ArgumentParser(description="A policy of openpi behind the gate.")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--calibration", required=True, help="file of `embodied-iqa gate calibrate`")
    words = parser.parse_args()
    try:
        gate = embodied_iqa.Gate(words.calibration, GateOptions(lease=LEASE))
    except embodied_iqa.UserError as error:
        parser.exit(error.exit_code, f"{error}\n")
    try:
        from openpi_client.websocket_client_policy import WebsocketClientPolicy  # noqa: PLC0415 - the loop itself needs no openpi
    except ImportError as error:
        parser.exit(1, f"{error}: pip install openpi-client typing_extensions\n")
    try:
        try:
            policy = WebsocketClientPolicy(words.host, words.port)
        except OSError as error:
            parser.exit(1, f"no policy server at {words.host}:{words.port}: {error}\n")
        run(Robot(), policy, gate, periods=10_000)
    except KeyboardInterrupt:
        parser.exit(130)


if __name__ == "__main__":
    main()
