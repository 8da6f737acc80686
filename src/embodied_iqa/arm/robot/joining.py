"""Joins the next chunk of a policy to the motion under way, without a stop and without a jump.

The steps of a chunk are tied to time: step k ends k periods after the frame that the chunk was decided on, at
the pose that its increments give from the tool's pose *in that frame*. Steps that lie before now are skipped.
Through the poses runs a cubic B-spline: twice continuously differentiable, exact for even steps, and within
the hull of the poses. In joints it is ``p(w)``, with the time ``w`` since the frame; the joined motion is

    q(u) = p(w_now + u / c) + e(u),

with path time ``u`` from now on, the least stretch ``c`` of 1 or more that keeps all limits, and a polynomial
``e`` of fifth degree that takes the difference to the motion under way, with its first two derivatives, to
zero. Path speed and acceleration are carried over, and path speed 1 is the pace of the policy. As with every
`TimedPath` the limits hold at every path speed in [0, 1] and while braking from it. Where a chunk comes while
the arm speeds up, path speed may exceed 1 by a tenth for a moment; the controller checks every command.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from embodied_iqa.arm.robot.limits import LimitKind, Violation, check_configurations, check_positions
from embodied_iqa.arm.robot.path import check_joints, joints_in_branch
from embodied_iqa.arm.robot.planning import Planner, check_turns
from embodied_iqa.arm.robot.speed_scaling import Progress, brake_time_s, stopping_distance_s
from embodied_iqa.arm.robot.timing import TimedPath, acceleration_left, is_surely_too_fast, joining_kernels

Array = NDArray[np.float64]

_SAMPLES_PER_STEP: Final = 6
_SHORTEST_S, _LONGEST_S = 0.005, 0.03
"""Between two samples."""
_COLLISION_S: Final = 0.016
"""Between two checks of collisions: the tool moves 4 mm in it at most, as on paths of whole goals."""
_FEWEST: Final = 9
_BLENDS_S: Final = (0.15, 0.3, 0.6, 1.2)
"""Times to get from the motion under way onto the chunk, tried in this order."""
_STRETCHES: Final = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
_SEAM_S: Final = 0.004
"""Where a joining begins, the acceleration steps by at most what the largest jerk changes in so long: the
spline through the samples has the speed of the motion under way there, and its acceleration only nearly."""
_STILL: Final = np.zeros(6)
_NOT_A_KNOT: Final = np.empty(0)
_OTHER_BRANCH_RAD: Final = 0.5
"""A chunk that would begin so far from the arm's joints is on another branch of the inverse kinematics."""


@dataclass(frozen=True, slots=True, eq=False)
class TimedChunk:
    """A chunk whose steps are tied to time.

    Attributes:
        increments: ``(K, 7)``, as in `world.protocols.ActionChunk`.
        T_base_tool: ``(4, 4)``, the tool in the frame that it was decided on (m).
        age_s: From the frame until now.
        period_s: From step to step.
        coasts: Where nothing follows, the arm comes to rest within one more step like the last, instead of
            at the last one: for chunks of which all steps are executed before the next is due.
        joints_rad: ``(K + 1, 6)``, the commanded joints in the frame and those after each step, for a policy
            that commands joints: they are moved, and the increments are not used. None for one that commands
            the tool.
    """

    increments: Array
    T_base_tool: Array
    age_s: float
    period_s: float
    coasts: bool = False
    joints_rad: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class UnderWay:
    """The commanded motion now.

    Attributes:
        q_rad: ``(6,)``, joint angles.
        first: ``(6,)``, their first derivative by path time.
        second: ``(6,)``, their second one.
        progress: Path speed and its change.
    """

    q_rad: Array
    first: Array = field(default_factory=lambda: np.zeros(6))
    second: Array = field(default_factory=lambda: np.zeros(6))
    progress: Progress = field(default_factory=Progress)

    @classmethod
    def on(cls, motion: TimedPath, progress: Progress) -> UnderWay:
        """Return the motion at a place of a path; at rest, its direction does not bind the next one."""
        q = np.ascontiguousarray(motion.q_of_u(progress.u_s))
        if progress.is_still:
            return cls(q)
        at = progress.u_s
        start = Progress(0.0, progress.speed, progress.acceleration)
        return cls(q, motion.q_of_u(at, 1), motion.q_of_u(at, 2), start)


