"""RealSense without a camera: librealsense's software device in the real pipeline, bit for bit.

Deadlines and silences are on a clock of the test's own: they pass when the test says so.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.imaging.images.realsense import RealSenseCamera, RealSenseOptions, RecordedRealSense
from embodied_iqa.imaging.images.realsense.capture import play_file
from embodied_iqa.imaging.images.realsense.devices import find_device, load_library
from embodied_iqa.imaging.images.realsense.stamps import ClockDomain
from manual_clock import PATIENCE_S, ManualClock
from software_realsense import SoftwareRealSense

rs = pytest.importorskip("pyrealsense2", reason="needs requirements/hardware.txt")

WIDTH, HEIGHT, RATE = 160, 120, 30
LENS = Intrinsics(WIDTH, HEIGHT, 150.0, 150.0, 79.5, 59.5)
SETTINGS = RealSenseOptions(WIDTH, HEIGHT, RATE, silence_s=15.0, give_up_s=30.0)
MS = 1_000_000
START_NS = 1_000_000 * MS
POSE = np.diag([1.0, -1.0, -1.0, 1.0])


def images(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    return (
        rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8),
        rng.integers(300, 6000, (HEIGHT, WIDTH), dtype=np.uint16),
    )


class Clock:
    """ROS time that the test sets."""

    def __init__(self) -> None:
        self.now_ns = START_NS

    def __call__(self) -> int:
        return self.now_ns


def camera_of(source: SoftwareRealSense, clock: Clock | None = None, **more: object) -> RealSenseCamera:
    devices = more.pop("devices", lambda: [source.device])
    settings = more.pop("settings", SETTINGS)
    pose_at = more.pop("pose_at", lambda _stamp: POSE)
    time = more.pop("time", None) or ManualClock()
    return RealSenseCamera(View.TOP, "A", settings, pose_at, clock or Clock(), devices=devices, clock=time)


def read_in_vain(
    camera: RealSenseCamera, time: ManualClock, deadline_s: float, after: threading.Event | None = None
) -> Frame | None:
    """Read while time passes, once the event has come that has to come first."""
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(camera.read, deadline_s)
        assert after is None or after.wait(PATIENCE_S)
        return time.run_until(reading)


def feed(source: SoftwareRealSense, number: int, **how: object) -> None:
    source.feed(*images(number), number, number * 1e3 / RATE, **how)


def test_pixels_depth_intrinsics_and_stamps() -> None:
    source, clock = SoftwareRealSense("A", LENS, RATE), Clock()
    camera = camera_of(source, clock)
    stamps = []
    for number in range(40):
        feed(source, number)
        clock.now_ns = START_NS + round(number * 1e9 / RATE) + (number % 7) * MS
        both = camera.read_rgbd(2.0)
        assert both is not None
        rgb, depth = images(number)
        assert np.array_equal(both.frame.rgb, rgb)
        assert np.array_equal(both.sensor_depth, depth)
        assert both.frame.rgb.flags.c_contiguous
        stamps.append(both.frame.stamp_ns)
    assert both.frame.intrinsics == LENS
    assert both.depth_unit_m == pytest.approx(0.001)
    assert both.depth_m()[5, 5] == pytest.approx(both.depth[5, 5] / 1000)
    assert np.array_equal(both.frame.T_base_camera, POSE)
    assert np.abs(np.diff(stamps) - 1e9 / RATE).max() < 100_000  # the jitter of 6 ms is gone
    assert camera.lost == 0
    assert camera.lens.distortion_px < 1e-4
    camera.close()
    camera.close()
    with pytest.raises(InputError, match="closed"):
        camera.read(0.0)


def test_images_of_the_simulated_cell_come_through_unchanged() -> None:
    from embodied_iqa.world.scenes.scene import make_scene
    from embodied_iqa.world.simulation.renderer import SceneRenderer, intrinsics_of
    from embodied_iqa.world.simulation.world import World

    scene = make_scene(3)
    source = SoftwareRealSense("A", intrinsics_of(WIDTH, HEIGHT), RATE)
    camera = camera_of(source)
    with SceneRenderer(scene, WIDTH, HEIGHT) as renderer:
        drawn = renderer.frame(View.TOP, World(scene).snapshot())
        depth = np.round(renderer.depth_m(View.TOP, World(scene).snapshot()) * 1e3).astype(np.uint16)
        source.feed(drawn.rgb, depth, 0, 0.0)
        both = camera.read_rgbd(2.0)
    camera.close()
    assert np.array_equal(both.frame.rgb, drawn.rgb)
    assert np.array_equal(both.sensor_depth, depth)
    assert both.frame.intrinsics.fx_px == pytest.approx(
        drawn.intrinsics.fx_px, rel=1e-6
    )  # the library: float32


def test_a_feeding_thread_and_a_reading_one_lose_nothing() -> None:
    source = SoftwareRealSense("A", LENS, RATE)
    camera = camera_of(source)
    taken = threading.Semaphore(8)

    def work() -> None:
        for number in range(120):
            taken.acquire()
            feed(source, number)

    feeder = threading.Thread(target=work)
    feeder.start()
    for number in range(120):
        both = camera.read_rgbd(5.0)
        taken.release()
        assert both is not None
        assert np.array_equal(both.frame.rgb, images(number)[0]), number
    feeder.join(PATIENCE_S)
    assert camera.lost == 0
    camera.close()


def test_lost_images_are_counted() -> None:
    source = SoftwareRealSense("A", LENS, RATE)
    camera = camera_of(source)
    for number in (0, 1, 5, 6):
        feed(source, number)
        assert camera.read(2.0) is not None
    camera.close()
    assert camera.lost == 3


def test_it_is_found_again_after_it_was_unplugged() -> None:
    source, clock, time = SoftwareRealSense("A", LENS, RATE), Clock(), ManualClock()
    plugged = True
    camera = camera_of(source, clock, devices=lambda: [source.device] if plugged else [], time=time)
    feed(source, 0)
    first = camera.read(2.0)
    plugged = False
    assert read_in_vain(camera, time, SETTINGS.silence_s) is None
    assert camera.reconnects == 0, "it has been silent for no longer than silence_s"
    assert read_in_vain(camera, time, 0.001) is None  # gone
    plugged = True
    clock.now_ns += 5_000 * MS
    assert camera.read(0.0) is None  # started again, nothing there yet
    feed(source, 0)
    again = camera.read(2.0)
    assert camera.reconnects == 1
    assert again.stamp_ns > first.stamp_ns
    assert again.stamp_ns == clock.now_ns
    camera.close()


def test_it_gives_up_on_a_camera_that_stays_away() -> None:
    source = SoftwareRealSense("A", LENS, RATE)
    answers = itertools.chain([[source.device]], itertools.repeat([]))
    time = ManualClock()
    camera = camera_of(source, devices=lambda: next(answers), time=time)
    began_s = time.now_s()
    with pytest.raises(InputError, match=r"top camera was away.*serial number A.*available: none.*30 s"):
        read_in_vain(camera, time, 500.0)
    away_s = time.now_s() - began_s - 2 * SETTINGS.silence_s  # the first wait ends just before it is missed
    assert SETTINGS.give_up_s < away_s < SETTINGS.give_up_s + 0.3, "at the next attempt after give_up_s"
    camera.close()


def test_old_images_are_not_returned_as_new() -> None:
    source, clock, time = SoftwareRealSense("A", LENS, RATE), Clock(), ManualClock()
    restarted = threading.Event()

    def devices() -> list[object]:
        restarted.set()
        return [source.device]

    camera = camera_of(source, clock, devices=devices, time=time)
    feed(source, 0)
    assert camera.read(2.0) is not None
    restarted.clear()
    feed(source, 1)
    clock.now_ns += 5_000 * MS
    assert read_in_vain(camera, time, 0.1, after=restarted) is None
    assert camera.reconnects == 1
    camera.close()


def test_an_image_without_a_known_pose_is_left_out_and_counted() -> None:
    source, time, looked = SoftwareRealSense("A", LENS, RATE), ManualClock(), threading.Event()
    camera = camera_of(source, pose_at=lambda _stamp: looked.set(), time=time)
    feed(source, 0)
    assert read_in_vain(camera, time, 0.1, after=looked) is None
    assert camera.counts()["without_pose"] == camera.without_pose == 1
    camera.close()


def test_stamps_of_the_computer_are_refused_unless_allowed() -> None:
    source = SoftwareRealSense("A", LENS, RATE)
    camera = camera_of(source)
    feed(source, 0, domain=ClockDomain.HOST)
    with pytest.raises(InputError, match="allow_host_stamps"):
        camera.read(2.0)
    camera.close()
    allowed = RealSenseOptions(WIDTH, HEIGHT, RATE, allow_host_stamps=True)
    camera = camera_of(source, settings=allowed)
    feed(source, 1, domain=ClockDomain.HOST)
    assert camera.read(2.0) is not None
    camera.close()


def test_three_cameras_by_serial() -> None:
    sources = {serial: SoftwareRealSense(serial, LENS, RATE) for serial in ("A", "B", "C")}
    devices = [source.device for source in sources.values()]
    for serial, source in sources.items():
        assert find_device(devices, serial).get_info(rs.camera_info.serial_number) == serial
        camera = RealSenseCamera(
            View.SIDE, serial, SETTINGS, lambda _: POSE, Clock(), devices=lambda: devices, clock=ManualClock()
        )
        feed(source, ord(serial))
        assert np.array_equal(camera.read(2.0).rgb, images(ord(serial))[0])
        camera.close()
    with pytest.raises(InputError, match="expected serial number X; available: A, B, C"):
        find_device(devices, "X")
    with pytest.raises(UsageError, match=r"several.*A, B, C"):
        find_device(devices, "")
    assert find_device(devices[:1], "") is devices[0]
    with pytest.raises(InputError, match="no RealSense"):
        find_device([], "")


def test_a_mode_that_the_camera_lacks_is_reported_with_those_it_has() -> None:
    source = SoftwareRealSense("A", LENS, RATE)
    with pytest.raises(InputError, match=r"1280x720 at 30 Hz; available: 160x120 at 30 Hz"):
        camera_of(source, settings=RealSenseOptions(1280, 720, RATE))


def test_a_distorted_lens_is_reported_in_pixels() -> None:
    camera = camera_of(SoftwareRealSense("A", LENS, RATE, (0.1, 0.0, 0.0, 0.0, 0.0)))
    corner = np.hypot(79.5, 59.5) / 150  # a corner is at r with r + 0.1 r^3 = corner
    ray = np.roots([0.1, 0.0, 1.0, -corner])
    r = float(ray[np.isreal(ray)].real[0])
    assert camera.lens.distortion_px == pytest.approx(150 * (corner - r), rel=1e-3)
    calibration = camera.lens.calibration
    assert calibration.model == "inverse_brown_conrady", "it is no plumb_bob, which has the inverse formula"
    assert calibration.d == pytest.approx((0.1, 0.0, 0.0, 0.0, 0.0))
    assert calibration.pinhole == LENS
    camera.close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve images recorded by librealsense."""
    path = tmp_path_factory.mktemp("realsense") / "twelve.db3"
    source = SoftwareRealSense("A", LENS, RATE)
    recorder = rs.recorder(str(path), source.device)
    camera = camera_of(source, devices=lambda: [recorder])
    for number in range(12):
        feed(source, number)
        assert camera.read(2.0) is not None
    camera.close()
    recorder = camera = None  # the file is finished when the library lets it go
    return path


