"""Models of the objects on the table: a body each, its origin at half its height."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from embodied_iqa.world.manipulation.shapes import (
    BUTTON_BASE_HALF_M,
    BUTTON_BASE_HEIGHT_M,
    BUTTON_CAP_RADIUS_M,
    DRAWER_HANDLE_AHEAD_M,
    KNOB_BAR_HALF_M,
    SHAPES,
    SOCKET_FLOOR_M,
    SOCKET_HOLE_HALF_M,
    ObjectShape,
)
from embodied_iqa.world.scenes.dimensions import BUTTON_TRAVEL_M, DRAWER_TRAVEL_M
from embodied_iqa.world.scenes.scene import SceneObject
from embodied_iqa.world.scenes.snapshot import FIXED_KINDS, beads_at_rest_m, nominal_pose
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import (
    FRICTION,
    HINGED,
    OBJECT,
    SPHERE,
    STATIC,
    add_box,
    add_cylinder,
    add_slide,
)
from embodied_iqa.world.simulation.mark_textures import texture_name
from embodied_iqa.world.simulation.vessel_models import add_bead, add_bowl, add_cup, add_lid, add_pot
from embodied_iqa.world.tasks.vocabulary import Kind

_ROLLING: Final = (0.5, 0.01, 0.0025)  # a felt ball: it comes to rest within centimetres
_CAP_HALF_HEIGHT_M: Final = 0.008
_SPRING_N_PER_M: Final = 250.0
_PRELOAD_M: Final = 0.004
_KNOB_BASE_M: Final = (0.040, 0.018)
_KNOB_PLATE_M: Final = (0.030, 0.024)
_CABINET_HALF_M: Final = (0.045, 0.060)
_CABINET_WALL_M: Final = 0.004
_FUNNEL_M: Final = (0.036, 0.035)
"""Height at which a socket's funnel begins, and half its width at the top."""


def shine_of(item: SceneObject) -> tuple[float, float]:
    """Return the strength and the sharpness of an object's highlights, in [0, 1]."""
    return 0.05 + 0.85 * item.gloss, 0.15 + 0.75 * item.gloss


def add_object(spec: Any, index: int, item: SceneObject) -> None:
    """Add an object, its material ``paint`` and its body ``object`` with this index, and a cup's beads."""
    rgba = (*item.rgb, 1.0)
    specular, shininess = shine_of(item)
    paint = spec.add_material(name=f"paint{index}", rgba=rgba, specular=specular, shininess=shininess)
    if item.mark is not None:
        paint.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture_name(item.mark)
    pose = nominal_pose(item)
    body = spec.worldbody.add_body(name=f"object{index}", pos=pose[:3], quat=pose[3:])
    if item.kind not in FIXED_KINDS:
        body.add_freejoint()
    if item.kind in _TOYS:
        _TOYS[item.kind](body, index, item.shape)
    else:
        _BUILDERS[item.kind](body, index)
    if item.kind is Kind.CUP:
        for bead, centre in enumerate(beads_at_rest_m(item)):
            add_bead(spec.worldbody.add_body(name=f"bead{index}_{bead}", pos=centre))


def _add_cube(body: Any, index: int, shape: ObjectShape) -> None:
    half = [shape.width_m / 2] * 3
    add_box(body, (0, 0, 0), half, f"paint{index}", OBJECT, mass=0.09, friction=FRICTION, condim=4)


def _add_cylinder(body: Any, index: int, shape: ObjectShape, mass: float = 0.09) -> None:
    paint = {"material": f"paint{index}", "friction": FRICTION, **OBJECT}
    span = (0.0, shape.height_m)
    add_cylinder(body, shape.width_m / 2, span, shape.height_m / 2, mass=mass, condim=4, **paint)


def _add_peg(body: Any, index: int) -> None:
    _add_cylinder(body, index, SHAPES[Kind.PEG], 0.06)


def _add_ball(body: Any, index: int, shape: ObjectShape) -> None:
    radius = shape.width_m / 2
    paint = {"material": f"paint{index}", "friction": _ROLLING, **OBJECT}
    body.add_geom(type=SPHERE, size=(radius,), mass=0.06, condim=6, **paint)


def _add_button(body: Any, index: int) -> None:
    """Add a box with a cap on a spring; the cap stops after its travel."""
    half = SHAPES[Kind.BUTTON].height_m / 2
    base = (BUTTON_BASE_HALF_M, BUTTON_BASE_HALF_M, BUTTON_BASE_HEIGHT_M / 2)
    rough = {"friction": (0.8, 0.02, 0.001), "condim": 4}
    add_box(body, (0, 0, base[2] - half), base, "button_base", OBJECT, mass=0.4, **rough)
    cap = body.add_body(name=f"cap{index}", pos=(0, 0, half - _CAP_HALF_HEIGHT_M))
    spring = {"stiffness": _SPRING_N_PER_M, "springref": _PRELOAD_M, "damping": 2, "armature": 0.02}
    add_slide(cap, f"cap{index}", (0, 0, 1), (-BUTTON_TRAVEL_M, 0), **spring)
    paint = {"material": f"paint{index}", "friction": FRICTION, **OBJECT}
    span = (0.0, 2 * _CAP_HALF_HEIGHT_M)
    add_cylinder(cap, BUTTON_CAP_RADIUS_M, span, _CAP_HALF_HEIGHT_M, mass=0.02, **paint)


