from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.imaging.images import Frame, View
from embodied_iqa.models.subjects.backends.classical.colours import blobs_of, paint_map
from embodied_iqa.models.subjects.backends.classical.perception import SeenObject, look
from embodied_iqa.models.subjects.backends.classical.shapes import Pinhole
from embodied_iqa.world.scenes.scene import Scene, make_scene
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import SimulatedCameras
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Kind

SEEDS = range(10)


def see(frame: Frame) -> tuple[SeenObject, ...]:
    return look(frame).objects


def top_frame(scene: Scene, width_px: int = 640, height_px: int = 480) -> Frame:
    with SceneRenderer(scene, width_px, height_px) as renderer:
        return renderer.frame(View.TOP, World(scene).snapshot())


def with_pixels(frame: Frame, rgb: NDArray[np.uint8]) -> Frame:
    return Frame(frame.view, frame.stamp_ns, np.ascontiguousarray(rgb), frame.intrinsics, frame.T_base_camera)


def realistic_frame(scene: Scene) -> Frame:
    with SceneRenderer(scene, 640, 480) as renderer:
        cameras = SimulatedCameras(renderer, CameraModel.D455, (View.TOP,))
        return cameras.frame(View.TOP, cameras.take(World(scene).snapshot()))


@pytest.mark.parametrize("image", [top_frame, realistic_frame], ids=["ideal", "d455"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_object_of_a_clean_image_is_seen_where_it_is(
    seed: int, image: Callable[[Scene], Frame]
) -> None:
    """Marked or not, small or large, also beside another one of its colour."""
    scene = make_scene(seed)
    seen = see(image(scene))
    assert len(seen) == len(scene.objects)
    for item in scene.objects:
        found = min(seen, key=lambda one: np.hypot(one.fits[0].x_m - item.x_m, one.fits[0].y_m - item.y_m))
        best = found.fits[0]
        assert (found.colour, found.kind, best.size) == (item.colour, item.kind, item.size)
        assert np.hypot(best.x_m - item.x_m, best.y_m - item.y_m) < 0.002
        if item.kind is Kind.CUBE:
            off = (best.yaw_rad - item.yaw_rad + np.pi / 4) % (np.pi / 2) - np.pi / 4
            assert abs(off) < np.deg2rad(8)


def test_another_resolution_sees_the_same():
    scene = make_scene(3)
    large, small = see(top_frame(scene, 1280, 720)), see(top_frame(scene, 320, 240))
    for one, other in zip(large, small, strict=True):
        assert (one.colour, one.kind) == (other.colour, other.kind)
        assert abs(one.fits[0].x_m - other.fits[0].x_m) < 0.004


def test_what_is_seen_depends_on_the_pixels_alone():
    """The image of another scene with this one's camera gives the other scene's objects."""
    one, other = top_frame(make_scene(1)), top_frame(make_scene(2))
    assert see(with_pixels(one, other.rgb)) == see(other)


def test_a_black_a_grey_and_a_noise_image_show_nothing_known():
    frame = top_frame(make_scene(1), 320, 240)
    noise = np.random.default_rng(0).integers(0, 256, frame.rgb.shape, dtype=np.uint8)
    grey = np.repeat(frame.rgb.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    assert see(with_pixels(frame, np.zeros_like(frame.rgb))) == ()
    assert see(with_pixels(frame, grey)) == ()
    assert all(item.kind is None for item in see(with_pixels(frame, noise)))


def test_a_moved_image_moves_what_is_seen():
    scene = make_scene(4)
    frame = top_frame(scene)
    shifted = {item.colour: item for item in see(with_pixels(frame, np.roll(frame.rgb, 30, axis=1)))}
    before = {item.colour: item for item in see(frame)}
    moved = [abs(shifted[c].fits[0].y_m - before[c].fits[0].y_m) for c in shifted.keys() & before.keys()]
    assert len(moved) >= 3
    assert all(0.03 < way < 0.09 for way in moved)


def test_swapped_channels_change_the_colours_that_are_seen():
    frame = top_frame(make_scene(0))
    colours = {item.colour for item in see(frame)}
    assert {item.colour for item in see(with_pixels(frame, frame.rgb[..., ::-1]))} != colours


def test_the_pinhole_inverts_its_own_projection():
    camera = Pinhole(top_frame(make_scene(0)))
    points = np.random.default_rng(2).uniform((-0.7, -0.3, 0.02), (-0.3, 0.3, 0.02), (50, 3))
    for point, pixel in zip(points, camera.pixels(points), strict=True):
        back = camera.on_height(pixel, 0.02)
        assert back is not None
        assert np.allclose(back, point[:2], atol=1e-9)


def test_a_ray_that_never_comes_down_meets_no_height():
    frame = top_frame(make_scene(0))
    level = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 1], [0, 0, 0, 1]])  # looks along +x
    camera = Pinhole(Frame(frame.view, 0, frame.rgb, frame.intrinsics, level))
    middle = np.array([frame.intrinsics.cx_px, frame.intrinsics.cy_px])
    assert camera.on_height(middle, 0.0) is None
    assert camera.on_height(middle - np.array([0, 50]), 0.0) is None
    assert camera.on_height(middle + np.array([0, 50]), 0.0) is not None


