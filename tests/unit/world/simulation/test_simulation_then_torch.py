"""Torch after a graphics context: both carry an LLVM, and the second one to be loaded used to crash."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from live_process import TRIAL_S
from tiny_vlms import save_tiny

_RENDER_THEN_ASK = """
import sys
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.models.subjects.reference import parse_vlm
from embodied_iqa.models.subjects.registry import make_vlm

world = World(make_scene(3))
with SceneRenderer(world.scene, 160, 120) as renderer:
    frame = renderer.frame(View.TOP, world.snapshot())
assert "torch" not in sys.modules
vlm = make_vlm(parse_vlm("transformers:" + sys.argv[1]))
print(type(vlm.answer(frame, "pick the red cube")).__name__)
import torch._inductor.runtime.triton_compat  # imports triton, if it is installed
with SceneRenderer(world.scene, 160, 120) as renderer:
    assert (renderer.frame(View.TOP, world.snapshot()).rgb == frame.rgb).all()
print("triton" in sys.modules)
"""


def test_a_process_that_has_rendered_can_query_a_torch_model(tmp_path: Path) -> None:
    checkpoint = save_tiny("llava", tmp_path / "llava")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _RENDER_THEN_ASK, str(checkpoint)],
        capture_output=True,
        text=True,
        check=False,
        timeout=TRIAL_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["str", str(importlib.util.find_spec("triton") is not None)]
