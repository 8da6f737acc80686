"""Any camera that sets the pace: images and counts pass, and one that fails leaves the others alone."""

from __future__ import annotations

import importlib
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import write_picture
from embodied_iqa.imaging.images.file_camera import EndOfFramesError, FileCamera
from embodied_iqa.imaging.images.frame import Frame, View, picture_frame
from embodied_iqa.imaging.images.live_camera import RgbdFrame
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.cameras.live_cameras import LiveCameras
from embodied_iqa.live.cameras.own_cameras import own_cameras
from embodied_iqa.live.cameras.stored_cameras import open_files
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraSource

PATIENCE_S = 20.0
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
class Published:
    """A camera node that keeps what it is given."""

    frames: queue.Queue[Frame] = field(default_factory=queue.Queue)
    depths: queue.Queue[Any] = field(default_factory=queue.Queue)
    words: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def rig(self) -> CameraRig:
        def create_publisher(_kind: type, topic: str, _qos: object) -> SimpleNamespace:
            self.topics.append(topic)
            return SimpleNamespace(publish=self.depths.put)

        logger = SimpleNamespace(info=self.words.append)
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
    frame = picture_frame(RGB, View.SIDE)
    camera.shows.put(RgbdFrame(frame, np.full((4, 6), 700, np.uint16), None, 0.001))
    assert out.frames.get(timeout=PATIENCE_S) is frame
    assert out.depths.get(timeout=PATIENCE_S).encoding == "16UC1"
    assert out.topics == ["/camera/side/depth/image_raw"]
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
    frame = picture_frame(RGB, View.WRIST)
    wrist.shows.put(RgbdFrame(frame))
    assert out.frames.get(timeout=PATIENCE_S) is frame
    wrist.shows.put(EndOfFramesError("all were shown"))
    assert wrist.closed.wait(PATIENCE_S)
    assert out.words[-1] == "wrist: all were shown"
    assert feed.health().message == "the cable is loose", "the end of a recording is no failure"
    assert (out.topics, out.depths.empty()) == ([], True)


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
    write_picture(tmp_path / "top" / "1.png", RGB)
    (tmp_path / "wrist").mkdir()
    config = CameraParameters(source=CameraSource.FILES, path=str(tmp_path), views=(View.TOP, View.WRIST))
    with pytest.raises(InputError, match="no "):
        open_files(replace(Published().rig(), config=config))
    assert closed == [View.TOP]
