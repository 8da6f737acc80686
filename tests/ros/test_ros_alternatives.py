"""Two policies of different cameras as one: live, headless and rescored, the other decides in its turn."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ArmStatus
from test_runtime_parity import NoisyBench, assert_same, headless_cameras, tape_of

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.messages import ArmMode, ArmState, GoalOutcome, GoalReport, GripperState
from embodied_iqa.arm.robot.messages import ArmStatus as Status
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import ns_of, time_of
from embodied_iqa.live.ros.qos import EVENT
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.serving.questions import chunk_to_map, observation_from
from embodied_iqa.models.subjects.serving.served import ServedSubject
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.runs.offline.headless.policy import HeadlessPolicy
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, Vla, VlaObservation, close_subject
from policy_bench import T_TOOL, TASK
from ros_graph import RosGraph
from runtime_tape import SNAPSHOT
from trial_recording import VIEWS, PixelVla
from wire_servers import serving

AGAIN_NS = 600_000_000
"""More than the time between two decisions."""


def answer(view: View, observation: VlaObservation, *, refuses: bool) -> dict[str, object]:
    """Move by the mean of the image of one camera, or see no target."""
    if refuses:
        return chunk_to_map(ActionChunk.still(ChunkStatus.NO_TARGET, f"the {view} camera"))
    step = np.full((1, 7), observation.frames[view].rgb.mean() / 25500)
    return chunk_to_map(ActionChunk(ChunkStatus.ACT, step, f"the {view} camera"))


def served(view: View, *, refuses: bool = False) -> ServedSubject:
    return ServedSubject(
        replace(PixelVla().info, name=f"{view}-vla", views=(view,)),
        Role.VLA,
        "",
        lambda message: observation_from(message, (view,)),
        lambda questions: [answer(view, question, refuses=refuses) for question in questions],
        batches=False,
    )


def opened(held: ExitStack, reference: str) -> Vla:
    """Make a policy, which the stack closes."""
    vla = make_vla(parse_vla(reference))
    held.callback(close_subject, vla)
    return vla


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


def headless(vla: Vla, held: ChunkRecord, again_ns: int, *, refuses: bool) -> list[ChunkRecord]:
    """Decide on the frames of the live decisions, with reports of the arm as live between them."""
    cameras = headless_cameras()
    policy = HeadlessPolicy(vla, VlaParameters(), cameras)
    policy.set_task(TASK, held.stamp_ns)

    def report(stamp_ns: int, status: Status, ended: GoalReport | None) -> None:
        measured = ArmState(stamp_ns, np.zeros(6), np.zeros(6), GripperState(0.25))
        policy.take_report(ArmReport(measured, status, False, None, ended, 0, 0, T_TOOL))

    def decide(stamp_ns: int) -> tuple[ChunkRecord, ChunkRecord]:
        cameras.take(SNAPSHOT, stamp_ns)
        decided = policy.decide([(stamp_ns, frozenset())], deciding=False)
        assert decided is not None
        return decided

    report(held.stamp_ns, Status(ArmMode.IDLE), None)
    found = decide(held.stamp_ns)
    ended = None if refuses else GoalReport(found[0].sequence, GoalOutcome.REFUSED, "dark")
    mode = ArmMode.IDLE if refuses else ArmMode.HOLDING
    for stamp_ns in (held.stamp_ns + 1, again_ns):
        report(stamp_ns, Status(mode, held_by_gate=not refuses), ended)
    return [*found, *decide(again_ns)]


@pytest.mark.parametrize("refuses", [False, True], ids=["held", "refused"])
def test_the_policy_of_the_other_camera_decides(refuses: bool, ros_domain: int, tmp_path: Path) -> None:
    with ExitStack() as held_open:
        ports = [
            held_open.enter_context(serving(served(VIEWS[0], refuses=refuses))),
            held_open.enter_context(serving(served(VIEWS[1]))),
        ]
        reference = " or ".join(f"openpi://127.0.0.1:{port}" for port in ports)
        with RosGraph(ros_domain, tmp_path / "graph", ["vla_node"], {"vla_node.subject": reference}) as graph:
            graph.activate("vla_node")
            bench, status = NoisyBench(graph, VIEWS), graph.publisher(ArmStatus, "/arm/status", EVENT)
            held = bench.decision(bench.begin())
            bench.stamp_ns += AGAIN_NS
            message = ArmStatus(
                state=ArmStatus.STATE_IDLE if refuses else ArmStatus.STATE_HOLDING,
                held_by_gate=not refuses,
                has_completed=not refuses,
                completed_sequence=held[0].sequence,
            )
            message.header.stamp = time_of(bench.stamp_ns)
            status.publish(message)
            again = bench.decision(bench.stamp_ns - AGAIN_NS)
        vla = opened(held_open, reference)
        stamps_ns = [ns_of(pair[0].header.stamp) for pair in (held, again)]
        paths = [
            tape_of(tmp_path / f"{stamp_ns}.mcap", stamp_ns, *zip(topics, pair, strict=True))
            for stamp_ns, pair in zip(stamps_ns, (held, again), strict=True)
            for topics in [("/vla/actions", "/vla/reference_actions")]
        ]
        live = [chunk for path in paths for chunk in read_trial(path).runs[0].chunks]
        subjects = Subjects(_none, lambda name: opened(held_open, name), StatisticsJudge(()), GateOptions())
        rescored = [chunk for path in paths for chunk in Rescorer(path, subjects).record().runs[0].chunks]
        offline = headless(vla, live[0], stamps_ns[1], refuses=refuses)
    assert [chunk.view for chunk in live] == [VIEWS[0]] * 2 + [VIEWS[1]] * 2
    assert [chunk.reason for chunk in live] == [f"the {chunk.view} camera" for chunk in live]
    names = reference.split(" or ")
    assert [chunk.subject for chunk in live] == [names[0]] * 2 + [names[1]] * 2
    by_kind = {(chunk.view, chunk.source): chunk for chunk in offline}
    for said, repeated in zip(live, rescored, strict=True):
        assert_same(said, repeated)
        assert_same(said, by_kind[said.view, said.source])
    assert {source for _, source in by_kind} == {Source.RAW, Source.DISTORTED}
