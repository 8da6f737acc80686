"""Model of the whole cell: room, lamps, cameras, robot and objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.clutter import Clutter
from embodied_iqa.world.scenes.dimensions import CAMERAS, STEP_NS, VERTICAL_FOV_RAD
from embodied_iqa.world.scenes.scene import Background, Scene
from embodied_iqa.world.scenes.viewpoints import look_at
from embodied_iqa.world.simulation.clutter_models import add_clutter, add_clutter_textures
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import add_plain_materials, add_rod
from embodied_iqa.world.simulation.mark_textures import add_mark_textures
from embodied_iqa.world.simulation.object_models import add_object
from embodied_iqa.world.simulation.robot_model import FINGER_JOINTS, add_actuators, add_robot
from embodied_iqa.world.simulation.room_model import add_backgrounds, add_room, table_tint
from embodied_iqa.world.simulation.shadows import add_shadow_material
from embodied_iqa.world.simulation.vessel_models import add_vessel_meshes
from embodied_iqa.world.tasks.vocabulary import Mark

FORCE_SENSORS: Final = ("table", "wall", "floor")
"""Surfaces that the robot must not press against."""
MAX_WIDTH_PX: Final = 1920
MAX_HEIGHT_PX: Final = 1080

_BASE: Final = f"""
<mujoco model="cell">
  <compiler angle="radian" autolimits="true" eulerseq="XYZ"/>
  <option timestep="{STEP_NS / SECOND_NS!r}" integrator="implicitfast" cone="elliptic" impratio="5"/>
  <default><geom solref="0.004 1" solimp="0.95 0.99 0.001"/></default>  <!-- hard: a grip dents nothing -->
  <visual>
    <map znear="0.01" zfar="20"/>
    <headlight ambient="0.34 0.34 0.35" diffuse="0.16 0.16 0.16" specular="0 0 0"/>
  </visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="0.88 0.90 0.92" rgb2="0.60 0.63 0.66"
             width="128" height="128"/>
  </asset>
  <equality>
    <joint joint1="{FINGER_JOINTS[0]}" joint2="{FINGER_JOINTS[1]}" polycoef="0 1 0 0 0" solref="0.004 1"/>
  </equality>
  <sensor>
    {
    "".join(
        f'<contact name="{name}" subtree1="link1" geom2="{name}" num="1" reduce="netforce" data="force"/>'
        for name in FORCE_SENSORS
    )
}
    <framepos name="tool" objtype="site" objname="tool"/>
  </sensor>
</mujoco>
"""
"""What is the same in every model; the rest depends on the scene or on the robot's dimensions."""


def build_model(
    scene: Scene,
    *,
    fine: bool = False,
    textured: bool = True,
    image_px: tuple[int, int] = (MAX_WIDTH_PX, MAX_HEIGHT_PX),
    backgrounds: Sequence[Background] = (),
    marks: Sequence[Mark] = (),
    clutter: Sequence[Clutter] = (),
) -> Any:
    """Compile the cell.

    Args:
        scene: What is on the table.
        fine: Render with anti-aliasing: several times slower.
        textured: With the textures of the backgrounds, which take longest; physics needs none.
        image_px: Width and height of the largest image.
        backgrounds: Further backgrounds whose materials the model contains.
        marks: Further marks whose textures the model contains.
        clutter: Further clutter, after the scene's.

    Returns:
        A ``mujoco.MjModel``.
    """
    spec = mujoco.MjSpec.from_string(_BASE)
    spec.visual.global_.offwidth, spec.visual.global_.offheight = image_px
    spec.visual.quality.shadowsize, spec.visual.quality.offsamples = 0, 4 if fine else 0
    add_plain_materials(spec)
    add_shadow_material(spec)
    add_vessel_meshes(spec)
    world = spec.worldbody
    add_room(world, scene)
    _add_camera(world, View.TOP)
    _add_camera(world, View.SIDE)
    add_rod(world, (0, 0, 0), (0, 0, 0.012), 0.085, "steel")
    add_rod(world, (0, 0, 0.012), (0, 0, 0.034), 0.074, "shell")
    _add_camera(add_robot(world, scene.arm), View.WRIST)
    add_mark_textures(spec, dict.fromkeys((*(item.mark for item in scene.objects if item.mark), *marks)))
    for index, item in enumerate(scene.objects):
        add_object(spec, index, item)
    add_clutter_textures(spec)
    for index, thing in enumerate((*scene.clutter, *clutter)):
        add_clutter(spec, index, thing)
    add_backgrounds(spec, dict.fromkeys((scene.background, *backgrounds)), textured=textured)
    add_actuators(spec, scene.arm)
    model = spec.compile()
    model.material(f"table-{scene.background}").rgba[:3] = table_tint(scene)
    return model


def _add_camera(body: Any, view: View) -> None:
    mount = CAMERAS[view]
    optical = look_at(mount.position_m, mount.target_m, mount.up)
    axes = (*optical[:, 0], *(-optical[:, 1]))
    fovy = float(np.rad2deg(VERTICAL_FOV_RAD))
    body.add_camera(name=str(view), pos=mount.position_m, xyaxes=axes, fovy=fovy)
