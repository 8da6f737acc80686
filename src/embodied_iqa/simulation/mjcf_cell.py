"""The whole cell as MJCF: room, table, lamps, cameras, arm and objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from embodied_iqa.images.frame import View
from embodied_iqa.scenes.dimensions import CAMERAS, STEP_NS, VERTICAL_FOV_RAD
from embodied_iqa.scenes.scene import Background, Scene
from embodied_iqa.scenes.viewpoints import look_at
from embodied_iqa.simulation.engine import mujoco
from embodied_iqa.simulation.mjcf import numbers, rod
from embodied_iqa.simulation.mjcf_arm import arm_actuators, arm_body
from embodied_iqa.simulation.mjcf_gripper import gripper_actuators, gripper_equalities
from embodied_iqa.simulation.mjcf_objects import object_body, object_material
from embodied_iqa.simulation.mjcf_room import room, room_assets, room_lamps, room_textures, table_tint
from embodied_iqa.simulation.mjcf_vessels import vessel_meshes

__all__ = ["FORCE_SENSORS", "MAX_HEIGHT_PX", "MAX_WIDTH_PX", "build_model"]

FORCE_SENSORS: Final = ("table", "wall", "floor")
"""What the robot must not press against."""
MAX_WIDTH_PX: Final = 1920
MAX_HEIGHT_PX: Final = 1080

_PLAIN: Final = {
    "shell": "0.80 0.81 0.82",
    "cap": "0.49 0.56 0.61",
    "steel": "0.58 0.59 0.61",
    "dark": "0.25 0.25 0.27",
    "black": "0.12 0.12 0.13",
    "pad": "0.34 0.34 0.35",
    "button_base": "0.22 0.22 0.23",
    "edge": "0.45 0.43 0.41",
    "white": "0.95 0.95 0.94",
    "bead": "0.90 0.87 0.80",
    "drawer": "0.74 0.73 0.71",
    "mat": "0.80 0.80 0.79",
}


def build_model(
    scene: Scene,
    *,
    fine: bool = False,
    picture_px: tuple[int, int] = (MAX_WIDTH_PX, MAX_HEIGHT_PX),
    backgrounds: Sequence[Background] = (),
) -> Any:
    """Compile the cell.

    Args:
        scene: What stands in it.
        fine: Draw with shadows and smoothed edges: several times slower.
        picture_px: Width and height of the largest picture.
        backgrounds: Further backgrounds, of which the model is to have the materials.

    Returns:
        A ``mujoco.MjModel``.
    """
    drops = tuple(dict.fromkeys((scene.background, *backgrounds)))
    text = (
        '<mujoco model="cell"><compiler angle="radian" autolimits="true" eulerseq="XYZ"/>'
        f'<option timestep="{STEP_NS / 1e9!r}" integrator="implicitfast" cone="elliptic" impratio="5"/>'
        '<default><geom solref="0.004 1" solimp="0.95 0.99 0.001"/></default>'  # hard: a grip dents nothing
        f"{_visual(picture_px, fine=fine)}<asset>{_assets(scene)}{room_assets(drops)}</asset><worldbody>"
        f"{room_lamps(scene.light, shadows=fine)}{room(scene.background)}{_fixed_cameras()}{_pedestal()}"
        + arm_body()
        + "".join(object_body(index, item) for index, item in enumerate(scene.objects))
        + f"</worldbody><equality>{gripper_equalities()}</equality>"
        f"<actuator>{arm_actuators()}{gripper_actuators()}</actuator><sensor>{_sensors()}</sensor></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(_with_wrist_camera(text), room_textures(drops))
    model.material(f"table-{scene.background}").rgba[:3] = table_tint(scene)
    return model


def _visual(picture_px: tuple[int, int], *, fine: bool) -> str:
    width, height = picture_px
    return (
        f'<visual><global offwidth="{width}" offheight="{height}"/><map znear="0.01" zfar="20"/>'
        f'<quality shadowsize="{4096 if fine else 0}" offsamples="{4 if fine else 0}"/>'
        '<headlight ambient="0.34 0.34 0.35" diffuse="0.16 0.16 0.16" specular="0 0 0"/></visual>'
    )


def _assets(scene: Scene) -> str:
    return (
        '<texture type="skybox" builtin="gradient" rgb1="0.88 0.90 0.92" rgb2="0.60 0.63 0.66" '
        'width="128" height="128"/>'
        + "".join(
            f'<material name="{name}" rgba="{rgb} 1" specular="0.25" shininess="0.4"/>'
            for name, rgb in _PLAIN.items()
        )
        + "".join(object_material(index, item) for index, item in enumerate(scene.objects))
        + vessel_meshes()
    )


def _pedestal() -> str:
    return rod((0, 0, 0), (0, 0, 0.012), 0.085, "steel") + rod((0, 0, 0.012), (0, 0, 0.034), 0.074, "shell")


def _camera(view: View) -> str:
    mount = CAMERAS[view]
    optical = look_at(mount.position_m, mount.target_m, mount.up)
    axes = numbers((*optical[:, 0], *(-optical[:, 1])))
    fovy = float(np.rad2deg(VERTICAL_FOV_RAD))
    return f'<camera name="{view}" pos="{numbers(mount.position_m)}" xyaxes="{axes}" fovy="{fovy!r}"/>'


def _fixed_cameras() -> str:
    return _camera(View.TOP) + _camera(View.SIDE)


def _with_wrist_camera(text: str) -> str:
    marker = '<site name="tool"'
    return text.replace(marker, _camera(View.WRIST) + marker, 1)


def _sensors() -> str:
    pressed = "".join(
        f'<contact name="{name}" subtree1="link1" geom2="{name}" num="1" reduce="netforce" data="force"/>'
        for name in FORCE_SENSORS
    )
    return pressed + '<framepos name="tool" objtype="site" objname="tool"/>'
