"""A robot of LeRobot that stops while its images do not pass: in a recording, or in an asynchronous client.

Import it from a script of yours, which has the robot; by itself it does nothing. LeRobot 0.6.1:

    robot = GatedRobot(make_robot_from_config(config), Gate("mine.yaml"), {"laptop": "top", "phone": "wrist"})
    record_loop(robot=robot, teleop=..., ...)

    client = RobotClient(config)
    gate_client(client, Gate("mine.yaml"), {"laptop": "top", "phone": "wrist"})  # before client.start()

`lerobot-record` and `lerobot-rollout` make robots of their own: neither can be gated like this.

It is for arms whose actions are positions, such as SO-100 and SO-101: a hold sends the positions that are
read when it begins, and to the gripper its last command; an action has the keys of the observation. After a
hold, a recording goes on where the teleoperator is by then: set the robot's `max_relative_target`.
`record_loop` stores the action of the teleoperator, also where the arm was held: `robot.held` says whether
an episode has such frames.

A lease counts from the reading. LeRobot's cameras give the newest image that they have: where a camera hangs,
one that is up to 0.5 s old.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from embodied_iqa import Gate


class GatedRobot:
    """Any robot of LeRobot: each action is sent under a lease of images that were read after the last one.

    Where the loop has read none, as in the middle of a chunk, `send_action` reads. An action that does not
    pass, or before which nothing can be read, begins a hold, which ends when the loop has read an observation
    that passes: what was decided before it is not sent. It sees no queue: where actions wait in one, use
    `gate_client`. Disconnect the arm before you move it by hand: a hold keeps its place until `connect`.

    Args:
        robot: The robot.
        gate: Judges its images.
        cameras: Key of an observation to name of the camera in the calibration.
        clock_ns: Time in nanoseconds.
        keep: Keys whose hold is what was sent last, not what is read: a gripper keeps its force.
    """

    def __init__(
        self,
        robot: Any,
        gate: Gate,
        cameras: Mapping[str, str],
        clock_ns: Callable[[], int] = time.time_ns,
        keep: Collection[str] = ("gripper.pos",),
    ) -> None:
        self._robot, self._gate, self._cameras, self._clock_ns = robot, gate, cameras, clock_ns
        self._keep = keep
        self._forget()
        self.held: list[str] = []
        """Why actions were not sent, for the notes of the recording."""

    def _forget(self) -> None:
        self._seen: dict[str, Any] | None = None
        self._sent: dict[str, Any] | None = None  # an action, or a hold
        self._at: dict[str, Any] | None = None  # where the arm is held
        self._refused = ""  # why what the newest observation of the loop led to is not sent
        self._is_used = True  # the newest images, by an action: the next one needs others

    def __getattr__(self, name: str) -> Any:
        return getattr(self._robot, name)

    def connect(self, *words: Any, **options: Any) -> Any:
        """Connect the robot, which may have been moved since."""
        self._forget()
        return self._robot.connect(*words, **options)

    def why_not(self) -> str:
        """Return why the arm may not move now; empty where it may."""
        return self._gate.permission(self._clock_ns(), self._cameras.values()).reason

    def get_observation(self) -> dict[str, Any]:
        """Return an observation whose images are judged; one that passes ends a hold."""
        observation = self._look()
        self._refused = self.why_not()
        if not self._refused:
            self._at = None
        return observation

    def send_action(self, action: dict[str, Any]) -> Any:
        """Send an action that may be sent, else hold the arm; return what was sent.

        Raises:
            ValueError: The action has a key that observations do not have: it could not be held.
        """
        at = self._sent or self._seen
        if self._at is None and (self._is_used or self.why_not()):
            try:
                at = self._look()
            except (OSError, RuntimeError) as error:  # of a camera or the bus
                self._refused = self._refused or f"nothing is read: {error}"
        if self._seen is not None and (unknown := action.keys() - self._seen.keys()):
            raise ValueError(f"no observation says where {', '.join(sorted(unknown))} is")
        self._is_used = True
        self._refused = self._refused or self.why_not()
        if not self._refused:
            self._sent = self._robot.send_action(action)
            return self._sent
        self.held.append(self._refused)
        self._drop()
        if self._at is None:  # once: newer readings would follow an arm that sags
            if at is None:  # nothing was read or sent
                return {}
            sent = self._sent or {}
            self._at = {**at, **{key: sent[key] for key in self._keep if key in sent}}
        self._sent = self._robot.send_action({key: self._at[key] for key in action})
        return self._sent

    def _drop(self) -> None:
        """Drop what was decided before a hold."""

    def _look(self) -> dict[str, Any]:
        stamp_ns = self._clock_ns()  # before the images: a lease must not begin later than they do
        observation: dict[str, Any] = self._robot.get_observation()
        images = {view: observation[key] for key, view in self._cameras.items()}
        self._gate.judge_views(images, stamp_ns)
        self._seen, self._is_used = observation, False
        return observation


class GatedClientRobot(GatedRobot):
    """The robot of a `RobotClient`: a hold drops what the policy decided before it, also what is on its way.

    The policy is asked only about images that pass: the client logs why, where they do not.
    """

    def __init__(
        self, client: Any, gate: Gate, cameras: Mapping[str, str], clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        super().__init__(client.robot, gate, cameras, clock_ns)
        self._client, self._lock, self._void_s = client, threading.Lock(), 0.0
        self._take = client._aggregate_action_queues  # noqa: SLF001 - the only place that sees whole chunks

    def get_observation(self) -> dict[str, Any]:
        observation = super().get_observation()
        if self._refused:
            self._void()
            raise RuntimeError(f"the policy is not asked: {self._refused}")
        return observation

    def take_chunk(self, chunk: list[Any], *more: Any) -> None:
        """Take a chunk into the client's queue, unless its observation is from before the newest hold."""
        with self._lock:
            if chunk and chunk[0].get_timestamp() > self._void_s:  # that of the observation
                self._take(chunk, *more)

    def _drop(self) -> None:
        self._void()
        with self._lock, self._client.action_queue_lock:
            self._client.action_queue.queue.clear()

    def _void(self) -> None:
        with self._lock:
            self._void_s = self._clock_ns() / 1e9


def gate_client(
    client: Any, gate: Gate, cameras: Mapping[str, str], clock_ns: Callable[[], int] = time.time_ns
) -> None:
    """Put the robot of a `RobotClient` behind a gate; `clock_ns` has to be the clock of the client."""
    client.robot = robot = GatedClientRobot(client, gate, cameras, clock_ns)
    client._aggregate_action_queues = robot.take_chunk  # noqa: SLF001 - see GatedClientRobot
