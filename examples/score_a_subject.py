"""Query an embedded VLM and VLA on a clean and on a distorted image, and score the difference."""

import dataclasses

import numpy as np

import embodied_iqa
from embodied_iqa import VlaObservation

TASK = "pick the red cube"
clean = embodied_iqa.simulated_frame(seed=7, view="top", task=TASK)
dark = dataclasses.replace(clean, rgb=embodied_iqa.distort(clean.rgb, "max-darken:5"))

vlm = embodied_iqa.load_vlm("panel-vlm-fine")
answers = [vlm.answer(frame, TASK) for frame in (dark, clean)]
cognition = embodied_iqa.score_answer(*answers, subject="panel-vlm-fine")
print(f"{answers[1]!r} became {answers[0]!r}: cognition {cognition.score:.2f} of 1")

vla = embodied_iqa.load_vla("classical-vla")
T_base_tool = np.array([[0, 1, 0, -0.4], [1, 0, 0, 0], [0, 0, -1, 0.35], [0, 0, 0, 1.0]])
chunks = [
    vla.act(VlaObservation({frame.view: frame}, TASK, T_base_tool, gripper=0.0, step=0))
    for frame in (dark, clean)
]
decision = embodied_iqa.score_actions(*(chunk.increments for chunk in chunks), d_max_m=0.5)
print(f"decision {decision.score:.2f} of 1, end points {decision.position_error_mm:.0f} mm apart")
