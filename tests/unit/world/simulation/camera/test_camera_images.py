"""Images of the camera model: sharpness, chroma, motion, repeatability."""

import hashlib
import math
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, nominal_snapshot, object_position_m
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.development import (
    _through_lens,
    image_of,
    lens_sigma_px,
)
from embodied_iqa.world.simulation.camera.exposure import FULL_SCALE_S, Exposure
from embodied_iqa.world.simulation.camera.kernels import BLOCK_PX, smear
from embodied_iqa.world.simulation.camera.simulated_cameras import Shot, SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer

PERIOD_NS = 66_666_667
AS_RENDERED = Exposure(FULL_SCALE_S, 1.0)
SCENE = make_scene(7)
SCRIPT = """
import hashlib, numpy as np
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.simulation.camera.development import image_of
from embodied_iqa.world.simulation.camera.exposure import Exposure
rgb = np.random.default_rng(1).integers(0, 256, (240, 320, 3), dtype=np.uint8)
print(hashlib.sha256(image_of(rgb, View.WRIST, Exposure(0.01, 2.0), (3, 1, 4)).tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def renderer() -> Iterator[SceneRenderer]:
    with SceneRenderer(SCENE, 320, 240) as made:
        yield made


def pose(time_ns: int, turn_rad: float = 0.0) -> WorldSnapshot:
    q_rad = [HOME_Q_RAD[0] + turn_rad, *HOME_Q_RAD[1:]]
    return replace(nominal_snapshot(SCENE, q_rad), time_ns=time_ns)


def settings(shot: Shot) -> Exposure:
    assert shot.controls is not None
    return shot.controls.exposure(View.WRIST)


def slanted_edge(width_px: int, height_px: int) -> NDArray[np.uint8]:
    """A dark and a bright half, 4 : 1 in light, with an edge 5 degrees off the vertical (ISO 12233)."""
    fine = 8
    x = (np.arange(width_px * fine) + 0.5) / fine - width_px / 2
    y = np.arange(height_px) - height_px / 2
    bright = x[None, :] > math.tan(math.radians(5)) * y[:, None]
    grey = 70 + 70 * bright.reshape(height_px, width_px, fine).mean(axis=2)
    return np.repeat(np.rint(grey).astype(np.uint8)[..., None], 3, axis=2)


def mtf(rgb: NDArray[np.uint8], cycles_a_px: float) -> float:
    """The modulation transfer of a slanted edge: derivative of its profile, oversampled four times."""
    grey = rgb[..., 1].astype(float)
    height, width = grey.shape
    y, x = np.mgrid[0:height, 0:width]
    across = (x - width / 2 + 0.5 - math.tan(math.radians(5)) * (y - height / 2)) * math.cos(math.radians(5))
    bins = np.floor(across * 4).astype(int)
    inside = np.abs(bins) < 64
    count = np.bincount(bins[inside] + 64)[1:]
    profile = np.bincount(bins[inside] + 64, grey[inside])[1:] / count
    line = np.diff(profile) * np.hanning(len(profile) - 1)
    places = np.arange(len(line)) / 4
    return float(abs(np.sum(line * np.exp(-2j * np.pi * cycles_a_px * places))) / abs(line.sum()))


@pytest.mark.parametrize("cycles_a_px", [0.1, 0.2, 0.3])
def test_sharpness_is_that_of_the_point_spread(cycles_a_px: float) -> None:
    edge = slanted_edge(640, 480)
    ours = image_of(edge, View.TOP, AS_RENDERED, (1,))
    blur = math.exp(-2 * (math.pi * lens_sigma_px(640) * cycles_a_px) ** 2)
    assert mtf(ours, cycles_a_px) / mtf(edge, cycles_a_px) == pytest.approx(blur, abs=0.06)


def test_a_mosaic_is_less_sharp_than_combined_pixels() -> None:
    small, large = (
        image_of(slanted_edge(w, h), View.TOP, AS_RENDERED, (1,)) for w, h in ((640, 480), (1280, 720))
    )
    assert mtf(large, 0.3) < 0.9 * mtf(small, 0.3)


def test_two_pixels_share_their_chroma() -> None:
    rgb = np.zeros((64, 128, 3), np.uint8)
    rgb[:, ::2] = 200, 40, 40
    rgb[:, 1::2] = 40, 40, 200
    out = cv2.cvtColor(image_of(rgb, View.TOP, AS_RENDERED, (1,)), cv2.COLOR_RGB2YCrCb).astype(int)
    assert np.abs(out[:, ::2, 1:] - out[:, 1::2, 1:]).mean() < 2


def test_the_corners_are_darker() -> None:
    out = image_of(np.full((480, 640, 3), 150, np.uint8), View.TOP, AS_RENDERED, (1,)).astype(float)
    assert out[:40, :40].mean() < 0.93 * out[220:260, 300:340].mean()


def test_colours_are_those_of_the_scene_where_the_balance_is_neutral() -> None:
    for colour in ((180, 60, 60), (60, 170, 70), (70, 80, 190), (128, 128, 128), (12, 12, 12)):
        rgb = np.full((480, 640, 3), colour, np.uint8)
        seen = image_of(rgb, View.TOP, AS_RENDERED, (1,))[220:260, 300:340]
        assert seen.mean(axis=(0, 1)) == pytest.approx(colour, abs=2.0)


def test_another_process_delivers_the_same_image() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    here = image_of(rgb, View.WRIST, Exposure(0.01, 2.0), (3, 1, 4))
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == hashlib.sha256(here.tobytes()).hexdigest()


def test_odd_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match=r"even width and height.*321x240"):
        image_of(np.zeros((240, 321, 3), np.uint8), View.TOP, AS_RENDERED, (1,))


def test_motion_is_that_of_projected_points(renderer: SceneRenderer) -> None:
    """Independent: an object's centre through the pinhole model of both images."""
    before, now = pose(0), pose(PERIOD_NS, 0.03)
    motion = renderer.motion_px(View.WRIST, before, now, 4)
    frames = [renderer.frame(View.WRIST, snapshot) for snapshot in (before, now)]
    seen = 0
    for index, item in enumerate(SCENE.objects):
        if item.shape.height_m > 0.05:
            continue  # its centre is far below the surface that the camera sees
        centre = np.append(object_position_m(SCENE, now, index), 1.0)
        places = []
        for frame in frames:
            x, y, z, _ = np.linalg.inv(frame.T_base_camera) @ centre
            size = frame.intrinsics
            places.append(np.array([size.fx_px * x / z + size.cx_px, size.fy_px * y / z + size.cy_px]))
        column, row = (places[1] / 4).astype(int)
        if 0 <= row < 45 and 0 <= column < motion.shape[1]:
            seen += 1
            assert motion[row, column] == pytest.approx(places[1] - places[0], abs=0.6)
    assert seen >= 2
    assert np.abs(motion[58:, 35:45]).max() < 1e-6, "the gripper moves with its camera"


