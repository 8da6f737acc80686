"""The whole cell as MJCF: room, table, lamps, cameras, arm and objects."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import View
from embodied_iqa.simulation.dimensions import (
    CAMERAS,
    FLOOR_Z_M,
    STEP_NS,
    TABLE_THICKNESS_M,
    TABLE_X_M,
    TABLE_Y_M,
    VERTICAL_FOV_RAD,
    WALL_HEIGHT_M,
    WALL_X_M,
)
from embodied_iqa.simulation.engine import mujoco
from embodied_iqa.simulation.mjcf import STATIC, look_at, numbers, rod
from embodied_iqa.simulation.mjcf_arm import arm_actuators, arm_body
from embodied_iqa.simulation.mjcf_gripper import gripper_actuators, gripper_equalities
from embodied_iqa.simulation.mjcf_objects import object_body, object_material
from embodied_iqa.simulation.mjcf_vessels import vessel_meshes
from embodied_iqa.simulation.scene import Scene

__all__ = ["FORCE_SENSORS", "MAX_HEIGHT_PX", "MAX_WIDTH_PX", "build_model"]

FORCE_SENSORS: Final = ("table", "wall", "floor")
"""What the robot must not press against."""
MAX_WIDTH_PX: Final = 1920
MAX_HEIGHT_PX: Final = 1080


def build_model(
    scene: Scene, *, fine: bool = False, picture_px: tuple[int, int] = (MAX_WIDTH_PX, MAX_HEIGHT_PX)
) -> Any:
    """Compile the cell.

    Args:
        scene: What stands in it.
        fine: Draw with shadows and smoothed edges: several times slower.
        picture_px: Width and height of the largest picture.

    Returns:
        A ``mujoco.MjModel``.
    """
    text = (
        '<mujoco model="cell"><compiler angle="radian" autolimits="true" eulerseq="XYZ"/>'
        f'<option timestep="{STEP_NS / 1e9!r}" integrator="implicitfast" cone="elliptic" impratio="5"/>'
        '<default><geom solref="0.004 1" solimp="0.95 0.99 0.001"/></default>'  # hard: a grip dents nothing
        f"{_visual(picture_px, fine=fine)}<asset>{_assets(scene)}</asset>"
        f"<worldbody>{_lamps(scene, fine=fine)}{_room()}{_fixed_cameras()}{_pedestal()}{arm_body()}"
        + "".join(object_body(index, item) for index, item in enumerate(scene.objects))
        + f"</worldbody><equality>{gripper_equalities()}</equality>"
        f"<actuator>{arm_actuators()}{gripper_actuators()}</actuator><sensor>{_sensors()}</sensor></mujoco>"
    )
    return mujoco.MjModel.from_xml_string(_with_wrist_camera(text), _textures())


def _visual(picture_px: tuple[int, int], *, fine: bool) -> str:
    width, height = picture_px
    return (
        f'<visual><global offwidth="{width}" offheight="{height}"/><map znear="0.01" zfar="20"/>'
        f'<quality shadowsize="{4096 if fine else 0}" offsamples="{4 if fine else 0}"/>'
        '<headlight ambient="0.34 0.34 0.35" diffuse="0.16 0.16 0.16" specular="0 0 0"/></visual>'
    )


def _assets(scene: Scene) -> str:
    tint = numbers((*scene.table_rgb, 1.0))
    plain = {
        "shell": "0.80 0.81 0.82",
        "cap": "0.49 0.56 0.61",
        "steel": "0.58 0.59 0.61",
        "dark": "0.25 0.25 0.27",
        "black": "0.12 0.12 0.13",
        "pad": "0.34 0.34 0.35",
        "button_base": "0.22 0.22 0.23",
        "wall": "0.86 0.87 0.87",
        "edge": "0.45 0.43 0.41",
        "white": "0.95 0.95 0.94",
        "bead": "0.90 0.87 0.80",
        "drawer": "0.74 0.73 0.71",
        "mat": "0.80 0.80 0.79",
    }
    return (
        '<texture type="skybox" builtin="gradient" rgb1="0.88 0.90 0.92" rgb2="0.60 0.63 0.66" '
        'width="128" height="128"/>'
        '<texture name="wood" type="2d" file="wood.png"/><texture name="tiles" type="2d" file="tiles.png"/>'
        f'<material name="table" texture="wood" texrepeat="2 2" rgba="{tint}" specular="0.08"/>'
        '<material name="floor" texture="tiles" texrepeat="10 10" specular="0.05"/>'
        + "".join(
            f'<material name="{name}" rgba="{rgb} 1" specular="0.25" shininess="0.4"/>'
            for name, rgb in plain.items()
        )
        + "".join(object_material(index, item) for index, item in enumerate(scene.objects))
        + vessel_meshes()
    )


def _lamps(scene: Scene, *, fine: bool) -> str:
    shadow = "true" if fine else "false"
    lamp, fill = 0.52 * scene.light.brightness, 0.20 * scene.light.brightness
    return (
        f'<light pos="-0.2 0.5 2.4" dir="-0.12 -0.22 -1" diffuse="{lamp!r} {lamp!r} {lamp!r}" '
        f'specular="0.3 0.3 0.3" castshadow="{shadow}" directional="true"/>'
        f'<light pos="-1.5 -1.2 1.8" dir="0.7 0.6 -1" diffuse="{fill!r} {fill!r} {fill!r}" '
        'specular="0.1 0.1 0.1" castshadow="false" directional="true"/>'
    )


def _room() -> str:
    middle_x, half_x = (TABLE_X_M[0] + TABLE_X_M[1]) / 2, (TABLE_X_M[1] - TABLE_X_M[0]) / 2
    half_y, half_z = (TABLE_Y_M[1] - TABLE_Y_M[0]) / 2, TABLE_THICKNESS_M / 2
    wall_half = 0.02
    legs = "".join(
        rod((x, y, FLOOR_Z_M), (x, y, -TABLE_THICKNESS_M), 0.028, "edge")
        for x in (TABLE_X_M[0] + 0.06, TABLE_X_M[1] - 0.06)
        for y in (TABLE_Y_M[0] + 0.06, TABLE_Y_M[1] - 0.06)
    )
    return (
        f'<geom name="floor" type="plane" size="4 4 0.1" pos="0 0 {FLOOR_Z_M}" material="floor" {STATIC}/>'
        f'<geom name="table" type="box" size="{numbers((half_x, half_y, half_z))}" '
        f'pos="{numbers((middle_x, 0.0, -half_z))}" material="table" friction="0.5 0.01 0.001" {STATIC}/>'
        f'<geom name="wall" type="box" size="{numbers((wall_half, half_y, WALL_HEIGHT_M / 2))}" '
        f'pos="{numbers((WALL_X_M - wall_half, 0.0, WALL_HEIGHT_M / 2))}" material="wall" {STATIC}/>' + legs
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


@cache
def _textures() -> dict[str, bytes]:
    return {"wood.png": _png(_wood()), "tiles.png": _png(_tiles())}


def _png(picture: NDArray[np.uint8]) -> bytes:
    _, data = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    return bytes(data)


def _wood(size: int = 1024) -> NDArray[np.uint8]:
    """Draw pale boards with grain along x: seamless, and the same on every machine."""
    rng = np.random.default_rng(20240517)
    boards = 6
    picture = np.empty((size, size), np.float64)
    edges = np.linspace(0, size, boards + 1).astype(int)
    along = np.linspace(0, 2 * np.pi, size, endpoint=False)
    for top, bottom in pairwise(edges):
        across = np.arange(bottom - top)[:, None]
        wave = 6.0 * np.sin(along + rng.uniform(0, 6.28)) + 3.0 * np.sin(2 * along + rng.uniform(0, 6.28))
        grain = np.sin((across + wave) * 0.21 + 2.0 * np.sin((across + wave) * 0.047))
        fine = (
            cv2.blur(rng.normal(0.0, 1.0, (bottom - top, size)), (61, 1), borderType=cv2.BORDER_REFLECT_101)
            * 8
        )
        picture[top:bottom] = 0.93 + rng.uniform(-0.03, 0.03) + 0.022 * grain + 0.012 * fine
        picture[bottom - 2 : bottom] *= 0.84
    tone = np.array([1.0, 0.985, 0.955])
    painted: NDArray[np.uint8] = np.clip(255 * picture[..., None] * tone, 0, 255).astype(np.uint8)
    return painted


def _tiles(size: int = 256) -> NDArray[np.uint8]:
    rng = np.random.default_rng(7)
    picture = np.clip(rng.normal(122, 4, (size, size, 1)), 0, 255).repeat(3, axis=2)
    picture[:3], picture[:, :3] = 96, 96
    return picture.astype(np.uint8)
