"""After a freeze a live gate judges the newest image and counts the others; in lockstep it judges all."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import GateLease
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.qos import IMAGE, STATE
from ros_graph import RosGraph

MISSED = 8
_IMAGE = np.zeros((480, 640, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("lockstep", "most_judged", "least_late"), [(False, MISSED // 2, MISSED // 2), (True, MISSED, 0)]
)
def test_a_thawed_gate_catches_up(
    ros_domain: int, tmp_path: Path, *, lockstep: bool, most_judged: int, least_late: int
) -> None:
    overrides = {"sim_node.lockstep": lockstep, "distortion_node.preview_every": 0}
    with RosGraph(ros_domain, tmp_path, ["distortion_node", "gate_node"], overrides) as graph:
        graph.activate("gate_node")
        leases = graph.subscribe(GateLease, "/gate/lease", STATE)
        passed_on = graph.subscribe_raw(Image, "/distorted/top/image_raw", IMAGE)
        diagnostics = graph.subscribe(DiagnosticArray, "/diagnostics", 10)
        publisher = graph.publisher(Image, "/camera/top/image_raw", IMAGE)
        stamp_ns = 5_000_000_000

        def show() -> None:
            nonlocal stamp_ns
            stamp_ns += 66_666_667
            publisher.publish(image_to_cdr(_IMAGE, stamp_ns, "top"))

        def is_judged() -> bool:
            return any(ns_of(lease.header.stamp) == stamp_ns for lease in leases.messages)

        def reports() -> list[dict[str, str]]:
            found = [s for m in diagnostics.messages for s in m.status if s.name == "gate_node"]
            return [{value.key: value.value for value in status.values} for status in found]

        def judged_and_late() -> np.ndarray:
            known = len(reports())  # the next report may have been written before the newest lease
            values = graph.wait(lambda: reports()[known + 1 :], "diagnostics")[0]
            judged = sum(int(values[verdict.name.lower()]) for verdict in Verdict)
            return np.array([judged, int(values["late"])])

        graph.wait(lambda: bool(leases) or show(), "a first lease")
        graph.wait(is_judged, "the lease of the newest image")
        before, counts_before = len(passed_on), judged_and_late()
        pid = graph.processes.pid("gate_node")
        os.kill(pid, signal.SIGSTOP)
        try:
            for count in range(1, MISSED + 1):
                show()
                graph.wait(lambda count=count: len(passed_on) >= before + count, "a distorted image")
        finally:
            os.kill(pid, signal.SIGCONT)
        graph.wait(is_judged, "the lease of the newest image")
        judged, late = judged_and_late() - counts_before
        # a thread hands the images over one by one: on a busy machine some are judged in between
        assert judged <= most_judged
        assert late >= least_late
        assert judged + late == MISSED
