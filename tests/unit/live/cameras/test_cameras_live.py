"""Any camera that sets the pace: images and counts pass, and one that fails leaves the others alone."""

from __future__ import annotations

import importlib
import itertools
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.file_camera import EndOfFramesError, FileCamera
from embodied_iqa.imaging.images.frame import Frame, View, image_frame
from embodied_iqa.imaging.images.hand_eye import fixed_pose
from embodied_iqa.imaging.images.live_camera import CameraLostError, RgbdFrame
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.cameras.live_cameras import LiveCameras
from embodied_iqa.live.cameras.own_cameras import open_own, own_cameras
from embodied_iqa.live.cameras.stored_cameras import open_files
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource
from manual_clock import PATIENCE_S, ManualClock

RGB = np.zeros((4, 6, 3), np.uint8)


@dataclass
class QueueCamera:
    """Delivers what the test puts into its queue."""

    view: View
    shows: queue.Queue[RgbdFrame | Exception] = field(default_factory=queue.Queue)
    closed: threading.Event = field(default_factory=threading.Event)
    remark: str = "6x4, no lens"

    def counts(self) -> dict[str, int]:
        return {"lost": 2}

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        try:
            shown = self.shows.get(timeout=deadline_s)
        except queue.Empty:
            return None
        if isinstance(shown, Exception):
            raise shown
        return shown

    def close(self) -> None:
        self.closed.set()


@dataclass
class StuckCamera(QueueCamera):
    """Knows no deadline: it returns with the next image only, as a driver whose device is gone."""

    def read_rgbd(self, _deadline_s: float) -> RgbdFrame | None:
        return super().read_rgbd(PATIENCE_S)


@dataclass
class Published:
    """A camera node that keeps what it is given."""

    frames: queue.Queue[Frame] = field(default_factory=queue.Queue)
    depths: queue.Queue[Any] = field(default_factory=queue.Queue)
    words: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def rig(self) -> CameraRig:
        def create_publisher(_kind: type, topic: str, **_qos: object) -> SimpleNamespace:
            self.topics.append(topic)
            return SimpleNamespace(publish=self.depths.put)

        logger = SimpleNamespace(info=self.words.append, warning=self.words.append)
        node: Any = SimpleNamespace(get_logger=lambda: logger, create_publisher=create_publisher)
        return CameraRig(node, CameraParameters(), self.frames.put)


@pytest.fixture
def opened() -> Iterator[Callable[..., LiveCameras]]:
    feeds: list[LiveCameras] = []

    def open_them(out: Published, *cameras: QueueCamera, depth: bool = False) -> LiveCameras:
        feeds.append(LiveCameras(out.rig(), cameras, depth=depth))
        return feeds[-1]

    yield open_them
    for feed in feeds:
        feed.close()


def test_images_depth_counts_and_remarks_are_passed_on(opened: Callable[..., LiveCameras]) -> None:
    out, camera = Published(), QueueCamera(View.SIDE)
    feed = opened(out, camera, depth=True)
    frame = image_frame(RGB, View.SIDE)
    camera.shows.put(RgbdFrame(frame, np.full((4, 6), 700, np.uint16), None, 0.001))
    assert out.frames.get(timeout=PATIENCE_S) is frame
    assert out.depths.get(timeout=PATIENCE_S).encoding == "16UC1"
    assert out.topics == ["camera/side/depth/image_raw"]
    assert out.words == ["side: 6x4, no lens"]
    assert feed.health().values == {"side lost": 2}
    assert feed.health().level == DiagnosticStatus.OK
    feed.close()
    assert camera.closed.is_set()


def test_a_camera_that_fails_is_closed_and_reported_and_the_others_go_on(
    opened: Callable[..., LiveCameras],
) -> None:
    out, top, wrist = Published(), QueueCamera(View.TOP), QueueCamera(View.WRIST)
    feed = opened(out, top, wrist)
    top.shows.put(InputError("the cable is loose"))
    assert top.closed.wait(PATIENCE_S)
    assert (feed.health().level, feed.health().message) == (DiagnosticStatus.ERROR, "the cable is loose")
    frame = image_frame(RGB, View.WRIST)
    wrist.shows.put(RgbdFrame(frame))
    assert out.frames.get(timeout=PATIENCE_S) is frame
    wrist.shows.put(EndOfFramesError("all were shown"))
    assert wrist.closed.wait(PATIENCE_S)
    assert out.words[-1] == "wrist: all were shown"
    assert feed.health().message == "the cable is loose", "the end of a recording is no failure"
    assert (out.topics, out.depths.empty()) == ([], True)


