"""A repaired image is the same live, headless and rescored, and it is what the policy decides on."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ImageQuality
from numpy.typing import NDArray
from test_runtime_parity import Policy, assert_same

from embodied_iqa.arm.robot.arm_runner import ArmReport
from embodied_iqa.arm.robot.messages import ArmMode, ArmState, ArmStatus, GripperState
from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import Statistic
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeChoice
from embodied_iqa.quality.gate.judges import load_judge
from embodied_iqa.quality.gate.repair import RepairOptions
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.runs.offline.headless.cameras import HeadlessCameras
from embodied_iqa.runs.offline.headless.policy import HeadlessPolicy
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.protocols import Vla, close_subject
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from policy_bench import T_TOOL, TASK, TOPICS, Bench
from ros_graph import EVERY, RosGraph
from runtime_tape import SNAPSHOT, Tape, ideal_cameras
from trial_recording import VIEWS
from wire_servers import serving

DARKNESS = DistortionSpec("19", 4, seed=5)


def image(view: View, stamp_ns: int) -> NDArray[np.uint8]:
    seed = [stamp_ns, CELL_VIEWS.index(view)]
    return np.random.default_rng(seed).integers(130, 200, (48, 64, 3), dtype=np.uint8)


class DarkBench(Bench):
    """Shows another image in each frame and view, distorted as in a run, once the last has its verdicts.

    Of frames that come in a hurry a gate that is late drops some.
    """

    def __init__(self, graph: RosGraph, views: tuple[View, ...], *, repairs: bool) -> None:
        self.listeners = 1, 1 if repairs else 2  # of a gate that repairs the policy gets the distorted images
        super().__init__(graph, views)
        self._qualities = graph.subscribe(ImageQuality, "/gate/quality", EVERY)
        graph.meet("gate_node")  # or of the two verdicts on a frame only the second one comes
        graph.wait(lambda: bool(self._qualities) or self.show(), "a gate that sees images")

    def show(self) -> None:
        if not self._qualities or len(self.verdicts(self.stamp_ns)) == len(self.views):
            super().show()

    def verdicts(self, stamp_ns: int) -> dict[str, ImageQuality]:
        """What the gate has said of a frame, by view."""
        return {m.view: m for m in self._qualities.messages if ns_of(m.header.stamp) == stamp_ns}

    def image(self, view: View, topic: str) -> NDArray[np.uint8]:
        rgb = image(view, self.stamp_ns)
        return rgb if topic == TOPICS[0] else FrameDistorter(DARKNESS).apply(rgb, view, self.stamp_ns)


@pytest.fixture
def calibration(tmp_path: Path) -> Path:
    """Any image passes that is neither too dark nor too bright."""
    bounds = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
    bounds[Statistic.EXPOSURE] = Bounds(0.0, 0.5, 0.8, 1.0)
    cameras = [GateCalibration(view, 64, 48, bounds, 100, "made up") for view in VIEWS]
    save_calibrations(cameras, tmp_path / "cameras.yaml")
    return tmp_path / "cameras.yaml"


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


def decided_headless(vla: Vla, cameras: HeadlessCameras, stamp_ns: int) -> dict[Source, ChunkRecord]:
    policy = HeadlessPolicy(vla, VlaParameters(), cameras)
    policy.set_task(TASK, stamp_ns)
    measured = ArmState(stamp_ns, np.zeros(6), np.zeros(6), GripperState(0.25))
    policy.take_report(ArmReport(measured, ArmStatus(ArmMode.IDLE), False, None, None, 0, 0, T_TOOL))
    decided = policy.decide([(stamp_ns, frozenset())], deciding=False)
    assert decided is not None
    return {chunk.source: chunk for chunk in decided}


@pytest.mark.parametrize("repairs", [True, False])
def test_verdicts_and_decisions_are_the_same(
    repairs: bool, calibration: Path, ros_domain: int, tmp_path: Path
) -> None:
    policy = Policy()
    with serving(policy.served()) as port:
        reference = f"openpi://127.0.0.1:{port}"
        overrides = {
            "gate_node.judge.mode": "on",
            "gate_node.judge.repair.enabled": repairs,
            "gate_node.calibration": str(calibration),
            "vla_node.subject": reference,
        }
        nodes = ["gate_node", "vla_node"]
        with RosGraph(ros_domain, tmp_path / "graph", nodes, overrides) as graph:
            graph.activate(*nodes)
            bench = DarkBench(graph, VIEWS, repairs=repairs)
            distorted, raw = bench.decision(bench.begin())
            stamp_ns = ns_of(raw.header.stamp)
            graph.wait(lambda: len(bench.verdicts(stamp_ns)) == len(VIEWS), "verdicts")
            live_verdicts = {
                view: (Verdict(m.verdict), m.reason) for view, m in bench.verdicts(stamp_ns).items()
            }
        vla = make_vla(parse_vla(reference))
        options = GateOptions(repair=RepairOptions(enabled=repairs))
        judge = load_judge(JudgeChoice(), calibration)
        cameras = HeadlessCameras(
            ideal_cameras(image), FrameDistorter(DARKNESS), Gatekeeper(judge, options), 8
        )
        cameras.take(SNAPSHOT, stamp_ns)
        records = [cameras.judge(view, stamp_ns, stamp_ns)[0] for view in VIEWS]
        headless = decided_headless(vla, cameras, stamp_ns)
        tape = Tape(tmp_path / "trial.mcap")
        tape.begin(GateMode.ON, stamp_ns, DARKNESS)
        for view in VIEWS:
            tape.frame(view, stamp_ns, image(view, stamp_ns))
        tape.write("/vla/actions", distorted)
        tape.write("/vla/reference_actions", raw)
        path = tape.end(stamp_ns)
        again = Rescorer(path, Subjects(_none, lambda _name: vla, judge, options)).record().runs[0]
        close_subject(vla)
    words = "repaired (exposure): exposure" if repairs else "exposure"
    assert all(reason.startswith(words) for _, reason in live_verdicts.values())
    assert {verdict for verdict, _ in live_verdicts.values()} == {Verdict.PASS if repairs else Verdict.HOLD}
    for found in (records, again.verdicts):
        assert {str(v.view): (v.verdict, v.reason) for v in found} == live_verdicts
    live = read_trial(path).runs[0].chunks
    for said, rescored in zip(live, again.chunks, strict=True):
        assert_same(said, rescored)
        assert_same(said, headless[said.source])
    frame = cameras.frame(VIEWS[0], Source.DISTORTED, stamp_ns)
    seen = cameras.policy_frame(VIEWS[0], Source.DISTORTED, stamp_ns)
    assert (frame is seen) is not repairs
