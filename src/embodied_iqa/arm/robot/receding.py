"""Goals of a receding horizon: planned from the motion under way, continued by the next without a stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.ensembling import Predicted, ensembled, increments_of
from embodied_iqa.arm.robot.joining import TimedChunk, UnderWay, join_chunk
from embodied_iqa.arm.robot.limits import LimitKind, Violation
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode
from embodied_iqa.arm.robot.planning import Planner, Segment
from embodied_iqa.arm.robot.state import ControllerState, Run
from embodied_iqa.base.kinematics import Kinematics, increments_between
from embodied_iqa.base.units import SECOND_NS

Array = NDArray[np.float64]

_SAME_RAD: Final = 0.002
_AGREES: Final = 1e-4
"""m and rad: the difference of a UR5e's kinematics from those of a UR5 is centimetres."""


def why_not_continued(run: Run, mode: ArmMode, goal: ArmGoal) -> str | None:
    """Return why a goal does not continue the one being executed; None where it does."""
    if run.abandoned or mode is not ArmMode.EXECUTING:
        return "the arm is still braking"
    if goal.frame_stamp_ns <= run.goal.frame_stamp_ns:
        return f"superseded: goal {run.goal.sequence} was decided on a newer frame"
    return None


def plan_receding(
    planner: Planner, options: ControllerOptions, state: ControllerState, goal: ArmGoal, now_ns: int
) -> Run | Violation:
    """Plan the rest of a goal from the motion under way.

    The steps of a goal belong to the time since its frame, unless the arm has not moved since: then they
    begin now, however long the decision took.

    Returns:
        The execution of the goal, or why there is none; then the arm goes on with what it executes.
    """
    if state.q_command_rad is None or goal.q_frame_rad is None:
        return Violation(LimitKind.UNJOINED, "the arm's pose at the goal's frame is not known")
    if len(goal.increments) == 0:
        return Violation(LimitKind.RUN_OVER, "the chunk has no steps")
    unsuited = options.horizon.why_not_ensembled(len(goal.increments))
    if unsuited is not None:
        return Violation(LimitKind.UNJOINED, unsuited)
    run = state.run
    if run is None or run.segment.motion is None:
        under_way = UnderWay(state.q_command_rad)
    else:
        under_way = UnderWay.on(run.segment.motion, run.progress)
    has_moved = run is not None or np.abs(goal.q_frame_rad - state.q_command_rad).max() > _SAME_RAD
    # the last command is that of the tick before
    age_s = max((now_ns - goal.frame_stamp_ns) / SECOND_NS - options.dt_s, 0.0) if has_moved else 0.0
    T_base_tool = planner.kinematics.forward(goal.q_frame_rad)
    past: tuple[Predicted, ...] = ()
    if options.horizon.ensembling:
        begin_ns = now_ns - round((age_s + options.dt_s) * SECOND_NS)
        goal, past = _averaged(options.horizon, run, goal, T_base_tool, begin_ns)
    motion = join_chunk(planner, _timed_chunk(options, goal, T_base_tool, age_s), under_way)
    if isinstance(motion, Violation):
        return motion
    segment = Segment(motion, None, 0, len(goal.increments))
    return Run(goal, (segment,), progress=under_way.progress, receding=True, past=past)


def _averaged(
    horizon: HorizonOptions, run: Run | None, goal: ArmGoal, T_base_tool: Array, begin_ns: int
) -> tuple[ArmGoal, tuple[Predicted, ...]]:
    """Return a goal averaged with the chunks of this motion, and all that counts for the next one."""
    new = Predicted.of(goal.increments, T_base_tool, begin_ns)
    if goal.joints_rad is not None and goal.q_frame_rad is not None:
        new = replace(new, points=np.concatenate([goal.q_frame_rad[None], goal.joints_rad]))
    past = tuple(one for one in (() if run is None else run.past) if one.reaches(new, horizon.period_s))
    points, gripper = ensembled(new, past, horizon.period_s, horizon.ensembling_decay)
    if goal.joints_rad is not None:
        increments = np.hstack([goal.increments[:, :6], gripper[:, None]])
        return replace(goal, increments=increments, joints_rad=points[1:]), (*past, new)
    return replace(goal, increments=increments_of(points, gripper)), (*past, new)


def why_not_joints(kinematics: Kinematics, goal: ArmGoal) -> str | None:
    """Return why a goal's joints must not be moved: they are not those of this arm with this tool.

    Its increments say where the policy's own kinematics lead the tool; those of this arm have to agree.
    """
    targets, seen = goal.joints_rad, goal.q_seen_rad
    if targets is None:
        return None
    if seen is None or seen.shape != (6,) or targets.shape != (len(goal.increments), 6):
        return f"{len(targets)} joint targets for {len(goal.increments)} steps, or no joints that it saw"
    if not (np.isfinite(targets).all() and np.isfinite(seen).all()):
        return "a joint target is not finite"
    ours = increments_between(kinematics.forward(np.concatenate([seen[None], targets])))
    apart = float(np.abs(ours - goal.increments[:, :6]).max(initial=0.0))
    if apart <= _AGREES:
        return None
    return f"its joints and its increments lead the tool {apart:.4f} m or rad apart: another arm or tool"


def _timed_chunk(options: ControllerOptions, goal: ArmGoal, T_base_tool: Array, age_s: float) -> TimedChunk:
    return TimedChunk(
        increments=goal.increments,
        T_base_tool=T_base_tool,
        age_s=age_s,
        period_s=options.horizon.period_s,
        coasts=options.horizon.execute_steps >= len(goal.increments),
        joints_rad=None
        if goal.joints_rad is None or goal.q_frame_rad is None
        else np.concatenate([goal.q_frame_rad[None], goal.joints_rad]),
    )


def gripper_of(options: ControllerOptions, state: ControllerState, run: Run) -> float | None:
    """Return the gripper target of the steps that were executed: it moves while the arm goes on."""
    wanted = float(run.goal.increments[run.step - 1, 6]) if run.step else state.gripper_target
    before = state.gripper_target
    if before is None and state.measured is not None:
        before = state.measured.gripper.position
    if wanted is None or before is None or abs(wanted - before) <= options.gripper_tolerance:
        return state.gripper_target
    return wanted
