"""Checks of a real cell: what was read of its arm and cameras, compared with the parameters of a trial."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.limits import (
    check_configurations,
    check_positions,
)
from embodied_iqa.arm.robot.ur.robot_state import RobotState
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import UserError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel, flange_pose
from embodied_iqa.base.resources import shared_file
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION, shared_gate_file
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judges import make_judge
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.graph.arm_parameters import ArmParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.parameters import GraphParameters

Array = NDArray[np.float64]

HAND_EYE: Final = ": hand-eye"
"""Behind the name of a camera: whether it sees the tool where its pose says."""
_NEAR_M: Final = 0.01
"""A point nearer to the plane of the camera is not in its image."""
_LOST_SHARE: Final = 0.02
_JUDGED: Final = 20
"""Judgements of the last image that are timed."""
_PROFILE: Final = "config/fastdds_shared_memory.xml"
"""For a camera whose images do not fit the shared memory that Fast DDS gives it by default."""


class CheckResult(StrEnum):
    """Result of a check."""

    OK = "ok"
    FAILED = "failed"
    MISSING = "missing"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class CellCheck:
    """One row of the table.

    Attributes:
        name: What is checked.
        measured: What was found.
        limit: What is needed.
        is_ok: Whether it is.
        otherwise: The result where it is not: MISSING is what only some models need, and a trial runs with a
            WARNING, too.
    """

    name: str
    measured: str
    limit: str
    is_ok: bool
    otherwise: CheckResult = CheckResult.FAILED

    @property
    def result(self) -> CheckResult:
        """The result in one word."""
        return CheckResult.OK if self.is_ok else self.otherwise


@dataclass(frozen=True, slots=True)
class SeenArm:
    """What was read of an arm.

    Attributes:
        q_rad: ``(6,)``, measured joint angles; None where none were read.
        model_text: What is known of its model, such as the deviation of its pose.
        model_problem: Why it is not known to be of the model; empty where it is.
        robot: What its controller says of itself; None where that was not read.
    """

    q_rad: tuple[float, ...] | None
    model_text: str
    model_problem: str = ""
    robot: RobotState | None = None


def arm_checks(seen: SeenArm, config: ArmParameters) -> Iterator[CellCheck]:
    """Yield the checks of an arm, which stands still."""
    limits = config.limits
    found = seen.model_problem or seen.model_text
    yield CellCheck("arm: model", found, "pose within 5 mm and 0.5 deg", not seen.model_problem)
    yield _workspace_check(config)
    if config.model is ArmModel.UNSET:
        return
    fastest = config.model.joint_speed_radps
    yield CellCheck(
        "arm: joint speed",
        f"{limits.joint_speed_radps:g} rad/s",
        f"at most {fastest:.3f} rad/s",
        limits.joint_speed_radps <= fastest,
    )
    if seen.q_rad is None:
        yield CellCheck("arm: posture", "not read", "joint angles", is_ok=False)
        return
    q = np.array(seen.q_rad)
    beyond = check_configurations(q[None], limits)
    margin_rad = float(np.minimum(q - limits.q_min_rad, np.array(limits.q_max_rad) - q).min())
    yield CellCheck(
        "arm: joint limits",
        beyond.reason if beyond else f"{math.degrees(margin_rad):.0f} deg to the nearest",
        "inside of q_min_rad and q_max_rad",
        beyond is None,
    )
    yield tool_check(seen.q_rad, config)


def tool_check(q_rad: tuple[float, ...], config: ArmParameters) -> CellCheck:
    """Return whether the tool is inside of the workspace at joint angles ``(6,)`` (rad)."""
    place = tool_pose(q_rad, config)[None, :3, 3]
    outside = check_positions(place, config.limits)
    words = ", ".join(f"{value:.3f}" for value in place[0])
    return CellCheck(
        "arm: tool in workspace",
        outside.reason if outside else f"({words}) m",
        "inside of the box, above the table",
        outside is None,
    )


def tool_pose(q_rad: tuple[float, ...], config: ArmParameters) -> Array:
    """Return ``T_base_tool`` ``(4, 4)`` (m) at joint angles ``(6,)`` (rad)."""
    return flange_pose(config.model.geometry, q_rad) @ tool_along_z(config.tool_length_m)


def _workspace_check(config: ArmParameters) -> CellCheck:
    limits, needed = config.limits, "the box that you measured"
    box = f"{list(limits.workspace_min_m)} to {list(limits.workspace_max_m)} m"
    if not config.has_own_workspace:
        return CellCheck("arm: workspace", f"{box}, that of the simulated cell", needed, is_ok=False)
    beyond, below = "", limits.below_table()
    try:
        if config.model is not ArmModel.UNSET:
            limits.check_workspace(config.model, config.tool_length_m)
            beyond = limits.beyond_reach(config.model, config.tool_length_m)
    except UserError as error:
        return CellCheck("arm: workspace", str(error), f"{needed}, within reach", is_ok=False)
    notes = [*filter(None, (beyond, below))]
    return CellCheck("arm: workspace", "; ".join((box, *notes)), needed, not notes, CheckResult.WARNING)


def camera_checks(seen: SeenCamera, graph: GraphParameters, clock: Clock = MONOTONIC) -> Iterator[CellCheck]:
    """Yield the checks of a camera's images.

    Args:
        seen: The camera.
        graph: Parameters of the trial.
        clock: Measures how long the gate takes.
    """
    name, lease = seen.view, graph.gate_node.judge.lease
    if not seen.stamps_ns:
        nothing = seen.problem or f"no image of {seen.source}"
        yield CellCheck(f"{name}: images", nothing, "images", is_ok=False)
        return
    yield CellCheck(
        f"{name}: rate",
        f"{seen.rate_hz:.1f} Hz, {len(seen.stamps_ns)} images",
        f"at least {lease.least_rate_hz:.1f} Hz (lease.ttl_s)",
        seen.rate_hz >= lease.least_rate_hz,
    )
    if seen.lost is not None:
        yield _lost_check(seen, seen.lost)
    yield from _time_checks(seen, graph)
    yield CellCheck(
        f"{name}: encoding", seen.problem or f"{seen.encoding} {seen.size_text}", "an image", not seen.problem
    )
    if seen.rgb is not None:
        yield from _calibration_checks(seen, graph, clock)


def _lost_check(seen: SeenCamera, lost: int) -> CellCheck:
    """Return whether the middleware brings the images that a camera of another node publishes."""
    published = lost + len(seen.stamps_ns)
    is_ok = lost <= _LOST_SHARE * published
    found = f"{lost} of {published} images lost on the way"
    if not is_ok and seen.could_resend:
        override = f"camera_node.qos_overrides.{seen.source}.subscription.reliability"
        found += f"; its publisher is reliable: set {override} to reliable, and lost images are sent again"
    elif not is_ok:
        profile = shared_file(_PROFILE)
        found += f"; on this machine, start the camera's node with FASTRTPS_DEFAULT_PROFILES_FILE={profile}"
    return CellCheck(f"{seen.view}: transport", found, f"at most {_LOST_SHARE:.0%} lost", is_ok)


def _time_checks(seen: SeenCamera, graph: GraphParameters) -> Iterator[CellCheck]:
    name, ttl_s = seen.view, graph.gate_node.judge.lease.ttl_s
    steps = seen.steps_s
    counts = {
        "zero": sum(stamp_ns == 0 for stamp_ns in seen.stamps_ns),
        "equal": int((steps == 0.0).sum()),
        "backwards": int((steps < 0.0).sum()),
    }
    yield CellCheck(
        f"{name}: time stamps",
        ", ".join(f"{count} {word}" for word, count in counts.items()),
        "none: each later than the last",
        not any(counts.values()),
    )
    if counts["zero"]:
        return  # gaps and ages are those of no clock
    if len(steps):
        longest_s = float(steps.max())
        yield CellCheck(
            f"{name}: longest gap",
            f"{1e3 * longest_s:.0f} ms",
            f"at most {1e3 * ttl_s:.0f} ms (lease.ttl_s)",
            longest_s <= ttl_s,
        )
    topic = graph.camera_node.topic
    earliest_ms = -1e3 * topic.ahead_s if graph.camera_node.source is CameraSource.TOPIC else 0.0
    low, middle, high = (float(value) for value in np.percentile(seen.ages_ms, (0, 50, 95)))
    yield CellCheck(
        f"{name}: age of images",
        f"{middle:.1f} ms, from {low:.1f}, 95 % to {high:.1f}",
        f"{earliest_ms:.0f} to {1e3 * ttl_s:.0f} ms: clocks agree, images are fresh",
        low >= earliest_ms and high <= 1e3 * ttl_s,
    )


def _calibration_checks(seen: SeenCamera, graph: GraphParameters, clock: Clock) -> Iterator[CellCheck]:
    name, lens = seen.view, seen.lens
    found = "none" if lens is None else f"{lens.width_px}x{lens.height_px}, {lens.model}"
    is_known = lens is not None and f"{lens.width_px}x{lens.height_px}" == seen.size_text
    limit = f"a calibration for {seen.size_text}"
    otherwise = CheckResult.MISSING if lens is None else CheckResult.FAILED
    yield CellCheck(f"{name}: camera_info", found, limit, is_known, otherwise)
    wanted = f"{name} {seen.size_text}"
    if graph.gate_node.calibration == SHIPPED_CALIBRATION:
        shipped = "gate_node.calibration is not set: the shipped file is for simulated cameras"
        yield CellCheck(f"{name}: gate", shipped, wanted, is_ok=False)
        return
    try:
        known = [
            f"{one.view} {one.width_px}x{one.height_px}"
            for one in shared_gate_file(graph.gate_node.calibration).cameras
        ]
    except UserError as error:
        yield CellCheck(f"{name}: gate", str(error), wanted, is_ok=False)
        return
    yield CellCheck(f"{name}: gate", ", ".join(known), wanted, wanted in known)
    if wanted not in known or graph.gate_node.judge.mode is GateMode.OFF or not (seen.steps_s > 0.0).any():
        return
    try:
        yield _lease_check(seen, graph, clock)
    except UserError as error:
        yield CellCheck(f"{name}: lease", str(error), "a judge that works", is_ok=False)


def _lease_check(seen: SeenCamera, graph: GraphParameters, clock: Clock) -> CellCheck:
    """Return whether a lease lives until the next one comes, where that one is late by an image.

    Raises:
        UserError: The judge cannot be loaded.
    """
    ttl_ms = 1e3 * graph.gate_node.judge.lease.ttl_s
    steps_ms = 1e3 * seen.steps_s[seen.steps_s > 0.0]
    gap_ms = max(2.0 * float(np.median(steps_ms)), float(steps_ms.max()))
    age_ms = float(np.percentile(seen.ages_ms, 95))
    judged_ms = _judging_ms(seen, graph, clock)
    needed_ms = gap_ms + age_ms + judged_ms
    return CellCheck(
        f"{seen.view}: lease",
        f"{needed_ms:.0f} ms: {gap_ms:.0f} to the next image but one, its age {age_ms:.0f}, the gate "
        f"{judged_ms:.0f}; more on a busy machine",
        f"at most {ttl_ms:.0f} ms (lease.ttl_s): else a late image slows the arm down",
        needed_ms <= ttl_ms,
        CheckResult.WARNING,
    )


def _judging_ms(seen: SeenCamera, graph: GraphParameters, clock: Clock) -> float:
    """Return how long the gate takes for an image of a camera, in 95 % of some [ms]."""
    options = graph.gate_node.judge
    file = shared_gate_file(graph.gate_node.calibration)
    gate = Gatekeeper(make_judge(options.kind, file, graph.gate_node.policy), options, clock.now_ns)
    times_s = []
    for _ in range(1 + _JUDGED):
        began_s = clock.now_s()
        gate.judge_alone(seen.view, seen.rgb)
        times_s.append(clock.now_s() - began_s)
    return 1e3 * float(np.percentile(times_s[1:], 95))  # the first one loads and compiles


def camera_pose(seen: SeenCamera, graph: GraphParameters, q_rad: tuple[float, ...] | None) -> Array | None:
    """Return ``T_base_camera`` ``(4, 4)`` (m) by the hand-eye calibration; None where it is not known."""
    hand_eye = graph.camera_node.hand_eye
    if seen.view in hand_eye.T_base_camera:
        return np.array(hand_eye.T_base_camera[seen.view]).reshape(4, 4)
    if seen.view in hand_eye.T_flange_camera and q_rad is not None:
        T_base_flange = flange_pose(graph.arm_node.model.geometry, q_rad)
        T_flange_camera: Array = np.array(hand_eye.T_flange_camera[seen.view]).reshape(4, 4)
        return T_base_flange @ T_flange_camera
    return seen.T_base_camera


def tool_pixel(seen: SeenCamera, T_base_camera: Array, point_m: Array) -> Array | None:
    """Return the pixel ``(u, v)`` of a point ``(3,)`` in the base frame (m); None where it is not in front.

    The lens is taken for a pinhole, as everywhere in this package.
    """
    if seen.lens is None:
        return None
    x, y, z = T_base_camera[:3, :3].T @ (point_m - T_base_camera[:3, 3])
    if z < _NEAR_M:
        return None
    model = seen.lens.pinhole
    return np.array([model.fx_px * x / z + model.cx_px, model.fy_px * y / z + model.cy_px])


def hand_eye_check(seen: SeenCamera, T_base_camera: Array | None, point_m: Array | None) -> CellCheck:
    """Return whether a camera sees the tool where its pose says it is."""
    name, limit = f"{seen.view}{HAND_EYE}", "the tool point is in the image"
    if T_base_camera is None:
        return CellCheck(name, "no pose of this camera", limit, is_ok=False, otherwise=CheckResult.MISSING)
    if point_m is None or seen.lens is None or seen.rgb is None:  # each has a check of its own
        found = "arm, image or calibration is missing"
        return CellCheck(name, found, limit, is_ok=False, otherwise=CheckResult.MISSING)
    pixel = tool_pixel(seen, T_base_camera, point_m)
    if pixel is None:
        return CellCheck(name, "the tool is behind the camera", limit, is_ok=False)
    height_px, width_px, _ = seen.rgb.shape
    u, v = pixel
    is_inside = bool(0.0 <= u < width_px and 0.0 <= v < height_px)
    return CellCheck(name, f"({u:.0f}, {v:.0f}) px of {seen.size_text}", limit, is_inside)
