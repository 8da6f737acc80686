"""sim_node, cameras, distortion and gate run in lockstep, with the stamps of the world."""

from __future__ import annotations

import select
import time
from collections import defaultdict
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from embodied_iqa_msgs.msg import GateLease, ImageQuality, SimState
from embodied_iqa_msgs.srv import ResetWorld
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_srvs.srv import SetBool

from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.kinematics import TOOL_2F140_M, tool_along_z
from embodied_iqa.imaging.images.image_cdr import image_from_cdr, stamp_from_cdr
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.qos import EVENT, STATE
from embodied_iqa.runs.graph.node_table import resolve
from live_process import COMPLETION_S
from ros_graph import EVERY, Inbox, RosGraph

TASK = "push the blue ball"
TICK_NS = 8_000_000
EPOCH_NS = 100_000_000_000
VIEWS = ("top", "wrist")


class Chain:
    """Messages of the world; the driver of its arm responds where the test lets it."""

    def __init__(self, graph: RosGraph, robot_ip: str) -> None:
        self.graph = graph
        self.robot_ip = robot_ip
        # the world waits for the gate, not for this process: its queues are long enough for a whole run
        self.raw = {v: graph.subscribe_raw(Image, f"/camera/{v}/image_raw", EVENT) for v in VIEWS}
        self.infos = {v: graph.subscribe(CameraInfo, f"/camera/{v}/camera_info", EVENT) for v in VIEWS}
        self.out = {v: graph.subscribe_raw(Image, f"/distorted/{v}/image_raw", EVENT) for v in VIEWS}
        self.leases = graph.subscribe(GateLease, "/gate/lease", EVERY)
        self.qualities = graph.subscribe(ImageQuality, "/gate/quality", EVERY)
        self.snapshots = graph.subscribe(SimState, "/sim/snapshot", EVERY)
        self.joints = graph.subscribe(JointState, "/sim/joint_states", STATE)

    def reset(self, seed: int, task: str = TASK) -> ResetWorld.Response:
        return self.graph.call(ResetWorld, "/sim/reset", scene_seed=seed, instruction=task)

    def run(self, *, running: bool) -> None:
        assert self.graph.call(SetBool, "/sim/run", data=running).success

    def play(self, seed: int, images: int) -> int:
        """Reset the world and run it until so many images are judged; return the first stamp."""
        start_ns = ns_of(self.reset(seed).stamp)
        self.run(running=True)
        self.graph.wait(
            lambda: (
                len(_stamps(self.leases, start_ns)) >= images * len(VIEWS)
                and len(set(_stamps(self.leases, start_ns))) >= images
            ),
            f"{images} leases",
        )
        self.run(running=False)
        return start_ns


def _stamps(inbox: Inbox, start_ns: int) -> list[int]:
    stamps = [ns_of(message.header.stamp) for message in list(inbox.messages)]
    return [stamp for stamp in stamps if start_ns <= stamp < start_ns + EPOCH_NS]


def _images(inbox: Inbox, start_ns: int) -> dict[int, list[bytes]]:
    found = defaultdict(list)
    for cdr in list(inbox.messages):
        if start_ns <= stamp_from_cdr(cdr) < start_ns + EPOCH_NS:
            found[stamp_from_cdr(cdr)].append(cdr)
    return found