def test_a_recording_is_played_whole_and_bit_for_bit(recording: Path) -> None:
    camera = RecordedRealSense(recording, View.TOP, lambda _stamp: POSE)
    got = [camera.read_rgbd(PATIENCE_S) for _ in range(12)]
    with pytest.raises(EndOfFramesError, match="were shown"):
        camera.read_rgbd(PATIENCE_S)
    for number, both in enumerate(got):
        rgb, depth = images(number)
        assert np.array_equal(both.frame.rgb, rgb)
        assert np.array_equal(both.sensor_depth, depth)
    stamps = np.array([both.frame.stamp_ns for both in got])
    assert np.abs(stamps - np.arange(12) * 1e9 / RATE).max() < 1000
    camera.close()


@pytest.mark.parametrize("real_time", [True, False])
def test_a_recording_is_read_when_all_its_sensors_have_started(
    recording: Path, monkeypatch: pytest.MonkeyPatch, real_time: bool
) -> None:
    """The first sensor to start begins to read: images of the other one were lost, rarely."""
    calls = []
    for kind, name in ((rs.playback, "pause"), (rs.pipeline, "start"), (rs.playback, "resume")):
        call = getattr(kind, name)

        def spy(self: Any, *values: Any, call: Callable[..., Any] = call, name: str = name) -> Any:
            calls.append(name)
            return call(self, *values)

        monkeypatch.setattr(kind, name, spy)
    capture = play_file(recording, SETTINGS, real_time=real_time)
    capture.stop()
    assert calls[:3] == ["pause", "start", "resume"]  # then that of the stop