def test_blobs_are_the_true_masks():
    scene = make_scene(6)
    with SceneRenderer(scene, 640, 480) as renderer:
        snapshot = World(scene).snapshot()
        frame, masks = renderer.frame(View.TOP, snapshot), renderer.segmentation(View.TOP, snapshot)
    for blob in blobs_of(paint_map(frame.rgb)):
        index = next(i for i, item in enumerate(scene.objects) if item.colour is blob.colour)
        if scene.objects[index].kind is Kind.BUTTON:
            continue  # a part of it only is coloured
        height, width = blob.mask.shape
        truth = masks[blob.top_px : blob.top_px + height, blob.left_px : blob.left_px + width] == index
        assert (blob.mask.astype(bool) & truth).sum() / (blob.mask.astype(bool) | truth).sum() > 0.95


def test_a_frame_is_looked_at_once_and_another_one_anew():
    frame = top_frame(make_scene(0))
    sight = look(frame)
    assert look(frame) is sight
    other = look(with_pixels(frame, np.zeros_like(frame.rgb)))
    assert (len(sight.objects) > 0, other.objects) == (True, ())
    assert look(frame) is not sight, "one frame is kept"


def test_something_in_the_air_is_shown_where_it_is():
    scene = make_scene(3)
    sight = look(top_frame(scene))
    item = scene.objects[0]
    place = np.array([item.x_m, item.y_m, 0.02])
    assert sight.shows(item.colour, place, 0.03)
    assert not sight.shows(item.colour, place + np.array([0, 0.15, 0]), 0.03)
    other = next(one for one in scene.objects if one.colour is not item.colour)
    assert not sight.shows(other.colour, place, 0.03)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("height_m", [0.0, 0.01, 0.05, 0.6])
@pytest.mark.parametrize("grain_px", [1, 5, 12])
def test_noise_before_a_camera_at_the_table_gives_no_warning(height_m: float, grain_px: int):
    clean = top_frame(make_scene(0), 160, 120)
    coarse = np.random.default_rng(grain_px).integers(0, 256, (120 // grain_px, 160 // grain_px, 3))
    grain = np.kron(coarse, np.ones((grain_px, grain_px, 1), np.int64)).astype(np.uint8)
    noise = np.zeros_like(clean.rgb)
    noise[: grain.shape[0], : grain.shape[1]] = grain
    T_base_camera = np.eye(4)
    T_base_camera[2, 3] = height_m
    frame = Frame(clean.view, clean.stamp_ns, noise, clean.intrinsics, T_base_camera)
    assert all(np.isfinite([fit.x_m for item in look(frame).objects for fit in item.fits]))
    look(with_pixels(clean, noise))