def _add_knob(body: Any, index: int) -> None:
    """Add a bar on a plate that turns stiffly on a fixed foot; a white end shows where it points."""
    paint = f"paint{index}"
    height = SHAPES[Kind.KNOB].height_m
    half = height / 2
    radius, foot = _KNOB_BASE_M
    plate, plate_top = _KNOB_PLATE_M
    length, width = KNOB_BAR_HALF_M
    add_cylinder(body, radius, (0.0, foot), half, material="steel", **STATIC)
    turning = body.add_body(name=f"turn{index}")
    turning.add_joint(
        name=f"turn{index}",
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=(0, 0, 1),
        frictionloss=0.04,
        damping=0.02,
        armature=0.0005,
    )
    add_cylinder(turning, plate, (foot, plate_top), half, mass=0.03, material=paint, **HINGED)
    centre, bar = (0.0, 0.0, (plate_top - half + half) / 2), (length, width, (height - plate_top) / 2)
    add_box(turning, centre, bar, paint, HINGED, mass=0.03, friction=FRICTION, condim=4)
    end = (length - 0.005, 0.0, half - 0.0005)
    add_box(turning, end, (0.0045, width - 0.0015, 0.0012), "white")


def _add_drawer(body: Any, index: int) -> None:
    """Add a cabinet, fixed to the table, whose drawer slides towards the robot by an upright handle."""
    half = SHAPES[Kind.DRAWER].height_m / 2
    half_x, half_y = _CABINET_HALF_M
    wall, top = _CABINET_WALL_M, half - 0.004
    for centre, size in (
        ((0.0, 0.0, top - wall), (half_x, half_y, wall)),
        ((0.0, half_y - wall, -0.004), (half_x, wall, half - 0.004)),
        ((0.0, wall - half_y, -0.004), (half_x, wall, half - 0.004)),
        ((wall - half_x, 0.0, -0.004), (wall, half_y, half - 0.004)),
    ):
        add_box(body, centre, size, f"paint{index}", STATIC)
    drawer = body.add_body(name=f"slide{index}")
    resistance = {"frictionloss": 1.5, "damping": 8, "armature": 0.05}
    add_slide(drawer, f"slide{index}", (1, 0, 0), (0, DRAWER_TRAVEL_M), **resistance)
    front, handle_x = half_x + 0.003, DRAWER_HANDLE_AHEAD_M
    for centre, size, material in (
        ((front, 0.0, -0.006), (0.004, half_y - 0.002, half - 0.008), "drawer"),
        ((0.004, 0.0, -half + 0.010), (half_x - 0.006, half_y - 0.012, 0.004), "drawer"),
        (((front + handle_x) / 2, 0.0, -0.006), ((handle_x - front) / 2, 0.006, 0.006), "steel"),
        ((handle_x, 0.0, 0.002), (0.009, 0.011, half - 0.002), "dark"),
    ):
        add_box(drawer, centre, size, material, HINGED, mass=0.08, friction=FRICTION, condim=4)


def _add_socket(body: Any, index: int) -> None:
    """Add a block, fixed to the table, with a square hole and a funnel above it."""
    shape = SHAPES[Kind.SOCKET]
    half, outer, hole = shape.height_m / 2, shape.width_m / 2, SOCKET_HOLE_HALF_M
    start, wide = _FUNNEL_M
    slant = float(np.arctan2(wide - hole, shape.height_m - start))
    length = float(np.hypot(wide - hole, shape.height_m - start)) / 2
    lower, upper = (outer - hole) / 2, (outer - wide) / 2
    slope_x, slope_z = (hole + wide) / 2 + 0.0012, (start + shape.height_m) / 2 - half
    boxes = (
        ((hole + outer) / 2, start / 2 - half, 0.0, (lower, outer, start / 2)),
        ((wide + outer) / 2, slope_z, 0.0, (upper, outer, (shape.height_m - start) / 2)),
        (slope_x, slope_z, slant, (0.0015, wide, length)),
    )
    for side in range(4):
        turn = side * np.pi / 2
        for radius, z, leaning, size in boxes:
            centre = (radius * float(np.cos(turn)), radius * float(np.sin(turn)), z)
            euler = (0, leaning, turn)
            add_box(body, centre, size, f"paint{index}", STATIC, euler=euler, friction=(0.3, 0.01, 0.001))
    floor = (hole, hole, SOCKET_FLOOR_M / 2)
    add_box(body, (0.0, 0.0, SOCKET_FLOOR_M / 2 - half), floor, "black", STATIC)


def _add_mat(body: Any, index: int) -> None:
    """Add a thin mat on the table; it is only visual, and objects stand on the table through it."""
    shape = SHAPES[Kind.MAT]
    half = (shape.width_m / 2, shape.width_m / 2, shape.height_m / 2)
    add_box(body, (0.0, 0.0, 0.0), half, f"paint{index}")


_TOYS: Final = {Kind.CUBE: _add_cube, Kind.CYLINDER: _add_cylinder, Kind.BALL: _add_ball}
_BUILDERS: Final = {
    Kind.BOWL: add_bowl,
    Kind.BUTTON: _add_button,
    Kind.CUP: add_cup,
    Kind.POT: add_pot,
    Kind.LID: add_lid,
    Kind.PEG: _add_peg,
    Kind.SOCKET: _add_socket,
    Kind.MAT: _add_mat,
    Kind.KNOB: _add_knob,
    Kind.DRAWER: _add_drawer,
}
