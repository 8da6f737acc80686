import hashlib
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images import Frame, View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, object_position_m
from embodied_iqa.world.simulation.renderer import BACKGROUND, SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Kind

Array = NDArray[np.float64]

SCRIPT = """
import hashlib, sys
import numpy as np
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
qpos = np.frombuffer(bytes.fromhex(sys.stdin.read()))
with SceneRenderer(make_scene(7), 320, 240) as renderer:
    for view in CELL_VIEWS:
        print(hashlib.sha256(renderer.frame(view, WorldSnapshot(0, qpos)).rgb.tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def world():
    return World(make_scene(7))


@pytest.fixture(scope="module")
def renderer(world: World):
    with SceneRenderer(world.scene, 320, 240) as renderer:
        yield renderer


def test_another_process_draws_the_same_image(world: World, renderer: SceneRenderer):
    snapshot = world.snapshot()
    here = [hashlib.sha256(renderer.frame(view, snapshot).rgb.tobytes()).hexdigest() for view in CELL_VIEWS]
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=snapshot.qpos.tobytes().hex(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == here
    assert len(set(here)) == 3


def test_other_scenes_depth_and_masks_in_between_leave_the_image_alone(world: World):
    snapshot = world.snapshot()
    with SceneRenderer(world.scene, 160, 120) as renderer:
        before = renderer.frame(View.TOP, snapshot).rgb
        renderer.depth_m(View.TOP, snapshot)
        renderer.segmentation(View.SIDE, snapshot)
        other = make_scene(8)
        renderer.load(other)
        renderer.frame(View.TOP, World(other).snapshot())
        renderer.load(world.scene)
        assert np.array_equal(renderer.frame(View.TOP, snapshot).rgb, before)


def test_the_floor_is_drawn_last_and_the_image_is_that_of_any_order(
    world: World, renderer: SceneRenderer, monkeypatch: pytest.MonkeyPatch
):
    snapshot = world.snapshot()
    late = {view: renderer.frame(view, snapshot).rgb for view in CELL_VIEWS}
    kinds = [geom.type for geom in renderer._renderer.scene.geoms[: renderer._renderer.scene.ngeom]]
    assert kinds.count(mujoco.mjtGeom.mjGEOM_PLANE) == 1
    plane = kinds.index(mujoco.mjtGeom.mjGEOM_PLANE)
    drawn_later = renderer._renderer.scene.geoms[plane + 1 : len(kinds)]
    assert drawn_later, "shadows, which are transparent"
    assert all(geom.rgba[3] < 1 for geom in drawn_later)
    monkeypatch.setattr(renderer, "_before_floor", mujoco.MjvOption())
    monkeypatch.setattr(renderer, "_floor_alone", mujoco.MjvOption())
    renderer._floor_alone.geomgroup[:] = False
    for view in CELL_VIEWS:
        assert np.array_equal(renderer.frame(view, snapshot).rgb, late[view]), view


def test_a_frame_says_what_it_is(world: World, renderer: SceneRenderer):
    snapshot = WorldSnapshot(42, world.snapshot().qpos)
    for view in CELL_VIEWS:
        frame = renderer.frame(view, snapshot)
        assert (frame.view, frame.stamp_ns) == (view, 42)
        assert frame.rgb.shape == (240, 320, 3)
        assert frame.rgb.dtype == np.uint8
        assert frame.rgb.flags.c_contiguous
        rotation = frame.T_base_camera[:3, :3]
        assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)
        assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_the_wrist_camera_moves_with_the_arm(world: World, renderer: SceneRenderer):
    qpos = world.snapshot().qpos.copy()
    before = renderer.frame(View.WRIST, WorldSnapshot(0, qpos))
    qpos[0] += 0.1
    after = renderer.frame(View.WRIST, WorldSnapshot(0, qpos))
    assert not np.allclose(before.T_base_camera, after.T_base_camera, atol=1e-3)
    assert not np.array_equal(before.rgb, after.rgb)


def project(frame: Frame, point_m: Array):
    x, y, z = frame.T_base_camera[:3, :3].T @ (point_m - frame.T_base_camera[:3, 3])
    pinhole = frame.intrinsics
    return np.array([pinhole.fx_px * x / z + pinhole.cx_px, pinhole.fy_px * y / z + pinhole.cy_px])


def test_intrinsics_and_pose_project_balls_onto_their_pixels():
    checked = 0
    for seed in range(12):
        scene = make_scene(seed)
        if all(item.kind is not Kind.BALL for item in scene.objects):
            continue
        snapshot = World(scene).snapshot()
        with SceneRenderer(scene, 640, 480) as renderer:
            frame, masks = renderer.frame(View.TOP, snapshot), renderer.segmentation(View.TOP, snapshot)
        for index, item in enumerate(scene.objects):
            if item.kind is Kind.BALL:
                seen = np.argwhere(masks == index).mean(axis=0)[::-1]
                assert np.abs(seen - project(frame, object_position_m(scene, snapshot, index))).max() < 1.0
                checked += 1
    assert checked >= 4


def test_depth_puts_the_table_at_height_zero(world: World, renderer: SceneRenderer):
    snapshot = world.snapshot()
    frame, depth_m = renderer.frame(View.TOP, snapshot), renderer.depth_m(View.TOP, snapshot)
    masks = renderer.segmentation(View.TOP, snapshot)
    pinhole = frame.intrinsics
    v, u = np.mgrid[150:235:5, 20:300:5]
    rays = np.stack(
        [(u - pinhole.cx_px) / pinhole.fx_px, (v - pinhole.cy_px) / pinhole.fy_px, np.ones(u.shape)]
    )
    points = frame.T_base_camera[:3, :3] @ (rays * depth_m[v, u]).reshape(3, -1)
    height = points[2] + frame.T_base_camera[2, 3]
    bare = (masks[v, u] == BACKGROUND).ravel()
    assert bare.sum() > 100
    assert np.median(np.abs(height[bare])) < 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_every_object_is_seen_from_the_top_at_home(seed: int):
    scene = make_scene(seed)
    snapshot = World(scene).snapshot()
    with SceneRenderer(scene, 320, 240) as renderer:
        masks = renderer.segmentation(View.TOP, snapshot)
    for index in range(len(scene.objects)):
        rows, columns = np.nonzero(masks == index)
        assert len(rows) > 100
        assert rows.min() > 0
        assert rows.max() < 239
        assert columns.min() > 0
        assert columns.max() < 319


def test_wrong_use_is_refused(renderer: SceneRenderer):
    with pytest.raises(UsageError, match="size"):
        SceneRenderer(make_scene(0), 0, 480)
    with pytest.raises(InputError, match="belong"):
        renderer.frame(View.TOP, WorldSnapshot(0, np.zeros(9)))
    closed = SceneRenderer(make_scene(0), 32, 32)
    closed.close()
    closed.close()
    with pytest.raises(UsageError, match="closed"):
        closed.frame(View.TOP, World(make_scene(0)).snapshot())
