"""Offscreen rendering: really draws a small picture with MuJoCo."""

from __future__ import annotations

import os

from embodied_iqa.cli.checks.finding import Finding, Status
from embodied_iqa.cli.checks.probe import try_code

__all__ = ["rendering"]

_DRAW = """
import os
os.environ.setdefault("MUJOCO_GL", "egl")
import mujoco
import numpy as np
model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="2 2 .1" rgba=".2 .4 .2 1"/>
<geom type="box" size=".3 .3 .3" pos="0 0 .3" rgba=".9 .1 .1 1"/>
<camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 .45 .9"/></worldbody></mujoco>''')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 120, 160) as renderer:
    renderer.update_scene(data, camera="eye")
    picture = renderer.render()
    if float(np.std(picture)) < 5.0:
        raise SystemExit(f"the picture is empty (mean {picture.mean():.1f})")
    from OpenGL import GL
    name = GL.glGetString(GL.GL_RENDERER).decode()
print(f"MuJoCo {mujoco.__version__} through {os.environ['MUJOCO_GL']}: {name}")
"""
_MEND = "sudo apt-get install libegl1 libgl1-mesa-dri, and leave MUJOCO_GL unset or egl"


def rendering() -> list[Finding]:
    """Draw a scene offscreen in a process of its own."""
    outcome = try_code(_DRAW, timeout_s=60.0)
    if outcome.worked:
        return [Finding("offscreen pictures", Status.OK, outcome.text, required=True)]
    if "ModuleNotFoundError" in outcome.text:
        return [Finding("offscreen pictures", Status.MISSING, outcome.text, "make setup", required=True)]
    detail = f"MUJOCO_GL={os.environ.get('MUJOCO_GL', 'egl')}: {outcome.text}"
    return [Finding("offscreen pictures", Status.BROKEN, detail, _MEND, required=True)]
