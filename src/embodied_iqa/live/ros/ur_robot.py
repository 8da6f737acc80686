"""A UR arm and its gripper in a node: states of the driver arrive in callbacks of the node."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from embodied_iqa.arm.robot.messages import ArmState
from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.models import ArmModel

_SILENCE_S = 0.02
_RETRY_S = 1.0
_LONGEST_RETRY_S = 60.0
GIVEN_UP = "tried again"
"""On /diagnostics, of an arm that is refused for a reason that cannot pass: when it is tried again."""


class UrRobot:
    """Drives a UR arm from a node with one thread.

    A thread only waits for data and wakes the node; everything else happens in callbacks of the node.
    A lost connection is retried every second; the arm stays disarmed until it is armed again. An arm that is
    refused is reported once for each check that it has not passed, and retried with growing pauses, up to a
    minute; one that is refused for a reason that cannot pass by itself only by `retry`.

    Args:
        node: Node of the callbacks.
        arm: The driver.
        on_state: Called with each new state.
        on_silence: Called at least every 20 ms while no state arrives, so that a lost arm is noticed; with
            the reason where the arm is known to be lost.
        clock: Of the pauses between two connections.
    """

    def __init__(
        self,
        node: Node,
        arm: UrArm,
        on_state: Callable[[ArmState], None],
        on_silence: Callable[[str], None],
        clock: Clock = MONOTONIC,
    ) -> None:
        self._node = node
        self._arm = arm
        self._on_state = on_state
        self._on_silence = on_silence
        self._clock = clock
        self._state: ArmState | None = None
        self._seen_s = self._counted_s = -1.0
        self._missed = 0
        self._q_target: NDArray[np.float64] | None = None
        self._gripper_target: float | None = None
        self._problem = ""
        self._retry_at_s: float | None = 0.0
        self._pause_s = _RETRY_S
        self._is_refused = False
        self._told: Refusal | None = None
        self._handled = threading.Event()
        self._ending = threading.Event()
        self._arrived = node.create_guard_condition(self._handle)
        self._thread = threading.Thread(target=self._watch, name="ur arm", daemon=True)
        self._thread.start()

    @property
    def model(self) -> ArmModel:
        """Model that the arm has to be."""
        return self._arm.model

    @property
    def problem(self) -> str:
        """Why the arm is unavailable; empty where it is available."""
        return self._problem

    def counts(self) -> dict[str, object]:
        """Return how close the driver came to the robot's watchdog, and how many states it has missed."""
        state = self._arm.state
        if state is None:
            given_up = self._is_refused and self._retry_at_s is None
            return {GIVEN_UP: "when arm_node is configured again"} if given_up else {}
        return {
            "longest silence [ms]": round(1e3 * state.silence_s),
            "near misses": state.near_misses,
            "missed states": self._missed,
        }

    def read(self) -> ArmState | None:
        """Return the newest state, or None where the arm is unavailable."""
        return None if self._problem else self._state

    def stream(self, q_rad: NDArray[np.float64]) -> None:
        """Set the joint target of this period."""
        self._q_target = q_rad

    def move(self, position: float) -> None:
        """Set the target of the gripper."""
        self._gripper_target = position

    def stop(self, reason: str) -> None:
        """Stop the arm; it ignores targets until it is armed again."""
        self._q_target = None
        self._try(lambda: self._arm.stop(reason))

    def rearm(self, reason: str) -> None:
        """Arm: accept joint targets.

        Raises:
            InputError: The arm does not arm.
        """
        self._counted_s = -1.0  # arming takes states, whether it succeeds or not
        self._arm.rearm(reason)
        self._state = self._arm.read()

    def retry(self) -> None:
        """Connect at once to an arm that was refused; where it is refused again, that is reported."""
        if self._is_refused:
            self._told, self._pause_s = None, _RETRY_S
            self._start()

    def answer(self) -> None:
        """Send the targets that respond to the newest state."""
        target, self._q_target = self._q_target, None
        position, self._gripper_target = self._gripper_target, None
        if position is not None:
            self._try(lambda: self._arm.move_gripper(position))
        if target is not None and self._arm.is_armed:
            self._try(lambda: self._arm.stream(target))
        else:
            self._try(self._arm.idle)

    def close(self) -> None:
        """Stop the thread and release the arm."""
        self._ending.set()
        self._handled.set()
        self._thread.join(timeout=2 * _RETRY_S)
        self._arm.close()

    def _watch(self) -> None:
        """Wake the node when the driver has data, and after each silent period."""
        while not self._ending.is_set():
            self._handled.clear()
            descriptor = self._arm.fileno()
            try:
                if descriptor >= 0:
                    select.select([descriptor], [], [], _SILENCE_S)
                else:
                    self._ending.wait(_SILENCE_S)
            except (OSError, ValueError):
                self._ending.wait(_SILENCE_S)  # the connection was closed in the meantime
            self._arrived.trigger()
            self._handled.wait(_RETRY_S)

    def _handle(self) -> None:
        try:
            self._take()
        except InputError as error:
            self._note_problem(error)
            self._on_silence(str(error))
        finally:
            self._handled.set()

    def _take(self) -> None:
        if not self._arm.is_begun:
            self._arm.start()
        state = self._arm.read()
        if self._problem and state is not None:
            self._node.get_logger().info("the arm is back")
            self._problem, self._told, self._pause_s = "", None, _RETRY_S
        seen_s = -1.0 if self._arm.state is None else self._arm.state.controller_s
        if state is None or seen_s == self._seen_s:
            self._on_silence("")
            return
        if self._counted_s >= 0.0:
            self._missed += max(round((seen_s - self._counted_s) * self._arm.rate_hz) - 1, 0)
        self._state, self._seen_s, self._counted_s = state, seen_s, seen_s
        self._on_state(state)

    def _note_problem(self, error: InputError) -> None:
        refusal = error.refusal if isinstance(error, RefusedArmError) else None
        if str(error) != self._problem if refusal is None else refusal is not self._told:
            self._node.get_logger().error(str(error))
        self._told = refusal
        self._problem = str(error)
        if self._arm.is_connected:
            return
        if refusal is None:
            self._pause_s = _RETRY_S
        else:
            self._note_refusal(refusal)
        if self._retry_at_s is not None and self._clock.now_s() >= self._retry_at_s:
            self._start()

    def _note_refusal(self, refusal: Refusal) -> None:
        """Plan the next connection, once for each: the same refusal is read again until then."""
        if self._is_refused:
            return
        self._is_refused = True
        self._pause_s = min(2.0 * self._pause_s, _LONGEST_RETRY_S)
        self._retry_at_s = self._clock.now_s() + self._pause_s if refusal.may_pass else None

    def _start(self) -> None:
        self._is_refused, self._seen_s, self._counted_s = False, -1.0, -1.0
        self._retry_at_s = self._clock.now_s() + _RETRY_S
        self._arm.start()

    def _try(self, call: Callable[[], None]) -> None:
        try:
            call()
        except InputError as error:
            self._note_problem(error)