@pytest.fixture(scope="module")
def chain(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    folder = tmp_path_factory.mktemp("graph")
    overrides = {
        "sim_node.lockstep_timeout_s": 60.0,
        "sim_node.real_time_factor": 0.0,
        "camera_node.width_px": 320,  # the world goes on when its images are drawn
        "camera_node.height_px": 240,
    }
    nodes = ["sim_node", "camera_node", "distortion_node", "gate_node"]
    with RosGraph(ros_domain, folder, nodes, overrides) as graph:
        graph.activate("gate_node")
        chain = Chain(graph, resolve((), overrides).sim_node.emulator_ip)
        chain.play(1, 2)
        yield chain
    assert "left open" not in graph.processes.log("camera_node").read_text()


def test_but_for_noise_images_depend_on_the_seed_only(chain: Chain) -> None:
    starts = [chain.play(seed, 2) for seed in (7, 7, 8)]
    first = []
    for start_ns in starts:
        cdr = chain.graph.wait(lambda s=start_ns: _images(chain.raw["top"], s).get(s), "the first image")
        first.append(cv2.blur(image_from_cdr(cdr[0]).rgb, (9, 9)).astype(float))
    same, other = (np.abs(first[0] - one).max() for one in first[1:])
    assert same < 5  # the noise also depends on the stamp
    assert other > 50


def test_a_reset_starts_at_the_next_epoch_and_stops_time(chain: Chain) -> None:
    start_ns = chain.play(7, 2)
    stamp_ns = ns_of(chain.reset(7).stamp)
    assert stamp_ns == start_ns + EPOCH_NS
    seen = len(chain.joints)

    def since() -> list[int]:
        """Stamps from the first with the new time on: older joint states may still be on their way."""
        stamps = [ns_of(joints.header.stamp) for joints in chain.joints.messages[seen:]]
        return stamps[stamps.index(stamp_ns) :] if stamp_ns in stamps else []

    chain.graph.wait(lambda: len(since()) >= 3, "news of a world that stands still")
    assert set(since()) == {stamp_ns}


def test_an_unknown_task_is_rejected_and_changes_nothing(chain: Chain) -> None:
    before = ns_of(chain.reset(7).stamp)
    answer = chain.reset(7, "fling the red cube")
    assert not answer.success
    assert "fling" in answer.message
    assert ns_of(chain.reset(7).stamp) == before + EPOCH_NS


def test_every_image_keeps_its_stamp_through_the_chain_and_none_is_lost(chain: Chain) -> None:
    start_ns = chain.play(9, 12)
    judged = sorted(set(_stamps(chain.leases, start_ns)))
    assert len(judged) >= 6
    assert all(stamp % TICK_NS == 0 for stamp in judged)
    for view in VIEWS:
        parts = {
            "raw": lambda v=view: set(_images(chain.raw[v], start_ns)),
            "info": lambda v=view: set(_stamps(chain.infos[v], start_ns)),
            "distorted": lambda v=view: set(_images(chain.out[v], start_ns)),
            "quality": lambda v=view: {
                ns_of(q.header.stamp) for q in list(chain.qualities.messages) if q.view == v
            },
        }
        for name, stamps in parts.items():
            chain.graph.wait(lambda s=stamps: s() >= set(judged), f"{name} of {view} for every lease")
    shown = sorted(set(_stamps(chain.snapshots, start_ns)))
    assert judged == shown[: len(judged)], "no image of the world is left out"


def test_the_world_never_runs_ahead_of_the_arm(chain: Chain) -> None:
    chain.reset(7)
    arm = UrArm(
        UrOptions(ip=chain.robot_ip, state_timeout_s=30.0), tool_along_z(TOOL_2F140_M), simulated_time=True
    )
    try:
        arm.connect()
        arm.idle()
        arm.rearm(
            "a test"
        )  # its round trips end after the world has the answer: now it waits for this driver
        chain.run(running=True)
        answered_ns = 0
        for _ in range(50):
            stamp_ns = _next_stamp(arm, answered_ns)
            assert stamp_ns <= (answered_ns or stamp_ns) + TICK_NS, "it did not wait for the answer"
            answered_ns = stamp_ns
            arm.idle()
        stopped_ns = _next_stamp(arm, answered_ns)
        for _ in range(20):
            chain.run(running=True)
        assert arm.read().stamp_ns == stopped_ns, "it goes on without an answer"
        assert ns_of(chain.joints.last.header.stamp) <= stopped_ns + TICK_NS
        arm.idle()
        assert _next_stamp(arm, stopped_ns) > stopped_ns
    finally:
        arm.close()


def _next_stamp(arm: UrArm, after_ns: int) -> int:
    """Wait for a state of a later time, without answering it.

    States of a time that stands still are answered: the world may wait for the answer to the last of them,
    which arrives after an older one where the driver is late.
    """
    until = time.monotonic() + COMPLETION_S
    while (state := arm.read()) is None or state.stamp_ns <= after_ns:
        assert time.monotonic() < until, "no further state"
        arm.idle()
        select.select([arm.fileno()], [], [], 0.05)
    return state.stamp_ns