def join_chunk(planner: Planner, chunk: TimedChunk, under_way: UnderWay) -> TimedPath | Violation:
    """Return the motion that continues the one under way with a chunk, from its ``progress`` on.

    Returns:
        The motion, or why there is none: the first limit that the chunk would exceed; of the kinds RUN_OVER
        and UNJOINED, the chunk comes too late, or no joining keeps the limits. Then the motion under way,
        which ends at rest, is the one to go on with.
    """
    if chunk.joints_rad is not None:
        return _join_joints(planner, chunk, chunk.joints_rad, under_way)
    poses = joining_kernels().chained(chunk.T_base_tool, chunk.increments)
    violation = check_positions(poses[1:, :3, 3], planner.limits)
    if violation is not None:
        return violation
    if chunk.coasts:
        further = joining_kernels().chained(poses[-1], chunk.increments[-1:])
        longer = _joined(planner, chunk, np.concatenate([poses, further[1:]]), under_way)
        if isinstance(longer, TimedPath):
            return longer
    return _joined(planner, chunk, poses, under_way)


def _join_joints(planner: Planner, chunk: TimedChunk, q: Array, under_way: UnderWay) -> TimedPath | Violation:
    """Join joints ``(K + 1, 6)``; see `join_chunk`."""
    violation = check_configurations(q[1:], planner.limits)
    violation = violation or check_positions(planner.kinematics.forward(q[1:])[:, :3, 3], planner.limits)
    violation = violation or check_turns(q)
    if violation is not None:
        return violation
    for more in (q[-1:] + (q[-1:] - q[-2:-1]),) if chunk.coasts else ():
        longer = _joined_joints(planner, chunk, np.concatenate([q, more]), under_way)
        if isinstance(longer, TimedPath):
            return longer
    return _joined_joints(planner, chunk, q, under_way)


def _joined_joints(
    planner: Planner, chunk: TimedChunk, q: Array, under_way: UnderWay
) -> TimedPath | Violation:
    w = _samples(chunk, len(q) - 1)
    if isinstance(w, Violation):
        return w
    plan = joining_kernels().joint_curve(q, w / chunk.period_s)
    return _first_within(planner, chunk, w, plan, under_way)


def _joined(planner: Planner, chunk: TimedChunk, poses: Array, under_way: UnderWay) -> TimedPath | Violation:
    """Join the curve through poses ``(n + 1, 4, 4)``, the first that of the frame."""
    w = _samples(chunk, len(poses) - 1)
    if isinstance(w, Violation):
        return w
    T = joining_kernels().curve(poses, w / chunk.period_s)
    plan = joints_in_branch(T, under_way.q_rad, planner.kinematics, planner.limits, _OTHER_BRANCH_RAD)
    return plan if isinstance(plan, Violation) else _first_within(planner, chunk, w, plan, under_way)


def _sample_s(chunk: TimedChunk) -> float:
    return min(max(chunk.period_s / _SAMPLES_PER_STEP, _SHORTEST_S), _LONGEST_S)


def _samples(chunk: TimedChunk, steps: int) -> Array | Violation:
    """Return times since the frame, ``(N,)``, from now to the end of the steps; or that they are over."""
    end_s = steps * chunk.period_s
    left_s = end_s - chunk.age_s
    if left_s < _SHORTEST_S * _FEWEST:
        reason = f"the chunk's last step was due {1e3 * max(-left_s, 0.0):.0f} ms ago"
        return Violation(LimitKind.RUN_OVER, reason)
    return np.linspace(chunk.age_s, end_s, max(_FEWEST, int(np.ceil(left_s / _sample_s(chunk))) + 1))