def test_a_fixed_camera_sees_only_the_arm_move(renderer: SceneRenderer) -> None:
    before, now = pose(0), pose(PERIOD_NS, 0.03)
    motion = np.abs(renderer.motion_px(View.SIDE, before, now, 4)).max(axis=2)
    changed = np.any(renderer.frame(View.SIDE, before).rgb != renderer.frame(View.SIDE, now).rgb, axis=2)
    moving = motion > 0.05
    assert 0.01 < moving.mean() < 0.5
    assert not changed[:, :4][~moving[:, 0].repeat(4)].any()
    assert changed.reshape(60, 4, 80, 4).any(axis=(1, 3))[moving].mean() > 0.5


def test_smearing_averages_along_the_motion() -> None:
    rgb = np.random.default_rng(2).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    still = np.zeros((48 // BLOCK_PX, 64 // BLOCK_PX, 2), np.float32)
    assert np.array_equal(smear(rgb, still), rgb)
    right = still + np.array([2.0, 0.0], np.float32)
    mean = (np.roll(rgb, 1, axis=1).astype(float) + rgb + np.roll(rgb, -1, axis=1)) / 3
    inside = (slice(None), slice(BLOCK_PX, -BLOCK_PX))
    assert np.abs(smear(rgb, right)[inside] - mean[inside]).max() <= 1
    assert np.array_equal(smear(rgb[:47, :63].copy(), right)[40:, 56:], rgb[40:47, 56:63])


def test_ideal_cameras_deliver_what_is_rendered(renderer: SceneRenderer) -> None:
    cameras = SimulatedCameras(renderer, CameraModel.IDEAL, CELL_VIEWS)
    snapshot = pose(0)
    assert np.array_equal(
        cameras.frame(View.TOP, cameras.take(snapshot)).rgb, renderer.frame(View.TOP, snapshot).rgb
    )


def test_an_image_can_be_drawn_at_any_time_and_a_reset_begins_anew(renderer: SceneRenderer) -> None:
    cameras = SimulatedCameras(renderer, CameraModel.D455, CELL_VIEWS)
    states = [pose(index * PERIOD_NS, 0.01 * index) for index in range(8)]
    shots = [cameras.take(state) for state in states]
    assert cameras.take(states[-1]) is shots[-1]
    at_once = [cameras.frame(View.WRIST, shot).rgb for shot in shots]
    later = [cameras.frame(View.WRIST, shot).rgb for shot in reversed(shots)][::-1]
    assert all(map(np.array_equal, at_once, later))
    cameras.reset()
    again = [cameras.frame(View.WRIST, cameras.take(state)).rgb for state in states]
    assert all(map(np.array_equal, at_once, again))


def test_a_state_that_a_camera_misses_changes_the_images_after_it(renderer: SceneRenderer) -> None:
    states = [pose(index * PERIOD_NS, 0.05 * index**2) for index in range(3)]

    def last(*seen: WorldSnapshot) -> NDArray[np.uint8]:
        cameras = SimulatedCameras(renderer, CameraModel.D455, (View.WRIST,))
        return cameras.frame(View.WRIST, [cameras.take(state) for state in seen][-1]).rgb

    assert np.array_equal(last(*states), last(*states))
    assert not np.array_equal(last(*states), last(states[0], states[2]))
    assert not np.array_equal(last(*states), last(states[2]))


def test_a_camera_whose_images_nobody_asks_for_is_never_rendered(
    renderer: SceneRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[tuple[View, int]] = []
    frame = renderer.frame

    def counted(view: View, snapshot: WorldSnapshot) -> Frame:
        rendered.append((view, snapshot.time_ns))
        return frame(view, snapshot)

    monkeypatch.setattr(renderer, "frame", counted)
    cameras = SimulatedCameras(renderer, CameraModel.D455, CELL_VIEWS)
    shots = [cameras.take(pose(index * PERIOD_NS, 0.01 * index)) for index in range(8)]
    assert rendered == []
    cameras.frame(View.SIDE, shots[4])
    assert rendered == [(View.SIDE, index * PERIOD_NS) for index in (0, 2, 4)], "first, third, and this one"


def test_controls_that_every_camera_has_passed_are_freed(renderer: SceneRenderer) -> None:
    cameras = SimulatedCameras(renderer, CameraModel.D455, (View.WRIST, View.TOP))
    controls = []
    for index in range(9):
        shot = cameras.take(pose(index * PERIOD_NS))
        controls.append(weakref.ref(shot.controls))
        for view in (View.WRIST, View.TOP):
            cameras.frame(view, shot)
    del shot
    assert [item() is None for item in controls] == [True] * 6 + [False] * 3


def test_exposure_follows_what_the_camera_sees(renderer: SceneRenderer) -> None:
    cameras = SimulatedCameras(renderer, CameraModel.D455, (View.WRIST,))
    first = settings(cameras.take(pose(0)))
    looking_up = [HOME_Q_RAD[0], *HOME_Q_RAD[1:3], HOME_Q_RAD[3] + 1.2, *HOME_Q_RAD[4:]]
    away = nominal_snapshot(SCENE, looking_up)
    scales = [
        settings(cameras.take(replace(away, time_ns=index * PERIOD_NS))).scale for index in range(1, 31)
    ]
    steps = np.abs(np.diff(np.log([first.scale, *scales])))
    assert abs(math.log(scales[-1] / first.scale)) > 0.05, "another view has another brightness"
    assert steps.max() < abs(math.log(scales[-1] / first.scale)), "not at once"
    assert steps[-3:].max() < 0.01


@pytest.mark.parametrize("width_px", [320, 640, 1280, 1386, 1388, 1750, 1920])
def test_the_point_spread_has_its_variance_at_every_width_that_is_allowed(width_px: int):
    sigma_px = lens_sigma_px(width_px)
    line = np.zeros((41, 41, 3), np.uint8)
    line[:, 20] = 255
    row = _through_lens(line, sigma_px)[20, :, 0].astype(float)
    variance = float(row @ (np.arange(41) - 20) ** 2 / row.sum())
    assert variance == pytest.approx(sigma_px**2, rel=0.05)
