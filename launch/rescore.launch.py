"""Play a recorded trial back through distortion, gate and subjects, and score what comes out.

ros2 launch embodied_iqa rescore.launch.py recording:=runs/<id>/trial.mcap run_dir:=runs/again
"""

from __future__ import annotations

import sys
from pathlib import Path

from launch import LaunchDescription

from embodied_iqa.runs.graph.launching import RESCORE_ARGUMENTS, rescore_words
from embodied_iqa.runs.graph.node_table import Purpose

sys.path.insert(0, str(Path(__file__).parent))  # launch files are run, not imported

from embodied_iqa_launch import describe


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the graph."""
    return describe(RESCORE_ARGUMENTS, Purpose.RESCORE, "rescore", rescore_words)