def test_a_camera_that_was_lost_is_an_error_until_its_next_image(
    opened: Callable[..., LiveCameras],
) -> None:
    out, top = Published(), QueueCamera(View.TOP)
    feed = opened(out, top)
    frames = [image_frame(RGB, View.TOP), image_frame(RGB, View.TOP)]
    top.shows.put(CameraLostError("silent for 30 s"))
    top.shows.put(CameraLostError("silent for 31 s"))
    top.shows.put(RgbdFrame(frames[0]))
    top.shows.put(CameraLostError("silent for 32 s"))
    top.shows.put(RgbdFrame(frames[1]))
    assert [out.frames.get(timeout=PATIENCE_S) for _ in frames] == frames
    assert feed.health().level == DiagnosticStatus.OK
    assert not top.closed.is_set()
    lost = ["top: silent for 30 s", "top: images again", "top: silent for 32 s", "top: images again"]
    assert out.words[1:] == lost


def test_why_a_camera_is_silent_is_reported() -> None:
    feed = LiveCameras(Published().rig(), [], depth=False, silence=lambda: "no image on /top")
    assert (feed.health().level, feed.health().message) == (DiagnosticStatus.WARN, "no image on /top")
    feed.close()


def test_cameras_that_do_not_return_share_one_deadline_and_publish_nothing_later() -> None:
    out, clock, stuck = Published(), ManualClock(), [StuckCamera(View.TOP), StuckCamera(View.WRIST)]
    feed = LiveCameras(out.rig(), stuck, depth=False, clock=clock)
    with ThreadPoolExecutor(1) as pool:
        clock.outlast(pool.submit(feed.close), 1.5)
    assert out.words[-1] == "top, wrist: not closed within 1.5 s"
    for camera in stuck:
        camera.shows.put(RgbdFrame(image_frame(RGB, camera.view)))
        assert camera.closed.wait(PATIENCE_S)
    assert out.frames.empty()


