"""Renderer of the cell from a scene and a snapshot: bit-identical in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import MissingDependencyError, UsageError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.world.scenes.clutter import Clutter
from embodied_iqa.world.scenes.dimensions import VERTICAL_FOV_RAD
from embodied_iqa.world.scenes.scene import Background, Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot, check_qpos
from embodied_iqa.world.simulation.cell_model import MAX_HEIGHT_PX, MAX_WIDTH_PX, build_model
from embodied_iqa.world.simulation.engine import load_triton, mujoco
from embodied_iqa.world.simulation.graphics_contexts import GraphicsContext
from embodied_iqa.world.simulation.room_model import FLOOR_GROUP
from embodied_iqa.world.simulation.shadows import Shadows
from embodied_iqa.world.tasks.vocabulary import Mark

_MAX_GEOMS: Final = 1000
_NEAR_M: Final = 1e-3
BACKGROUND: Final = -1
"""Index in a segmentation of everything but the objects."""


def intrinsics_of(width_px: int, height_px: int) -> Intrinsics:
    """Return the pinhole model of the simulated cameras at a resolution."""
    focal_px = height_px / 2 / float(np.tan(VERTICAL_FOV_RAD / 2))
    return Intrinsics(width_px, height_px, focal_px, focal_px, (width_px - 1) / 2, (height_px - 1) / 2)


def check_image_size(width_px: int, height_px: int) -> None:
    """Check that images of a resolution can be drawn.

    Raises:
        UsageError: It is too large or not positive.
    """
    if not (0 < width_px <= MAX_WIDTH_PX and 0 < height_px <= MAX_HEIGHT_PX):
        raise UsageError(
            "bad image size",
            expected=f"up to {MAX_WIDTH_PX}x{MAX_HEIGHT_PX}",
            got=f"{width_px}x{height_px}",
        )


class Closable:
    """A context manager that owns a renderer; closing it releases the graphics context.

    Nothing else does, see `graphics_contexts`: the owner closes it, in the thread that made it.
    """

    _renderer: Any = None

    def close(self) -> None:
        """Release the graphics context; calling it twice is fine.

        Raises:
            InternalError: Another thread made it.
        """
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SceneRenderer(Closable):
    """Draws one scene at one resolution. Bound to the thread that made it, as its graphics context is.

    Args:
        scene: What is on the table.
        width_px: Width of the images.
        height_px: Height of the images.
        fine: Anti-aliasing, for images shown to people: several times slower.
        backgrounds: Further backgrounds whose materials `model` contains.
        marks: Further marks whose textures `model` contains.
        clutter: Further clutter that `model` contains.

    Attributes:
        context: The graphics context; stays the same when another scene is loaded.

    Raises:
        UsageError: The resolution is too large or not positive.
        MissingDependencyError: No graphics context can be opened.
    """

    def __init__(
        self,
        scene: Scene,
        width_px: int,
        height_px: int,
        *,
        fine: bool = False,
        backgrounds: Sequence[Background] = (),
        marks: Sequence[Mark] = (),
        clutter: Sequence[Clutter] = (),
    ) -> None:
        check_image_size(width_px, height_px)
        self._fine = fine
        self._backgrounds, self._marks, self._clutter = tuple(backgrounds), tuple(marks), tuple(clutter)
        self._intrinsics = intrinsics_of(width_px, height_px)
        self.context = GraphicsContext()
        self.load(scene)

    def load(self, scene: Scene) -> None:
        """Load another scene."""
        self.close()
        try:
            self._open(scene)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """See `Closable`."""
        self.context.close()
        self._renderer = None

    def _open(self, scene: Scene) -> None:
        size = self._intrinsics
        self._scene = scene
        self._model: Any = build_model(
            scene,
            fine=self._fine,
            image_px=(size.width_px, size.height_px),
            backgrounds=self._backgrounds,
            marks=self._marks,
            clutter=self._clutter,
        )
        self.light = scene.light
        self._data: Any = mujoco.MjData(self._model)
        self._object_of_geom = _objects_of_geoms(self._model, len(scene.objects))
        self._shadows = Shadows(self._model, self.object_of_geom)
        load_triton()
        try:
            self.context.open(
                mujoco.Renderer,
                self._model,
                size.height_px,
                size.width_px,
                max_geom=_MAX_GEOMS,
                font_scale=mujoco.mjtFontScale.mjFONTSCALE_50,  # the fastest to load; unused
            )
        except (ImportError, RuntimeError, AttributeError, OSError) as error:
            raise MissingDependencyError(
                f"no off-screen graphics context ({error})",
                expected="EGL: apt-get install libegl1 libgl1-mesa-dri (or set MUJOCO_GL)",
            ) from error
        self._renderer = self.context.renderer
        flags = self._renderer.scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._before_floor, self._floor_alone = mujoco.MjvOption(), mujoco.MjvOption()
        self._floor_alone.geomgroup[:] = np.arange(len(self._floor_alone.geomgroup)) == FLOOR_GROUP
        self._before_floor.geomgroup[FLOOR_GROUP] = False

    @property
    def scene(self) -> Scene:
        """The scene in the images."""
        return self._scene

    @property
    def model(self) -> Any:
        """The compiled ``mujoco.MjModel``; colours, lamps and fixed bodies may change between images."""
        return self._model

    @property
    def object_of_geom(self) -> NDArray[np.int16]:
        """``(geoms,)`` int16, the index in ``scene.objects`` of each geom's object, or BACKGROUND."""
        return self._object_of_geom[:-1]

    def frame(self, view: View, snapshot: WorldSnapshot) -> Frame:
        """Take an image; its stamp is the snapshot's time."""
        self._aim(view, snapshot)
        self._shadows.draw(self._renderer.scene, self._data, self.light)
        rgb: NDArray[np.uint8] = np.ascontiguousarray(self._renderer.render())
        return Frame(view, snapshot.time_ns, rgb, self._intrinsics, self._pose(view))

    def depth_m(self, view: View, snapshot: WorldSnapshot) -> NDArray[np.float32]:
        """Return ``(H, W)`` float32, the distance along the optical axis of what each pixel shows (m)."""
        self._renderer.enable_depth_rendering()
        try:
            self._aim(view, snapshot)
            return np.array(self._renderer.render(), dtype=np.float32)
        finally:
            self._renderer.disable_depth_rendering()

    def segmentation(self, view: View, snapshot: WorldSnapshot) -> NDArray[np.int16]:
        """Return ``(H, W)`` int16, the index in ``scene.objects`` of what each pixel shows, or BACKGROUND."""
        self._renderer.enable_segmentation_rendering()
        try:
            self._aim(view, snapshot)
            drawn = self._renderer.render()
        finally:
            self._renderer.disable_segmentation_rendering()
        geoms = np.where(drawn[..., 1] == int(mujoco.mjtObj.mjOBJ_GEOM), drawn[..., 0], -1)
        return self._object_of_geom[geoms]

    def motion_px(
        self, view: View, before: WorldSnapshot, now: WorldSnapshot, block_px: int
    ) -> NDArray[np.float32]:
        """Return how far what each block of the image shows has moved in it.

        Args:
            view: The camera; the wrist camera moves too.
            before: An earlier state.
            now: The state in the image.
            block_px: Side of a block [px].

        Returns:
            ``(rows, columns, 2)`` float32, to the right and down [px].
        """
        self._aim(view, before)
        bodies_before = self._body_poses()
        camera_before = self._pose(view)
        self._aim(view, now)
        size = self._intrinsics
        columns, rows = -(-size.width_px // block_px), -(-size.height_px // block_px)
        geoms, depth_m = self._surfaces(columns, rows)
        bodies = np.append(self._model.geom_bodyid, 0)[geoms]
        moved = bodies_before @ np.linalg.inv(self._body_poses())
        u, v = np.meshgrid(*((np.arange(n) + 0.5) * block_px - 0.5 for n in (columns, rows)))
        rays = np.stack(
            [(u - size.cx_px) / size.fx_px, (v - size.cy_px) / size.fy_px, np.ones_like(u)], axis=-1
        )
        points = np.concatenate([rays * depth_m[..., None], np.ones((rows, columns, 1))], axis=-1)
        to_before = np.linalg.inv(camera_before) @ moved @ self._pose(view)
        x, y, z, _ = np.moveaxis(np.einsum("rcij,rcj->rci", to_before[bodies], points), -1, 0)
        z = np.maximum(z, _NEAR_M)
        motion = np.stack([u - size.fx_px * x / z - size.cx_px, v - size.fy_px * y / z - size.cy_px], axis=-1)
        return motion.astype(np.float32)

    def _body_poses(self) -> NDArray[np.float64]:
        """Return ``(bodies, 4, 4)``, the pose of each body in the base frame."""
        poses = np.tile(np.eye(4), (self._model.nbody, 1, 1))
        poses[:, :3, :3] = self._data.xmat.reshape(-1, 3, 3)
        poses[:, :3, 3] = self._data.xpos
        return poses

    def _surfaces(self, columns: int, rows: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the geom (or -1) and the depth (m) in a coarse image of the present scene.

        `mujoco.Renderer` renders at one size and reads colour or depth; this reads both from one rendering.
        """
        drawn, context = self._renderer.scene, self._renderer._mjr_context  # noqa: SLF001 - no public access
        rect = mujoco.MjrRect(0, 0, columns, rows)
        rgb, depth = np.empty((rows, columns, 3), np.uint8), np.empty((rows, columns), np.float32)
        flags = (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR)
        for flag in flags:
            drawn.flags[flag] = True
        mujoco.mjr_render(rect, drawn, context)
        mujoco.mjr_readPixels(rgb, depth, rect, context)
        for flag in flags:
            drawn.flags[flag] = False
        table = np.full(drawn.ngeom + 1, -1)
        for geom in drawn.geoms[: drawn.ngeom]:
            if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                table[geom.segid + 1] = geom.objid
        extent, planes = self._model.stat.extent, self._model.vis.map
        near, far = planes.znear * extent, planes.zfar * extent
        # reversed depth: 1 at the near plane, 0 at the far one
        distance = near * far / (near + depth[::-1].astype(np.float64) * (far - near))
        return table[rgb[::-1].astype(np.int64) @ (1, 256, 65536)], distance

    def _aim(self, view: View, snapshot: WorldSnapshot) -> None:
        if self._renderer is None:
            raise UsageError("the renderer is closed")
        self.context.check_thread()
        check_qpos(self._scene, snapshot)
        self._data.qpos[:] = snapshot.qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        drawn, of_world = self._renderer.scene, mujoco.mjtCatBit.mjCAT_STATIC.value
        self._renderer.update_scene(self._data, camera=str(view), scene_option=self._before_floor)
        mujoco.mjv_addGeoms(self._model, self._data, self._floor_alone, mujoco.MjvPerturb(), of_world, drawn)

    def _pose(self, view: View) -> NDArray[np.float64]:
        """Return the optical frame (y down, z forward) from the engine's camera frame (y up, z backward)."""
        camera = self._model.camera(str(view)).id
        pose = np.eye(4)
        pose[:3, :3] = self._data.cam_xmat[camera].reshape(3, 3) * np.array([1.0, -1.0, -1.0])
        pose[:3, 3] = self._data.cam_xpos[camera]
        return pose


def _objects_of_geoms(model: Any, objects: int) -> NDArray[np.int16]:
    """Return the object of each geom (beads belong to their cup); the extra last entry is for "no geom"."""
    index_of_body = {model.body(f"object{index}").id: index for index in range(objects)}
    for body in range(model.nbody):
        name = model.body(body).name
        if name.startswith("bead"):
            index_of_body[body] = int(name.removeprefix("bead").partition("_")[0])
    table = np.full(model.ngeom + 1, BACKGROUND, np.int16)
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        while body and body not in index_of_body:
            body = int(model.body_parentid[body])
        table[geom] = index_of_body.get(body, BACKGROUND)
    return table
