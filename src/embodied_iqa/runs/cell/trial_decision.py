"""One decision of the policy on the images that were read of a cell, as in a trial; nothing is moved.

A wrong protocol, convention or unit shows only when the policy is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.limits import LimitKind, check_increments
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.base.kinematics import chain_increments
from embodied_iqa.base.units import MILLISECOND_NS
from embodied_iqa.data.recording.trial_record import failure_in_words
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.pairing import Arrived, missing_pair, paired_stamps
from embodied_iqa.imaging.images.rectifier import Rectifier
from embodied_iqa.models.subjects.inference import InferenceQueue
from embodied_iqa.models.subjects.known_tasks import check_parses
from embodied_iqa.models.subjects.subject_options import Progress, silent
from embodied_iqa.runs.cell.cell_check import CellCheck, CheckResult, camera_pose, tool_pose
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.policy_loading import assumed_tool_pose, load_policy
from embodied_iqa.runs.trial.deciding import DecisionRequest, act
from embodied_iqa.world.protocols import ActionChunk, Vla, close_subject

Array = NDArray[np.float64]

NAME: Final = "policy: test decision"
_OPEN: Final = 0.0
"""State of the gripper, which is not read."""


@dataclass(frozen=True, slots=True, eq=False)
class _Moment:
    """What a policy is shown.

    Attributes:
        graph: Parameters of the trial.
        cameras: As they were seen.
        q_rad: ``(6,)``, joint angles of the arm; None without an arm.
        task: The instruction.
    """

    graph: GraphParameters
    cameras: Mapping[View, SeenCamera]
    q_rad: tuple[float, ...] | None
    task: str

    def request(self, stamp_ns: int) -> DecisionRequest:
        """Return the question without its images, with the gripper open."""
        config, q_rad = self.graph.vla_node, self.q_rad
        joints = config.assumed_q_rad if q_rad is None else q_rad
        T = assumed_tool_pose(config) if q_rad is None else tool_pose(q_rad, self.graph.arm_node)
        return DecisionRequest(
            stamp_ns=stamp_ns,
            source=Source.DISTORTED,
            sequence=1,
            step=0,
            task=self.task,
            T_base_tool=T,
            gripper=_OPEN,
            q_rad=np.array(joints) if config.shows_joints else None,
        )

    def frames(self, views: Sequence[View]) -> dict[View, Frame]:
        """Return the newest image of each camera.

        Raises:
            InputError: One has none, or a trial would never find images that belong together.
        """
        frames = {view: self._frame(view) for view in views}
        stamps = {view: sorted(set(self.cameras[view].stamps_ns)) for view in views}
        arrived = {view: Arrived(those, those) for view, those in stamps.items()}
        tolerance_ns = self.graph.vla_node.policy.pairing_tolerance_ns
        if not paired_stamps(arrived, tolerance_ns):
            raise InputError(missing_pair(arrived, tolerance_ns))
        return frames

    def _frame(self, view: View) -> Frame:
        seen, camera_node = self.cameras.get(view), self.graph.camera_node
        if seen is None or seen.rgb is None:
            raise InputError(f"no image of the {view} camera")
        rgb, lens, T_base_camera = seen.rgb, seen.lens, camera_pose(seen, self.graph, self.q_rad)
        if camera_node.source is CameraSource.TOPIC and camera_node.topic.rectify:
            if lens is None:
                raise InputError(f"an image of the {view} camera cannot be rectified", expected="camera_info")
            rectifier = Rectifier(lens)
            rgb, lens = rectifier.image(rgb), rectifier.lens
            T_base_camera = None if T_base_camera is None else rectifier.pose(T_base_camera)
        intrinsics = None if lens is None else lens.pinhole
        return Frame(view, seen.stamps_ns[-1], rgb, intrinsics, T_base_camera, lens)


def decision_checks(
    graph: GraphParameters,
    cameras: Sequence[SeenCamera],
    q_rad: tuple[float, ...] | None,
    task: str,
    *,
    progress: Progress = silent,
    clock: Clock = MONOTONIC,
) -> Iterator[CellCheck]:
    """Yield what a policy, or each of several that take turns, decides on the newest images.

    Args:
        graph: Parameters of the trial.
        cameras: As they were seen.
        q_rad: ``(6,)``, measured joint angles; None where none were read.
        task: The instruction.
        progress: Takes lines about asking and loading.
        clock: Of the deadline and the time taken.
    """
    moment = _Moment(graph, {seen.view: seen for seen in cameras}, q_rad, task)
    try:
        yield from _decided(moment, progress, clock)
    except UserError as error:
        yield _row(graph, NAME, f"not asked: {error}", is_ok=False)


def _decided(moment: _Moment, progress: Progress, clock: Clock) -> Iterator[CellCheck]:
    """Yield the decisions.

    Raises:
        UserError: The policy cannot be asked.
    """
    config = moment.graph.vla_node
    if all(seen.rgb is None for seen in moment.cameras.values()):
        raise InputError("no camera gave an image")
    if config.has_arm and moment.q_rad is None:
        raise InputError("the joint angles of the arm were not read")
    check_parses(config.subject, moment.task)
    progress(f"asking {config.subject} for one decision: {moment.task}")
    policy = load_policy(config, progress)
    queue: InferenceQueue[Callable[[], ActionChunk], ActionChunk] = InferenceQueue(
        "test decision", lambda calls: [call() for call in calls], limit=1, clock=clock
    )
    try:
        for turn in range(max(1, len(policy.info.parts))):
            yield _decision(moment, policy, turn, queue)
    finally:
        close_subject(policy)
        queue.close()


def _decision(
    moment: _Moment,
    policy: Vla,
    turn: int,
    queue: InferenceQueue[Callable[[], ActionChunk], ActionChunk],
) -> CellCheck:
    info = policy.info.at_turn(turn)
    name = f"{NAME} of {info.name}" if policy.info.parts else NAME
    frames = moment.frames(info.views)
    request = moment.request(frames[info.views[0]].stamp_ns)
    outcome = queue.ask(
        partial(act, policy, request, frames, turn), deadline_s=moment.graph.vla_node.answer_deadline_s
    )
    if outcome.result is None:
        return _row(moment.graph, name, failure_in_words(info.name, outcome.reason), is_ok=False)
    refused = _why_refused(outcome.result, moment.graph)
    found = refused or _words(outcome.result, request.T_base_tool)
    late = _why_too_late(outcome.latency_ms, moment.graph)
    words = f"{found}, after {outcome.latency_ms:.0f} ms{late}"
    otherwise = CheckResult.WARNING if late and not refused else CheckResult.FAILED
    return _row(moment.graph, name, words, is_ok=not (refused or late), otherwise=otherwise)


def _why_too_late(latency_ms: float, graph: GraphParameters) -> str:
    """Return that the image of a decision is too old for the arm once it is there; empty where it is not."""
    oldest_ms = graph.arm_node.controller.max_frame_age_ns / MILLISECOND_NS
    if not graph.vla_node.has_arm or latency_ms <= oldest_ms:
        return ""
    parameter = "arm_node.controller.max_frame_age_ns"
    return f": too late, the arm refuses decisions on images older than {oldest_ms:.0f} ms ({parameter})"


def _why_refused(chunk: ActionChunk, graph: GraphParameters) -> str:
    """Return why the arm would refuse the increments, whatever the scene; empty where it would not."""
    violation = check_increments(chunk.increments, graph.arm_node.limits)
    if violation is None:
        return ""
    is_of_the_arm = violation.kind is not LimitKind.NOT_FINITE
    if is_of_the_arm and not graph.arm_node.robot.is_real:
        return ""
    return f"the arm would refuse it: {violation.reason}"


def _words(chunk: ActionChunk, T_base_tool: Array) -> str:
    if not len(chunk.increments):
        return f"no steps, {chunk.status}: {chunk.reason}"
    ends_m = chain_increments(T_base_tool, chunk.increments)[:, :3, 3] - T_base_tool[:3, 3]
    first_mm, reach_mm = (1e3 * float(np.linalg.norm(ends_m[step])) for step in (0, -1))
    return f"{len(ends_m)} steps: the first {first_mm:.1f} mm, all together {reach_mm:.1f} mm"


def _row(
    graph: GraphParameters,
    name: str,
    found: str,
    *,
    is_ok: bool,
    otherwise: CheckResult = CheckResult.FAILED,
) -> CellCheck:
    who = "that the arm accepts" if graph.arm_node.robot.is_real else "that is finite"
    limit = f"an answer {who} within {graph.vla_node.answer_deadline_s:g} s"
    return CellCheck(name, found, limit, is_ok, otherwise)