def _first_within(
    planner: Planner, chunk: TimedChunk, w: Array, plan: Array, under_way: UnderWay
) -> TimedPath | Violation:
    """Return the first joining of ``plan`` (N, 6), at times ``w`` since the frame, that keeps all limits."""
    violation: Violation | None = None
    every = max(1, round(_COLLISION_S / _sample_s(chunk)))
    for u, q, first in _candidates(w - chunk.age_s, plan, under_way):
        motion = _timed(planner, u, q, first, under_way)
        if motion is None:
            continue
        violation = _violation_of(planner, q, every, moves_joints=chunk.joints_rad is not None)
        if violation is None:
            waypoints_s = np.arange(1, len(chunk.increments) + 1) * chunk.period_s - chunk.age_s
            return replace(motion, waypoint_u_s=waypoints_s * u[-1] / (w[-1] - w[0]))
        break
    reason = violation.reason if violation else "the chunk cannot be joined to the motion within the limits"
    return Violation(LimitKind.UNJOINED, reason)


def _violation_of(planner: Planner, q: Array, every: int, *, moves_joints: bool) -> Violation | None:
    """Return the first limit that joints ``(N, 6)`` exceed; collisions are checked at one of ``every``.

    A motion in joints may pass a singularity, where only a motion of the tool turns joints fast.
    """
    outside = check_positions(planner.kinematics.forward(q)[:, :3, 3], planner.limits)
    if not moves_joints:
        return outside or check_joints(q, planner.kinematics, planner.limits, planner.collisions, every)
    hit = None if outside else planner.collisions.first_collision(np.concatenate([q[:-1:every], q[-1:]]))
    outside = outside or check_configurations(q, planner.limits)
    return outside or (None if hit is None else Violation(LimitKind.COLLISION, str(hit[1])))


def _candidates(w_s: Array, plan: Array, under_way: UnderWay) -> Iterator[tuple[Array, Array, Array]]:
    """Yield path times ``(N,)``, joints ``(N, 6)`` and their derivative at the start, the best first."""
    kernels = joining_kernels()
    c = kernels.spline(w_s, plan, _NOT_A_KNOT)
    velocity, curvature = c[2, 0], 2.0 * c[1, 0]
    for stretch in _STRETCHES:
        u = w_s * stretch
        offset = np.array([under_way.q_rad - plan[0], _STILL, _STILL])
        first = velocity / stretch
        if not under_way.progress.is_still:
            offset[1] = under_way.first - first
            offset[2] = under_way.second - curvature / stretch**2
            first = under_way.first
        for blend_s in sorted({min(blend_s, float(u[-1])) for blend_s in _BLENDS_S}):
            yield u, plan + kernels.faded(offset, u, blend_s), first


def _timed(planner: Planner, u: Array, q: Array, first: Array, under_way: UnderWay) -> TimedPath | None:
    """Return the motion, or None where it does not keep the limits on motion."""
    timing, progress = planner.timing, under_way.progress
    if is_surely_too_fast(u, q, planner.limits, timing):
        return None
    c = joining_kernels().spline(u, q, first)
    step = (2.0 * c[1, 0] - under_way.second) * progress.speed**2
    if np.abs(step).max() > _SEAM_S * planner.limits.joint_acceleration_radps2 / timing.jerk_s:
        return None
    most = acceleration_left(u, c, planner.kinematics, planner.limits, timing)
    if not abs(progress.acceleration) <= most or most == 0.0:
        return None
    # ordinary starts and stops take brake_s or longer: a hold while the arm speeds up ends in time, too
    ease = min(1.0 / (timing.brake_s - timing.jerk_s) / most, timing.ease)
    q_of_u = CubicSpline.construct_fast(c, u)
    motion = TimedPath(q_of_u, float(u[-1]), most, ease, most / timing.jerk_s, np.empty(0))
    brakes = brake_time_s(motion, progress) <= timing.longest_brake_s
    return motion if brakes and stopping_distance_s(motion, progress) <= motion.end_s else None