def test_a_recording_can_be_looped_with_rising_stamps_in_ros_time(recording: Path) -> None:
    clock = Clock()
    camera = RecordedRealSense(recording, View.TOP, lambda _stamp: POSE, clock_ns=clock, loop=True)
    stamps = []
    while len(stamps) < 20:
        clock.now_ns += 10 * MS
        frame = camera.read(0.5)
        stamps += [] if frame is None else [frame.stamp_ns]
    assert (np.diff(stamps) > 0).all()
    camera.close()


def test_the_reader_of_a_recording_has_ended_before_its_device_is_freed(recording: Path) -> None:
    """The device that is freed under its reader crashes the process, rarely and only on a busy machine."""
    capture = play_file(recording, SETTINGS, real_time=True)
    pipeline, playback, calls = capture._pipeline, capture.device.as_playback(), []

    def ended(name: str, call: Callable[[], None]) -> Callable[[], None]:
        return lambda: (call(), calls.append(name))[0]

    paused = SimpleNamespace(pause=ended("pause waits for the reader", playback.pause))
    capture._pipeline = SimpleNamespace(stop=ended("stop", pipeline.stop))
    capture._profile = SimpleNamespace(
        get_device=lambda: SimpleNamespace(is_playback=lambda: True, as_playback=lambda: paused)
    )
    capture.stop()
    assert calls == ["stop", "pause waits for the reader"]


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\*\.bag or \*\.db3"):
        RecordedRealSense(tmp_path / "missing.bag", View.TOP, lambda _stamp: POSE)
    broken = tmp_path / "broken.bag"
    broken.write_bytes(b"no bag")
    with pytest.raises(InputError, match="cannot be played"):
        RecordedRealSense(broken, View.TOP, lambda _stamp: POSE)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyrealsense2", None)
    with pytest.raises(MissingDependencyError, match=r"requirements/hardware\.txt.*libusb"):
        load_library()
