"""Two camera processes that get the same states of the world publish the same images, bit for bit."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from embodied_iqa_msgs.msg import SimState
from sensor_msgs.msg import Image

from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
from embodied_iqa.live.ros.conversion import header_of
from embodied_iqa.live.ros.qos import EVENT, STATE
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.processes import ProcessSpec
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import nominal_snapshot
from ros_graph import RosGraph

VIEWS = ("top", "wrist")
PERIOD_NS = 66_666_667
EPOCH_NS = 100_000_000_000
SEED = 7


def stamp_of(epoch: int, number: int) -> int:
    return epoch * EPOCH_NS + number * PERIOD_NS


def state_of(epoch: int, number: int) -> SimState:
    """Return a state in which the arm speeds up, so that exposure and motion blur change."""
    q_rad = [HOME_Q_RAD[0] + 0.02 * number**2, *HOME_Q_RAD[1:]]
    qpos = nominal_snapshot(make_scene(SEED), q_rad).qpos.tolist()
    return SimState(header=header_of(stamp_of(epoch, number)), epoch=epoch, scene_seed=SEED, qpos=qpos)


def test_two_camera_processes_render_bit_identical_images(ros_domain: int, tmp_path: Path) -> None:
    camera = next(entry for entry in GRAPH if entry.name == "camera_node")
    command = (*command_of(camera, tmp_path / "parameters.yaml"), "-r", "__node:=second_camera_node")
    extra = ProcessSpec("second_camera_node", command)
    overrides = {"camera_node.views": list(VIEWS)}
    with RosGraph(ros_domain, tmp_path, ["camera_node"], overrides, (extra,)) as graph:
        inboxes = {v: graph.subscribe_raw(Image, f"/camera/{v}/image_raw", EVENT) for v in VIEWS}
        world = graph.publisher(SimState, "/sim/snapshot", STATE, listeners=2)

        def images(epoch: int, number: int, view: str) -> list[bytes]:
            by_stamp = defaultdict(list)
            for cdr in list(inboxes[view].messages):
                by_stamp[stamp_from_cdr(cdr)].append(cdr)
            return by_stamp[stamp_of(epoch, number)]

        def drawn_by_both(epoch: int, number: int) -> bool:
            return all(len(images(epoch, number, view)) == 2 for view in VIEWS)

        shown = 0

        def both_listen() -> bool:
            nonlocal shown
            if any(drawn_by_both(1, number) for number in range(shown)):
                return True
            world.publish(state_of(1, shown))
            shown += 1
            return False

        graph.wait(both_listen, "images of both cameras")
        for number in range(6):  # the controls see the first and every third state
            world.publish(state_of(2, number))
            graph.wait(lambda n=number: drawn_by_both(2, n), f"image {number} of both cameras")
            for view in VIEWS:
                one, other = images(2, number, view)
                assert one == other
    for name in ("camera_node", "second_camera_node"):
        assert "left open" not in graph.processes.log(name).read_text()
