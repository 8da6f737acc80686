"""Images under a schedule: the live node, the headless cameras and rescoring make the same, bit for bit."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from embodied_iqa_msgs.srv import SetDistortion
from numpy.typing import NDArray
from sensor_msgs.msg import Image

from embodied_iqa.arm.verdict import GateMode
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
STAMPS_NS = tuple(START_NS + frame * PERIOD_NS for frame in range(16))
Digests = dict[int, bytes]


def image(_view: View, stamp_ns: int) -> NDArray[np.uint8]:
    return np.random.default_rng(stamp_ns).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def digest(rgb: NDArray[np.uint8]) -> bytes:
    return blake2b(rgb.tobytes(), digest_size=16).digest()


def live(folder: Path, domain: int, spec: DistortionSpec) -> Digests:
    with RosGraph(domain, folder, ["distortion_node"]) as graph:
        publisher = graph.publisher(Image, "/camera/top/image_raw", IMAGE)
        out = graph.subscribe_raw(Image, "/distorted/top/image_raw", IMAGE)

        def shown(stamp_ns: int) -> bytes | None:
            return next((cdr for cdr in out.messages if stamp_from_cdr(cdr) == stamp_ns), None)

        def show(stamp_ns: int) -> bytes | None:
            if shown(stamp_ns) is None:
                publisher.publish(image_to_cdr(image(View.TOP, stamp_ns), stamp_ns, "top"))
            return shown(stamp_ns)

        graph.wait(lambda: show(START_NS - PERIOD_NS), "a first image")
        change = {"distortion": spec_to_msg(spec), "from_stamp": time_of(START_NS)}
        assert graph.call(SetDistortion, "/distortion/set", **change).success
        found = {}
        for stamp_ns in STAMPS_NS:
            show(stamp_ns)
            cdr = graph.wait(lambda stamp_ns=stamp_ns: shown(stamp_ns), f"the image of {stamp_ns}")
            found[stamp_ns] = digest(image_from_cdr(cdr).rgb)
        return found


def headless(spec: DistortionSpec) -> Digests:
    gatekeeper = Gatekeeper(StatisticsJudge(()), GateOptions())
    cameras = HeadlessCameras(ideal_cameras(image), FrameDistorter(spec, START_NS), gatekeeper, 32)
    for stamp_ns in STAMPS_NS:
        cameras.take(SNAPSHOT, stamp_ns)
    return {stamp: digest(cameras.frame(View.TOP, Source.DISTORTED, stamp).rgb) for stamp in STAMPS_NS}


def _none(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not in the recording")


class Watching(Rescorer):
    """Keeps what the gate sees."""

    def _judge(self, run: RunRecord, view: View, stamp: int, rgb: NDArray[np.uint8]) -> ImageQuality:
        seen[stamp] = digest(rgb)
        return super()._judge(run, view, stamp, rgb)


seen: Digests = {}


def rescored(path: Path, spec: DistortionSpec) -> Digests:
    tape = Tape(path)
    tape.begin(GateMode.SHADOW, START_NS, spec)
    for stamp_ns in STAMPS_NS:
        tape.frame(View.TOP, stamp_ns, image(View.TOP, stamp_ns))
    seen.clear()
    subjects = Subjects(_none, _none, StatisticsJudge(()), GateOptions())
    run = Watching(tape.end(STAMPS_NS[-1]), subjects).record().runs[0]
    assert run.distortion == spec
    return dict(seen)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_images_are_the_same(schedule: str, ros_domain: int, tmp_path: Path) -> None:
    spec = DistortionSpec("12", 4, seed=9, schedule=schedule)
    images = live(tmp_path / "graph", ros_domain, spec)
    assert headless(spec) == images
    assert rescored(tmp_path / "trial.mcap", spec) == images
    untouched = [images[stamp] == digest(image(View.TOP, stamp)) for stamp in STAMPS_NS]
    assert untouched == [spec.level_at(stamp - START_NS, View.TOP) == 0 for stamp in STAMPS_NS]
    assert all(untouched) if "wrist" in schedule else 0 < sum(untouched) < len(STAMPS_NS)
