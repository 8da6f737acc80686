"""Images under a schedule: the live node, the headless cameras and rescoring make the same, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.srv import SetDistortion
from numpy.typing import NDArray
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_from_cdr, image_to_cdr, stamp_from_cdr
from embodied_iqa.live.ros.conversion import spec_to_msg, time_of
from embodied_iqa.live.ros.qos import IMAGE
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from embodied_iqa.runs.offline.headless.cameras import HeadlessCameras
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from ros_graph import RosGraph
from runtime_tape import PERIOD_NS, SNAPSHOT, START_NS, Tape, ideal_cameras

SCHEDULES = (
    "burst:start=0.15,length=0.25,every=0.5",
    "ramp:start=0.1,length=0.5",
    "flicker:period=0.3,on=0.4",
    "markov:on=0.15,off=0.15,seed=4",
    "burst:start=0.15,length=0.25,view=top",
    "burst:start=0,length=9,view=wrist",
)
FRAMES = 16
APART_NS = 10 * SECOND_NS
"""Between the starts of two schedules: one node plays them all."""
Digests = dict[int, bytes]


def image(_view: View, stamp_ns: int) -> NDArray[np.uint8]:
    return np.random.default_rng(stamp_ns).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def digest(rgb: NDArray[np.uint8]) -> bytes:
    return blake2b(rgb.tobytes(), digest_size=16).digest()


class Live:
    """The node, and what it has published."""

    def __init__(self, graph: RosGraph) -> None:
        self._graph = graph
        self._publisher = graph.publisher(Image, "/camera/top/image_raw", IMAGE)
        self._out = graph.subscribe_raw(Image, "/distorted/top/image_raw", IMAGE)

    def _shown(self, stamp_ns: int) -> bytes | None:
        return next((cdr for cdr in self._out.messages if stamp_from_cdr(cdr) == stamp_ns), None)

    def _show(self, stamp_ns: int) -> bytes | None:
        if self._shown(stamp_ns) is None:
            self._publisher.publish(image_to_cdr(image(View.TOP, stamp_ns), stamp_ns, "top"))
        return self._shown(stamp_ns)

    def play(self, spec: DistortionSpec, stamps_ns: Sequence[int]) -> Digests:
        """Show an image before the distortion begins, then one of each stamp."""
        graph = self._graph
        graph.wait(lambda: self._show(stamps_ns[0] - PERIOD_NS), "a first image")
        change = {"distortion": spec_to_msg(spec), "from_stamp": time_of(stamps_ns[0])}
        assert graph.call(SetDistortion, "/distortion/set", **change).success
        found = {}
        for stamp_ns in stamps_ns:
            self._show(stamp_ns)
            cdr = graph.wait(lambda stamp_ns=stamp_ns: self._shown(stamp_ns), f"the image of {stamp_ns}")
            found[stamp_ns] = digest(image_from_cdr(cdr).rgb)
        return found


@pytest.fixture(scope="module")
def live(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with RosGraph(ros_domain, tmp_path_factory.mktemp("graph"), ["distortion_node"]) as graph:
        yield Live(graph)


def headless(spec: DistortionSpec, stamps_ns: Sequence[int]) -> Digests:
    gatekeeper = Gatekeeper(StatisticsJudge(()), GateOptions())
    cameras = HeadlessCameras(ideal_cameras(image), FrameDistorter(spec, stamps_ns[0]), gatekeeper, 32)
    for stamp_ns in stamps_ns:
        cameras.take(SNAPSHOT, stamp_ns)
    return {stamp: digest(cameras.frame(View.TOP, Source.DISTORTED, stamp).rgb) for stamp in stamps_ns}


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


class Watching(Rescorer):
    """Keeps what the gate sees."""

    def _judge(self, run: RunRecord, view: View, stamp: int, rgb: NDArray[np.uint8]) -> ImageQuality:
        seen[stamp] = digest(rgb)
        return super()._judge(run, view, stamp, rgb)


seen: Digests = {}


def rescored(path: Path, spec: DistortionSpec, stamps_ns: Sequence[int]) -> Digests:
    tape = Tape(path)
    tape.begin(GateMode.SHADOW, stamps_ns[0], spec)
    for stamp_ns in stamps_ns:
        tape.frame(View.TOP, stamp_ns, image(View.TOP, stamp_ns))
    seen.clear()
    subjects = Subjects(_none, _none, StatisticsJudge(()), GateOptions())
    run = Watching(tape.end(stamps_ns[-1]), subjects).record().runs[0]
    assert run.distortion == spec
    return dict(seen)


@pytest.mark.parametrize("place", range(len(SCHEDULES)), ids=SCHEDULES)
def test_images_are_the_same(place: int, live: Live, tmp_path: Path) -> None:
    schedule, start_ns = SCHEDULES[place], START_NS + place * APART_NS
    stamps_ns = tuple(start_ns + frame * PERIOD_NS for frame in range(FRAMES))
    spec = DistortionSpec("12", 4, seed=9, schedule=schedule)
    images = live.play(spec, stamps_ns)
    assert headless(spec, stamps_ns) == images
    assert rescored(tmp_path / "trial.mcap", spec, stamps_ns) == images
    untouched = [images[stamp] == digest(image(View.TOP, stamp)) for stamp in stamps_ns]
    assert untouched == [spec.level_at(stamp - start_ns, View.TOP) == 0 for stamp in stamps_ns]
    assert all(untouched) if "wrist" in schedule else 0 < sum(untouched) < FRAMES
