"""The gate beside a stack of others: two foreign cameras, a policy that starves, and a mode that changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs.msg import GateLease, ImageQuality
from embodied_iqa_msgs.srv import JudgeImage
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

from embodied_iqa.cli.gate.running import command_of
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.conversion import header_of, ns_of
from embodied_iqa.live.ros.qos import EVENT, SENSOR, STATE
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS
from embodied_iqa.runs.graph.processes import ProcessSpec
from gate_files import HEIGHT_PX, WIDTH_PX, calibration
from ros_graph import EVERY, Inbox, RosGraph

FOREIGN = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
PERIOD_S = 1 / 30
SLOWER = 9
GATE = "/cell1/gate"


class Stack:
    """Two cameras that publish for ever, whose images the test chooses, and what comes of them."""

    def __init__(self, graph: RosGraph) -> None:
        self.graph = graph
        self.leases: Inbox = graph.subscribe(GateLease, f"{GATE}/lease", STATE)
        self.qualities: Inbox = graph.subscribe(ImageQuality, f"{GATE}/quality", EVERY)
        self.passed = {
            view: graph.subscribe(Image, f"{GATE}/passed/{view}/image_raw", EVERY)
            for view in ("top", "wrist")
        }
        self.overlays: Inbox = graph.subscribe(Image, f"{GATE}/overlay/wrist/image_raw", SENSOR)
        self.reports: Inbox = graph.subscribe(DiagnosticArray, "/diagnostics", EVENT)
        graph.meet(GATE)
        self.level = {"top": 200, "wrist": 200}
        self.slow: set[str] = set()
        self.silent: set[str] = set()
        self.shots = {"top": 0, "wrist": 0}
        topics = {"top": "/camera/color/image_raw", "wrist": "/usb_cam/image_raw"}
        for view, topic in topics.items():
            publisher = graph.publisher(Image, topic, FOREIGN)
            graph.node.create_timer(PERIOD_S, partial(self._shoot, view, publisher))

    def _shoot(self, view: str, publisher: Any) -> None:
        self.shots[view] += 1
        if view in self.silent or (view in self.slow and self.shots[view] % SLOWER):
            return
        image = np.full((HEIGHT_PX, WIDTH_PX, 3), self.level[view], np.uint8)
        stamp_ns = self.graph.node.get_clock().now().nanoseconds
        publisher.publish(
            Image(
                header=header_of(stamp_ns, f"{view}_lens"),
                width=WIDTH_PX,
                height=HEIGHT_PX,
                encoding="bgr8",
                step=3 * WIDTH_PX,
                data=image.tobytes(),
            )
        )

    def lease(self, view: str, judged: int) -> GateLease:
        """Return a new lease of a camera with this verdict."""
        seen = len(self.leases)

        def found() -> GateLease | None:
            new = self.leases.messages[seen:]
            return next((one for one in new if (one.view, one.judged) == (view, judged)), None)

        return self.graph.wait(found, f"a lease of the {view} camera with {judged}")

    def after(self, lease: GateLease, view: str) -> list[Image]:
        """Return the images of a camera that were passed on with the stamp of a lease or later."""
        stamp_ns = ns_of(lease.header.stamp)
        return [one for one in self.passed[view].messages if ns_of(one.header.stamp) >= stamp_ns]

    def set(self, name: str, **value: Any) -> Any:
        parameter = Parameter(name=name, value=ParameterValue(**value))
        return self.graph.call(SetParameters, f"{GATE}/set_parameters", parameters=[parameter]).results[0]

    def set_mode(self, word: str) -> Any:
        return self.set("judge.mode", type=ParameterType.PARAMETER_STRING, string_value=word)

    def logged(self, words: str, earlier: str = "") -> str:
        """Return what the gate has logged after ``earlier``, once it holds the words."""
        return self.graph.wait(
            lambda: new if re.search(words, new := self.log().removeprefix(earlier)) else None,
            f"{words} in the log",
        )

    def log(self) -> str:
        """Return what the gate has logged."""
        return self.graph.processes.log("gate").read_text(encoding="utf-8")

    def change(self, transition: int) -> None:
        request = Transition(id=transition)
        assert self.graph.call(ChangeState, f"{GATE}/change_state", transition=request).success


@pytest.fixture(scope="module")
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder: Path = tmp_path_factory.mktemp("gate")
    top = calibration(exposure=Bounds(0.1, 0.3, np.inf, np.inf))
    save_calibrations([top, replace(top, view=View.WRIST)], folder / "mine.yaml")
    values = {argument.name: argument.default for argument in GATE_ARGUMENTS} | {
        "image": "/camera/color/image_raw,/usb_cam/image_raw",
        "views": "top,wrist",
        "calibration": str(folder / "mine.yaml"),
        "namespace": "cell1",
    }
    gate = ProcessSpec("gate", tuple(command_of(values)))
    with RosGraph(ros_domain, folder / "graph", [], extra=(gate,)) as graph:
        yield Stack(graph)


def test_an_unchanged_policy_gets_the_good_images_and_starves_of_the_bad_ones(stack: Stack) -> None:
    passed = stack.lease("wrist", GateLease.VERDICT_PASS)
    stamp_ns = ns_of(passed.header.stamp)
    assert passed.header.frame_id == "wrist_lens"
    assert passed.mode == GateLease.MODE_ON
    assert stamp_ns < ns_of(passed.expires) <= stamp_ns + 120_000_000
    images = stack.passed["wrist"]
    found = stack.graph.wait(
        lambda: next((one for one in images.messages if ns_of(one.header.stamp) == stamp_ns), None),
        "the image of the lease",
    )
    assert (found.encoding, found.header.frame_id) == ("bgr8", "wrist_lens")
    assert np.unique(np.frombuffer(found.data, np.uint8)).tolist() == [200]

    stack.level["wrist"] = 0
    held = stack.lease("wrist", GateLease.VERDICT_REJECT)
    assert held.verdict == GateLease.VERDICT_REJECT
    assert held.reason.startswith("exposure")
    assert stack.lease("top", GateLease.VERDICT_PASS).verdict == GateLease.VERDICT_PASS
    stack.graph.wait(lambda: stack.after(held, "top"), "a later image of the other camera")
    assert ns_of(stack.lease("wrist", GateLease.VERDICT_REJECT).header.stamp) > ns_of(held.header.stamp)
    assert not stack.after(held, "wrist"), "nothing of it comes through"
    quality = stack.graph.wait(
        lambda: next((one for one in stack.qualities.messages if one.header == held.header), None),
        "its quality",
    )
    exposure = next(item.value for item in quality.statistics if item.name == "exposure")
    assert (quality.verdict, exposure) == (ImageQuality.VERDICT_REJECT, 0.0)
    stack.logged(r"\bwrist: a hold begins, REJECT: exposure")
    shown = stack.graph.wait(lambda: stack.overlays.messages[-1:], "an image with its verdict")[0]
    assert (shown.width, shown.encoding, shown.header.frame_id) == (WIDTH_PX, "rgb8", "wrist_lens")
    assert shown.height > HEIGHT_PX


def test_the_mode_changes_where_that_moves_nothing(stack: Stack) -> None:
    stack.level["wrist"] = 0
    stack.lease("wrist", GateLease.VERDICT_REJECT)
    refused = stack.set_mode("shadow")
    assert not refused.successful
    assert "the gate holds (wrist: exposure" in refused.reason
    assert "shadow would release the robot at this moment; deactivate the gate first" in refused.reason
    assert stack.set_mode("sharp").reason.endswith("got 'sharp'; available: on, shadow, off")
    other = stack.set("views", type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=["top"])
    assert not other.successful
    assert other.reason.endswith(
        "read-only parameter: views: it holds from the start of the node; to set: judge.mode"
    )

    stack.change(Transition.TRANSITION_DEACTIVATE)
    assert stack.set_mode("shadow").successful
    stack.change(Transition.TRANSITION_ACTIVATE)
    shadow = stack.lease("wrist", GateLease.VERDICT_REJECT)
    assert (shadow.verdict, shadow.mode) == (GateLease.VERDICT_PASS, GateLease.MODE_SHADOW)
    assert shadow.reason.startswith("exposure")

    on = stack.set("judge.mode", type=ParameterType.PARAMETER_BOOL, bool_value=True)
    assert on.successful, "`ros2 param set` reads on as a bool"
    obeyed = stack.graph.wait(
        lambda: next((one for one in reversed(stack.leases.messages) if one.mode == GateLease.MODE_ON), None),
        "a lease of the mode on",
    )
    assert obeyed.view in {"top", "wrist"}


def test_one_image_is_judged_alone(stack: Stack) -> None:
    dark = Image(width=WIDTH_PX, height=HEIGHT_PX, encoding="mono8", step=WIDTH_PX)
    dark.header = header_of(7, "a_lens")
    dark.data = bytes(WIDTH_PX * HEIGHT_PX)
    found = stack.graph.call(JudgeImage, f"{GATE}/judge", view="top", image=dark)
    assert (found.success, found.message) == (True, "")
    assert (found.quality.verdict, found.quality.header) == (ImageQuality.VERDICT_REJECT, dark.header)
    assert found.quality.reason.startswith("exposure")
    stack.level["top"] = 200
    assert stack.lease("top", GateLease.VERDICT_PASS).reason == "", "its history knows nothing of it"
    unnamed = stack.graph.call(JudgeImage, f"{GATE}/judge", image=dark)
    assert (unnamed.success, unnamed.message) == (
        False,
        "the request names no camera; available: top, wrist",
    )
    rejected = (ImageQuality.VERDICT_REJECT, ImageQuality.VERDICT_REJECT)
    assert (unnamed.quality.verdict, unnamed.quality.frame_verdict) == rejected, "not PASS, which is 0"


def test_diagnostics_warn_of_an_inactive_gate_and_of_a_second_one(stack: Stack) -> None:
    def warned(words: str) -> bool:
        seen = [one for report in stack.reports.messages[before:] for one in report.status]
        return any(words in one.message for one in seen if one.level == DiagnosticStatus.WARN)

    before = len(stack.reports)
    stack.change(Transition.TRANSITION_DEACTIVATE)
    stack.graph.wait(lambda: warned("not active: no lease, so nothing may move"), "a warning: not active")
    stack.change(Transition.TRANSITION_ACTIVATE)
    assert not warned("publishers")
    second = stack.graph.node.create_publisher(GateLease, f"{GATE}/lease", STATE)
    words = f"2 publishers of {GATE}/lease: expected one gate"
    stack.graph.wait(lambda: warned(words), "a warning: a second gate")
    stack.graph.close_publisher(second)


def test_diagnostics_name_the_gate_and_count(stack: Stack) -> None:
    def counted() -> dict[str, str] | None:
        statuses = [status for report in stack.reports.messages for status in report.status]
        values = [{v.key: v.value for v in s.values} for s in statuses if s.name == "cell1/gate"]
        return next((found for found in reversed(values) if int(found.get("pass", "0")) > 0), None)

    counts = stack.graph.wait(counted, "diagnostics of the gate")
    assert {"hold", "reject", "latency_ms"} <= set(counts)
    stamps = {f"stamp_{what}" for what in ("zero", "repeated", "backwards", "ahead")}
    of_a_camera = {name.partition(" ")[2] for name in counts if name.startswith("wrist ")}
    assert of_a_camera == {"lost", "damaged", "too_old", *stamps}, "what can happen to an image alone"


def test_a_camera_that_is_slower_than_its_leases_is_named_until_it_is_fast_again(stack: Stack) -> None:
    def newest() -> DiagnosticStatus | None:
        seen = [one for report in stack.reports.messages[before:] for one in report.status]
        return next((one for one in reversed(seen) if one.name == "cell1/gate"), None)

    def is_named() -> bool:
        found = newest()
        return found is not None and "set judge.lease.ttl_s to " in found.message

    before = len(stack.reports)
    stack.level = {"top": 200, "wrist": 200}
    stack.slow = {"top"}
    stack.graph.wait(is_named, "a warning of the slow camera")
    named = newest()
    assert named is not None
    assert named.level == DiagnosticStatus.WARN
    assert re.search(r"top arrives at \d\.\d Hz and its leases last 0\.12 s: set", named.message)
    stack.slow = set()
    stack.graph.wait(lambda: not is_named(), "the end of the warning")
    stack.slow = {"top"}
    stack.graph.wait(is_named, "the warning once more")
    stack.slow = set()
    assert stack.log().count("set judge.lease.ttl_s to ") == 1, "once in the log"


def test_the_log_says_when_a_hold_ends_also_of_a_camera_that_was_silent(stack: Stack) -> None:
    stack.level = {"top": 0, "wrist": 0}
    stack.lease("top", GateLease.VERDICT_REJECT)
    before = stack.log()
    stack.level = {"top": 200, "wrist": 200}
    stack.logged(r"top: the hold ends after \d+\.\d\d s", before)

    before = stack.log()
    stack.silent = {"top"}
    stack.logged(r"no image of top on \S+ for 2 s", before)
    before = stack.log()
    stack.silent = set()
    said = stack.logged(r"top: the hold ends after \d+\.\d\d s", before)
    assert float(re.findall(r"top: the hold ends after (\d+\.\d\d) s", said)[0]) >= 2.0