def test_a_bug_in_a_camera_is_reported_too(
    opened: Callable[..., LiveCameras], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: queue.Queue[threading.ExceptHookArgs] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", ended.put)
    out, top = Published(), QueueCamera(View.TOP)
    feed = opened(out, top)
    top.shows.put(ZeroDivisionError("no exposure\nat all"))
    assert ended.get(timeout=PATIENCE_S).exc_type is ZeroDivisionError
    words = "camera top failed: ZeroDivisionError: no exposure"
    assert (feed.health().level, feed.health().message) == (DiagnosticStatus.ERROR, words)
    assert out.words[-1] == f"top: {words}"
    assert top.closed.is_set()


def test_an_own_camera_that_fails_to_close_is_one_line(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "class Stuck:\n    def __init__(self, view, clock_ns): pass\n    def close(self): 1 / 0\n"
    (tmp_path / "stuck_cameras.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    config = CameraParameters(source=CameraSource.PYTHON, path="stuck_cameras:Stuck", views=(View.TOP,))
    (camera,) = own_cameras(config, lambda: 0)
    with pytest.raises(InputError, match=r"camera top failed to close: ZeroDivisionError"):
        camera.close()


OWN = """
closed = []

class OnlyTop:
    def __init__(self, view, clock_ns):
        if view != "top":
            raise OSError("no such device")
        self.view = view

    def close(self):
        closed.append(self.view)
        raise OSError("it hangs")
"""


def test_own_cameras_are_closed_where_a_further_one_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_top.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    views = (View.TOP, View.WRIST)
    config = CameraParameters(source=CameraSource.PYTHON, path="only_top:OnlyTop", views=views)
    with pytest.raises(InputError, match=r"^only_top:OnlyTop failed: OSError: no such device$"):
        own_cameras(config, lambda: 0)
    assert importlib.import_module("only_top").closed == [View.TOP]


def test_recordings_are_closed_where_a_view_is_not_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[View] = []
    monkeypatch.setattr(FileCamera, "close", lambda camera: closed.append(camera.view))
    write_image(tmp_path / "top" / "1.png", RGB)
    (tmp_path / "wrist").mkdir()
    config = CameraParameters(source=CameraSource.FILES, path=str(tmp_path), views=(View.TOP, View.WRIST))
    with pytest.raises(InputError, match="no "):
        open_files(replace(Published().rig(), config=config))
    assert closed == [View.TOP]


DEEP = """
import numpy as np
from embodied_iqa import Frame, LensCalibration, RgbdFrame

EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
LENS = LensCalibration(6, 4, "plumb_bob", (0.1,) * 5, (9.0, 0, 3, 0, 9.0, 2, 0, 0, 1.0), EYE, (0.0,) * 12)

class Deep:
    remark = "a lens of its own"

    def __init__(self, view, clock_ns):
        self.view, self.clock_ns = view, clock_ns

    def counts(self):
        return {"torn": 3}

    def read_rgbd(self, deadline_s):
        rgb = np.zeros((4, 6, 3), np.uint8)
        frame = Frame(self.view, self.clock_ns(), rgb, LENS.pinhole, None, LENS)
        return RgbdFrame(frame, np.full(DEPTH, 7, np.uint16), None, 1e-3)

    def close(self):
        pass

DEPTH = (4, 6)

def shallow(view, clock_ns):
    return Shallow(view, clock_ns) if view == "wrist" else Deep(view, clock_ns)

class Shallow(Deep):
    read_rgbd = property()

    def read(self, deadline_s):
        return Deep.read_rgbd(self, deadline_s).frame
"""
TOP = np.array([[0, -1, 0, -0.8], [-1, 0, 0, 0.1], [0, 0, -1, 0.7], [0, 0, 0, 1.0]])


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "deep_cameras.py").write_text(DEEP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "deep_cameras", raising=False)
    return importlib.import_module("deep_cameras")


def own(path: str, *views: View) -> CameraParameters:
    return CameraParameters(source=CameraSource.PYTHON, path=path, views=views or (View.TOP,))


@pytest.mark.usefixtures("deep")
def test_own_cameras_with_depth_take_the_pose_of_the_calibration() -> None:
    poses = {View.TOP: fixed_pose(TOP), View.WRIST: lambda stamp_ns: TOP if stamp_ns > 1 else None}
    now_ns = iter((1, 1, 1, 1, 2, 2))  # the camera's stamp, and the time of its arrival
    top, wrist = own_cameras(own("deep_cameras:Deep", View.TOP, View.WRIST), lambda: next(now_ns), poses)
    both = top.read_rgbd(0.0)
    assert both is not None
    assert both.frame.needed_pose() is TOP
    assert both.frame.lens is not None
    assert both.depth is not None
    assert wrist.read_rgbd(0.0) is None
    assert wrist.read_rgbd(0.0) is not None
    assert (top.counts(), wrist.counts()) == ({"without_pose": 0, "torn": 3}, {"without_pose": 1, "torn": 3})


def test_a_wrong_depth_is_one_line(deep: Any) -> None:
    (camera,) = own_cameras(own("deep_cameras:Deep"), lambda: 1)
    deep.DEPTH = (4, 7)
    with pytest.raises(InputError, match=r"camera top delivers a wrong depth; expected \(4, 6\) uint16"):
        camera.read_rgbd(0.0)


def test_an_image_of_another_view_is_never_published_as_one_of_it(deep: Any) -> None:
    deep.swapped = lambda view, clock_ns: deep.shallow("side" if view == "top" else view, clock_ns)
    top, wrist = own_cameras(own("deep_cameras:swapped", View.TOP, View.WRIST), lambda: 1)
    assert wrist.read(0.0) is not None
    with pytest.raises(InputError, match="camera top delivers images of another view; got 'side'"):
        top.read_rgbd(0.0)


@pytest.mark.parametrize("name", ["Deep", "Shallow"])
def test_images_of_own_cameras_whose_stamp_cannot_date_a_lease_are_dropped_and_counted(
    deep: Any, name: str
) -> None:
    stamps_ns = iter((0, 7, 7, 6, 10_000_000_000, 8))
    deep.stamped = lambda view, _clock_ns: getattr(deep, name)(view, lambda: next(stamps_ns))
    lines: list[str] = []
    (camera,) = own_cameras(own("deep_cameras:stamped"), lambda: 10, report=lines.append)
    read = camera.read_rgbd if camera.is_live else camera.read
    passed = [read(0.0) is not None for _ in range(6)]
    assert passed == [False, True, False, False, False, True]
    reasons = ["stamp_zero", "stamp_repeated", "stamp_backwards", "stamp_ahead"]
    assert camera.counts() == {"without_pose": 0, "torn": 3, **dict.fromkeys(reasons, 1)}
    assert [line.split(": ")[:2] for line in lines] == [["top", reason] for reason in reasons]


@pytest.mark.usefixtures("deep")
def test_own_cameras_that_set_the_pace_are_published_with_depth() -> None:
    out = Published()
    times = itertools.count(5)
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=next(times)))
    rig = replace(out.rig(), config=own("deep_cameras:Deep"))
    rig.node.get_clock = lambda: clock  # type: ignore[method-assign]
    feed = open_own(rig)
    try:
        assert out.frames.get(timeout=PATIENCE_S).stamp_ns == 5
        assert out.depths.get(timeout=PATIENCE_S).encoding == "16UC1"
        assert feed.health().values == {"top without_pose": 0, "top torn": 3}
    finally:
        feed.close()


@pytest.mark.usefixtures("deep")
def test_cameras_of_two_kinds_are_refused() -> None:
    rig = replace(Published().rig(), config=own("deep_cameras:shallow", View.TOP, View.SIDE))
    assert all(camera.is_live for camera in own_cameras(rig.config, lambda: 0))
    rig = replace(rig, config=own("deep_cameras:shallow", View.TOP, View.WRIST))
    rig.node.create_subscription = lambda *_arguments: None  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"cameras of two kinds; expected all with read_rgbd, or none"):
        open_own(rig)
