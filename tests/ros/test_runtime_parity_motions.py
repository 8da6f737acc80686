"""The second stage of the gate gives the same verdicts on decisions live, headless and rescored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk as ChunkMessage
from embodied_iqa_msgs.msg import GateLease
from numpy.typing import NDArray
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import ChunkRecord, MotionVerdict
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import chunk_to_msg, header_of, ns_of, pose_of
from embodied_iqa.live.ros.qos import EVENT, IMAGE
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import parse_judge
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.second_stage import SecondStage
from embodied_iqa.runs.offline.headless.cameras import HeadlessCameras
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from gate_files import HEIGHT_PX, WIDTH_PX, write_gate
from ros_graph import EVERY, RosGraph
from runtime_tape import PERIOD_NS, SNAPSHOT, START_NS, Tape, ideal_cameras

POLICY = "panel-vla-query"
STAGE = SecondStage((0.0, 0.0, 0.0, -1.0, *[0.0] * 6), threshold=0.5, screen=0.9)
"""The expected loss is the probability that the target is not seen."""
SEEN = {0: 0.95, 1: 0.05, 2: 0.625, 3: None}
"""Frame to what the policy reports."""
EXPECTED = [Verdict.PASS, Verdict.HOLD, Verdict.PASS, Verdict.REJECT]


def stamp_of(frame: int) -> int:
    return START_NS + frame * PERIOD_NS


def image(_view: View, stamp_ns: int) -> NDArray[np.uint8]:
    return np.random.default_rng(stamp_ns).integers(30, 90, (HEIGHT_PX, WIDTH_PX, 3), dtype=np.uint8)


def chunk(frame: int) -> ActionChunk:
    return ActionChunk(ChunkStatus.ACT, np.full((1, 7), 0.01), "acts", seen=SEEN[frame])


def message(frame: int, source: Source) -> ChunkMessage:
    made = chunk_to_msg(chunk(frame))
    made.header, made.view, made.source = header_of(stamp_of(frame)), "top", int(source)
    made.sequence, made.subject, made.tool_pose = frame + 1, POLICY, pose_of(np.eye(4))
    return made


class Sees:
    """Reports for each frame what the message said."""

    info = SubjectInfo(POLICY, "1", "reports what it is told", (View.TOP,))

    def act(self, observation: VlaObservation) -> ActionChunk:
        return chunk((observation.frames[View.TOP].stamp_ns - START_NS) // PERIOD_NS)


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


def leases_live(graph: RosGraph) -> list[GateLease]:
    leases = graph.subscribe(GateLease, "/gate/lease", EVERY)
    images = graph.publisher(Image, "/distorted/top/image_raw", IMAGE)
    actions = graph.publisher(ChunkMessage, "/vla/actions", EVENT)

    def show(stamp_ns: int) -> None:
        images.publish(image_to_cdr(image(View.TOP, stamp_ns), stamp_ns, "top"))

    early = iter(range(1, START_NS // 2, PERIOD_NS))
    graph.wait(lambda: bool(leases) or show(next(early)), "a gate that sees images")
    own = lambda: [m for m in leases.messages if ns_of(m.header.stamp) >= START_NS]  # noqa: E731 - polled
    for frame in SEEN:
        early_word = frame % 2  # a decision may arrive before the image that it is about
        if early_word:
            actions.publish(message(frame, Source.DISTORTED))
        show(stamp_of(frame))
        graph.wait(lambda n=frame: len(own()) >= 2 * n + 1, f"lease of frame {frame}")
        if not early_word:
            actions.publish(message(frame, Source.DISTORTED))
        graph.wait(lambda n=frame: len(own()) >= 2 * n + 2, f"lease of decision {frame}")
    return own()


def motions_headless(gatekeeper: Gatekeeper, chunks: Sequence[ChunkRecord]) -> list[MotionVerdict]:
    cameras = HeadlessCameras(ideal_cameras(image), FrameDistorter(None), gatekeeper, 8)
    found = []
    for frame in SEEN:
        cameras.take(SNAPSHOT, stamp_of(frame))
        cameras.judge(View.TOP, stamp_of(frame), stamp_of(frame))
        lease = cameras.judge_decision(chunks[frame], stamp_of(frame))
        assert lease is not None
        found.append(MotionVerdict.of(lease))
    return found


@pytest.mark.parametrize("mode", [GateMode.ON, GateMode.SHADOW])
def test_verdicts_on_decisions_are_the_same(mode: GateMode, ros_domain: int, tmp_path: Path) -> None:
    file = write_gate(tmp_path / "gate", policy=POLICY, second=STAGE)
    overrides = {
        "gate_node.judge.mode": str(mode), "gate_node.judge.kind": "learned",
        "gate_node.calibration": str(file), "vla_node.subject": POLICY,
    }  # fmt: skip
    with RosGraph(ros_domain, tmp_path / "graph", ["gate_node"], overrides) as graph:
        graph.activate("gate_node")
        leases = leases_live(graph)
    tape = Tape(tmp_path / "trial.mcap")
    tape.begin(mode)
    for frame in SEEN:
        tape.frame(View.TOP, stamp_of(frame), image(View.TOP, stamp_of(frame)))
        tape.write("/vla/actions", message(frame, Source.DISTORTED))
        tape.write("/vla/reference_actions", message(frame, Source.RAW))
    for lease in leases:
        tape.write("/gate/lease", lease)
    path = tape.end(stamp_of(max(SEEN)))

    live = read_trial(path).runs[0]
    decided = [chunk for chunk in live.chunks if chunk.source is Source.DISTORTED]
    options = GateOptions(mode=mode, kind=parse_judge("learned"))
    judge = load_judge(options.kind, file, POLICY)
    again = Rescorer(path, Subjects(_none, lambda _name: Sees(), judge, options)).record().runs[0]
    assert [motion.verdict for motion in live.motions] == EXPECTED
    assert [motion.sequence for motion in live.motions] == [frame + 1 for frame in SEEN]
    assert again.motions == live.motions
    assert tuple(motions_headless(Gatekeeper(judge, options), decided)) == live.motions
    frames = [lease for lease in leases if not lease.of_decision]
    assert all(lease.needs_decision == (mode is GateMode.ON) for lease in frames)
    obeyed = [Verdict(lease.verdict) for lease in leases if lease.of_decision]
    assert obeyed == (EXPECTED if mode is GateMode.ON else [Verdict.PASS] * len(EXPECTED))
