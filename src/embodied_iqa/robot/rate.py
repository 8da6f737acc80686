"""How the rate of path time changes: jerk-limited (ruckig), towards the end of a motion or standstill."""

from __future__ import annotations

from dataclasses import dataclass

from ruckig import ControlInterface, InputParameter, Result, Ruckig, Trajectory

from embodied_iqa.errors import InternalError
from embodied_iqa.robot.timing import TimedPath

__all__ = ["Progress", "brake", "brake_time_s", "proceed"]

_STILL = 1e-9


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a motion is.

    Attributes:
        u_s: Path time.
        rate: ``du/dt``, 0 at rest, 1 at full speed.
        acceleration: ``d2u/dt2`` (1/s).
    """

    u_s: float = 0.0
    rate: float = 0.0
    acceleration: float = 0.0

    @property
    def is_still(self) -> bool:
        """Whether the arm stands."""
        return abs(self.rate) < _STILL and abs(self.acceleration) < 1e-6


def proceed(path: TimedPath, at: Progress, dt_s: float) -> Progress:
    """Go on for ``dt_s`` towards the end of the motion, to arrive there at rest."""
    request = _request(path, at, path.acceleration * path.ease)
    request.target_position = [path.end_s]
    return _after(_solve(request), dt_s, Progress(path.end_s))


def brake(path: TimedPath, at: Progress, dt_s: float) -> Progress:
    """Slow down for ``dt_s`` towards standstill on the path, as fast as the limits allow."""
    if at.is_still:
        return Progress(at.u_s)
    return _after(_braking(path, at), dt_s, None)


def brake_time_s(path: TimedPath, at: Progress) -> float:
    """Return how long it takes to come to rest from here."""
    return 0.0 if at.is_still else float(_braking(path, at).duration)


def _request(path: TimedPath, at: Progress, acceleration: float) -> InputParameter:
    request = InputParameter(1)
    request.current_position, request.current_velocity = [at.u_s], [at.rate]
    request.current_acceleration = [at.acceleration]
    request.max_velocity, request.max_acceleration, request.max_jerk = [1.0], [acceleration], [path.jerk]
    request.target_velocity, request.target_acceleration = [0.0], [0.0]
    return request


def _braking(path: TimedPath, at: Progress) -> Trajectory:
    request = _request(path, at, path.acceleration)
    request.control_interface = ControlInterface.Velocity
    return _solve(request)


def _solve(request: InputParameter) -> Trajectory:
    trajectory = Trajectory(1)
    result = Ruckig(1).calculate(request, trajectory)
    if result not in {Result.Working, Result.Finished}:
        raise InternalError(f"no jerk-limited motion: {result} for {request}")
    return trajectory


def _after(trajectory: Trajectory, dt_s: float, end: Progress | None) -> Progress:
    arrived = trajectory.duration <= dt_s
    if arrived and end is not None:
        return end
    position, velocity, acceleration = trajectory.at_time(min(dt_s, trajectory.duration))
    if arrived:
        return Progress(float(position[0]))
    return Progress(float(position[0]), float(velocity[0]), float(acceleration[0]))
