"""Play a recorded trial back through distortion, gate and subjects, and score what comes out.

ros2 launch embodied_iqa rescore.launch.py recording:=runs/<id>/trial.mcap run_dir:=runs/again
"""

from __future__ import annotations

import runpy
from pathlib import Path

from launch import LaunchDescription

from embodied_iqa.runs.graph.graph_nodes import Purpose
from embodied_iqa.runs.graph.launching import RESCORE_ARGUMENTS, rescore_words

# Launch files are run, not imported: the file next to this one is not on the includer's import path.
describe = runpy.run_path(str(Path(__file__).with_name("embodied_iqa_launch.py")))["describe"]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the graph."""
    description: LaunchDescription = describe(RESCORE_ARGUMENTS, Purpose.RESCORE, "rescore", rescore_words)
    return description
