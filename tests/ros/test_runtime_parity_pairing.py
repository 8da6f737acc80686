"""Cameras that run freely: the live policy and rescoring decide on the same images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from test_runtime_parity import Policy, _none, image

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.imaging.distortions import FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.world.protocols import close_subject
from policy_bench import TOPICS, Bench
from ros_graph import RosGraph
from runtime_tape import Tape
from trial_recording import NOISE, VIEWS
from wire_servers import serving

TOLERANCE_S = 0.05
EARLY_NS = 25_000_000
"""So much older are the stamps of the wrist camera, whose next image is further away."""


class FreeBench(Bench):
    """Its wrist camera runs at its own time; every frame is recorded before it is shown.

    Attributes:
        tape: Of all frames.
    """

    tape: Tape

    def stamp_of(self, view: View) -> int:
        return self.stamp_ns - (EARLY_NS if view == View.WRIST else 0)

    def image(self, view: View, topic: str) -> NDArray[np.uint8]:
        stamp_ns = self.stamp_of(view)
        rgb = image(view, stamp_ns)
        return rgb if topic == TOPICS[0] else FrameDistorter(NOISE).apply(rgb, view, stamp_ns)

    def show(self) -> None:
        super().show()
        for view in self.views:
            stamp_ns = self.stamp_of(view)
            self.tape.frame(view, stamp_ns, image(view, stamp_ns))


def test_decisions_on_images_of_free_cameras_are_the_same(ros_domain: int, tmp_path: Path) -> None:
    policy, path = Policy(), tmp_path / "trial.mcap"
    with serving(policy.served()) as port:
        reference = f"openpi://127.0.0.1:{port}"
        overrides = {
            "vla_node.subject": reference,
            "vla_node.policy.pairing_tolerance_s": TOLERANCE_S,
        }
        with RosGraph(ros_domain, tmp_path / "graph", ["vla_node"], overrides) as graph:
            graph.activate("vla_node")
            bench = FreeBench(graph, VIEWS)
            bench.tape = Tape(path)
            bench.tape.begin(GateMode.OFF, bench.stamp_ns, NOISE)
            start_ns = bench.begin()
            distorted, raw = bench.decision(start_ns)
            stamp_ns = ns_of(raw.header.stamp)
            assert ns_of(distorted.header.stamp) == stamp_ns
            for topic, message in (("/vla/actions", distorted), ("/vla/reference_actions", raw)):
                bench.tape.write(topic, message)
            bench.tape.end(bench.stamp_ns)
        vla = make_vla(parse_vla(reference))
        rules = StatisticsJudge(()), GateOptions()
        rescorer = Rescorer(path, Subjects(_none, lambda _name: vla, *rules))
        again = rescorer.record().runs[0].chunks
        close_subject(vla)
    live = read_trial(path).runs[0].chunks
    assert not rescorer.failures
    assert len(live) == len(again) == 2
    for said, redone in zip(live, again, strict=True):
        assert (said.stamp_ns, said.status, said.source) == (stamp_ns, redone.status, redone.source)
        assert said.increments.tobytes() == redone.increments.tobytes()
    assert live[0].increments.tobytes() != live[1].increments.tobytes(), "the action changes with any pixel"
