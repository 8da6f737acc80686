"""The simulated cell: arm, gripper and objects under contact physics."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.world.manipulation.shapes import STROKE_M
from embodied_iqa.world.scenes.dimensions import BUTTON_THRESHOLD_M, STEP_NS, cell_home_q_rad
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, gripper_of, object_address
from embodied_iqa.world.simulation.cell_model import FORCE_SENSORS, build_model
from embodied_iqa.world.simulation.contact_watch import ContactWatch
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.robot_model import KP, KV
from embodied_iqa.world.simulation.servo_target import ServoTarget
from embodied_iqa.world.tasks.vocabulary import Kind

FORCE_LIMIT_N: Final = 50.0
_SETTLE_STEPS: Final = 300
_FEED_FORWARD_S: Final = np.array(KV) / np.array(KP)
_ARM, _FINGERS = 6, 2


class World:
    """Physics in fixed steps of 2 ms: the same commands give the same motion, bit for bit.

    The joint servos are position controllers with velocity feed-forward and gravity compensation, so the arm
    follows a stream of targets within about 0.001 rad. ``advance`` releases the global interpreter lock.
    Not thread-safe.

    Args:
        scene: What is on the table, and which arm stands at it.
        force_limit_n: Force on table, wall or floor above which a contact is a violation.
    """

    def __init__(self, scene: Scene, *, force_limit_n: float = FORCE_LIMIT_N) -> None:
        self._watch = ContactWatch(FORCE_SENSORS, force_limit_n, STEP_NS / SECOND_NS)
        self.reset(scene)

    def reset(self, scene: Scene | None = None) -> None:
        """Reset the objects, the arm to home, the gripper to open and the time to zero.

        Args:
            scene: A new scene; None keeps the current one.
        """
        if scene is not None:
            self._scene = scene
            self._home_q_rad = np.array(cell_home_q_rad(scene.arm))
            self._model: Any = build_model(scene, textured=False)
            self._data: Any = mujoco.MjData(self._model)
            # views, made once: each access to a field of the data makes a new one
            self._control: NDArray[np.float64] = self._data.ctrl
            self._qpos: NDArray[np.float64] = self._data.qpos
            self._forces_n: NDArray[np.float64] = self._data.sensordata[:9]
            self._tool = self._model.site("tool").id
            self._caps = {
                index: object_address(scene, index) + 7
                for index, item in enumerate(scene.objects)
                if item.kind is Kind.BUTTON
            }
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:_ARM] = self._home_q_rad
        self._data.qpos[_ARM : _ARM + _FINGERS] = STROKE_M / 2
        self._steps = 0
        self._pressed: frozenset[int] = frozenset()
        self._target = ServoTarget(self._home_q_rad.copy(), 0)
        self._gripper_target = self._gripper_command = 0.0
        self._gripper_speed_per_step = 0.0
        self._settle()

    @property
    def scene(self) -> Scene:
        """What is on the table."""
        return self._scene

    @property
    def time_ns(self) -> int:
        """Simulated time since the reset."""
        return self._steps * STEP_NS

    @property
    def q_rad(self) -> NDArray[np.float64]:
        """``(6,)`` measured joint positions."""
        return np.array(self._data.qpos[:_ARM])

    @property
    def qd_radps(self) -> NDArray[np.float64]:
        """``(6,)`` measured joint velocities."""
        return np.array(self._data.qvel[:_ARM])

    @property
    def gripper(self) -> float:
        """Measured state of the gripper in [0, 1]: 0 open, 1 closed."""
        return gripper_of(self.snapshot())

    @property
    def gripper_moving(self) -> bool:
        """Whether the fingers move faster than 2 mm/s or their target is not reached."""
        fingers = self._data.qvel[_ARM : _ARM + _FINGERS]
        return self._gripper_command != self._gripper_target or bool(np.abs(fingers).max() > 0.002)

    @property
    def T_base_tool(self) -> NDArray[np.float64]:
        """``(4, 4)`` pose of the tool centre point in the base frame."""
        pose = np.eye(4)
        pose[:3, :3] = self._data.site_xmat[self._tool].reshape(3, 3)
        pose[:3, 3] = self._data.site_xpos[self._tool]
        return pose

    @property
    def contact_violation(self) -> str | None:
        """The first push against table, wall or floor since ``reset``, or None."""
        return self._watch.violation

    @property
    def peak_contact_n(self) -> float:
        """Highest force on table, wall or floor since ``reset`` [N], after the filter of `ContactWatch`."""
        return self._watch.peak_n

    def clear_contact_violation(self) -> None:
        """Clear the violation, as after an operator's acknowledgement; a lasting push raises it again."""
        self._watch.reset()

    def set_arm_target(self, q_rad: NDArray[np.float64], qd_radps: NDArray[np.float64] | None = None) -> None:
        """Command the joint servos.

        Args:
            q_rad: ``(6,)`` joint positions.
            qd_radps: ``(6,)`` velocity with which the target continues; None derives it from the previous
                command if that is at most 25 ms old, else it is zero.

        Raises:
            UsageError: Not six finite numbers.
        """
        q_rad = np.asarray(q_rad, dtype=np.float64)
        if q_rad.shape != (_ARM,) or not np.isfinite(q_rad).all():
            raise UsageError("bad joint target", expected="six finite angles in rad", got=q_rad.tolist())
        self._target.set(q_rad, qd_radps, self.time_ns)

    def set_gripper_target(self, gripper: float, speed_per_s: float = 1.0) -> None:
        """Command the gripper.

        Args:
            gripper: Target in [0, 1]: 0 open, 1 closed.
            speed_per_s: Speed in strokes a second (1 is 140 mm/s).

        Raises:
            UsageError: A number out of range.
        """
        if not 0.0 <= gripper <= 1.0:
            raise UsageError("bad gripper target", expected="a number from 0 to 1", got=gripper)
        if not speed_per_s > 0.0:
            raise UsageError("bad gripper speed", expected="strokes a second > 0", got=speed_per_s)
        self._gripper_target = float(gripper)
        self._gripper_speed_per_step = speed_per_s * STEP_NS / SECOND_NS

    def stop_gripper(self) -> None:
        """Hold the fingers where they are."""
        self._gripper_target = self._gripper_command = self.gripper

    def advance(self, duration_ns: int) -> None:
        """Simulate a duration.

        Args:
            duration_ns: A multiple of the time step (2 ms).

        Raises:
            UsageError: Not a multiple of the step, or negative.
        """
        steps, rest = divmod(duration_ns, STEP_NS)
        if rest or steps < 0:
            raise UsageError("the world moves in whole steps", expected=f"n x {STEP_NS} ns", got=duration_ns)
        for _ in range(steps):
            self._step()
        mujoco.mj_kinematics(self._model, self._data)  # a step leaves derived poses one step behind

    def snapshot(self) -> WorldSnapshot:
        """Return a copy of the current positions."""
        return WorldSnapshot(self.time_ns, np.array(self._data.qpos), self._pressed)

    def _step(self) -> None:
        q_rad, qd_radps = self._target.at(self.time_ns)
        control = self._control
        control[:_ARM] = q_rad + _FEED_FORWARD_S * qd_radps
        self._move_gripper_command()
        control[_ARM:] = (1.0 - self._gripper_command) * STROKE_M / 2
        mujoco.mj_step(self._model, self._data)
        self._steps += 1
        self._watch.update(self._forces_n, self.time_ns)
        for index, address in self._caps.items():
            if self._qpos[address] < -BUTTON_THRESHOLD_M and index not in self._pressed:
                self._pressed |= {index}

    def _move_gripper_command(self) -> None:
        rest, limit = self._gripper_target - self._gripper_command, self._gripper_speed_per_step
        if abs(rest) <= limit:
            self._gripper_command = self._gripper_target
        else:
            self._gripper_command += np.copysign(limit, rest)

    def _settle(self) -> None:
        """Simulate until everything is at rest, then start the clock."""
        for _ in range(_SETTLE_STEPS):
            self._step()
        self._data.qpos[:_ARM] = self._home_q_rad
        self._data.qpos[_ARM : _ARM + _FINGERS] = STROKE_M / 2
        self._data.qvel[:] = 0.0
        self._data.time = 0.0
        self._steps = 0
        self._pressed = frozenset()
        self._target = ServoTarget(self._home_q_rad.copy(), 0)
        self._watch.reset()
        mujoco.mj_forward(self._model, self._data)


def at_rest(scene: Scene) -> WorldSnapshot | None:
    """Simulate until the beads of cups have fallen; None where there are none: other objects do not move."""
    return World(scene).snapshot() if any(item.kind is Kind.CUP for item in scene.objects) else None
