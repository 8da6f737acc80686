"""Jerk-limited path-speed scaling (ruckig): proceeding along a motion and braking to standstill on it."""

from __future__ import annotations

from dataclasses import dataclass

from ruckig import ControlInterface, InputParameter, Result, Ruckig, Trajectory

from embodied_iqa.arm.robot.timing import TimedPath
from embodied_iqa.base.errors import InternalError

_STILL = 1e-9


@dataclass(frozen=True, slots=True)
class Progress:
    """Position on a motion and its change.

    Attributes:
        u_s: Path time.
        speed: ``du/dt``, 0 at rest, 1 at full speed.
        acceleration: ``d2u/dt2`` (1/s).
    """

    u_s: float = 0.0
    speed: float = 0.0
    acceleration: float = 0.0

    @property
    def is_still(self) -> bool:
        """Whether the arm stands still."""
        return abs(self.speed) < _STILL and abs(self.acceleration) < 1e-6


def proceed(path: TimedPath, at: Progress, dt_s: float, fraction: float = 1.0) -> Progress:
    """Proceed for ``dt_s`` towards the end of the motion, where it comes to rest.

    Args:
        path: The motion.
        at: Where the arm is on it.
        dt_s: Time that passes.
        fraction: Path speed at which it proceeds at most, in (0, 1]; if it is faster, it slows down to it.
    """
    request = _request(path, at, path.acceleration * path.ease)
    if at.speed <= fraction + _STILL:
        request.max_velocity = [fraction]
        return _to_end(path, request, dt_s)
    slower = _at(_changing(path, at, fraction, path.ease), dt_s)
    to_end = _to_end(path, request, dt_s)  # near the end, that is the slower one
    return min(slower, to_end, key=lambda progress: progress.u_s)


def brake(path: TimedPath, at: Progress, dt_s: float) -> Progress:
    """Brake for ``dt_s`` towards standstill on the path, as fast as the limits allow."""
    if at.is_still:
        return Progress(at.u_s)
    trajectory = _braking(path, at)
    if trajectory.duration > dt_s:
        return _at(trajectory, dt_s)
    return Progress(_at(trajectory, trajectory.duration).u_s)


def brake_time_s(path: TimedPath, at: Progress) -> float:
    """Return the time needed to come to rest."""
    return 0.0 if at.is_still else float(_braking(path, at).duration)


def stopping_distance_s(path: TimedPath, at: Progress) -> float:
    """Return the path time that an ordinary stop covers: a nearer end would be overrun."""
    if at.is_still:
        return 0.0
    trajectory = _braking(path, at, path.ease)
    return _at(trajectory, trajectory.duration).u_s - at.u_s


def _to_end(path: TimedPath, request: InputParameter, dt_s: float) -> Progress:
    request.target_position = [path.end_s]
    trajectory = _solve(request)
    return Progress(path.end_s) if trajectory.duration <= dt_s else _at(trajectory, dt_s)


def _request(path: TimedPath, at: Progress, acceleration: float) -> InputParameter:
    request = InputParameter(1)
    request.current_position, request.current_velocity = [at.u_s], [at.speed]
    request.current_acceleration = [at.acceleration]
    request.max_velocity, request.max_acceleration, request.max_jerk = [1.0], [acceleration], [path.jerk]
    request.target_velocity, request.target_acceleration = [0.0], [0.0]
    return request


def _braking(path: TimedPath, at: Progress, ease: float = 1.0) -> Trajectory:
    return _changing(path, at, 0.0, ease)


def _changing(path: TimedPath, at: Progress, speed: float, ease: float) -> Trajectory:
    request = _request(path, at, path.acceleration * ease)
    request.control_interface = ControlInterface.Velocity
    request.target_velocity = [speed]
    return _solve(request)


def _solve(request: InputParameter) -> Trajectory:
    trajectory = Trajectory(1)
    result = Ruckig(1).calculate(request, trajectory)
    if result not in {Result.Working, Result.Finished}:
        raise InternalError(f"no jerk-limited motion: {result} for {request}")
    return trajectory


def _at(trajectory: Trajectory, time_s: float) -> Progress:
    return Progress(*(float(values[0]) for values in trajectory.at_time(time_s)))
