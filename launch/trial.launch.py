"""Start the whole graph and run a session of trials on it.

    ros2 launch embodied_iqa trial.launch.py task:="pick the red cube" distortion:=19:5,02:3 gate:=shadow

The nodes come from one table, `embodied_iqa.runs.graph.graph_nodes`; the session is
`embodied-iqa trial --attach`, whose end shuts everything down.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from launch import LaunchDescription

from embodied_iqa.runs.graph.graph_nodes import Purpose
from embodied_iqa.runs.graph.launching import TRIAL_ARGUMENTS, trial_words

# Launch files are run, not imported: the file next to this one is not on the includer's import path.
describe = runpy.run_path(str(Path(__file__).with_name("embodied_iqa_launch.py")))["describe"]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the graph."""
    description: LaunchDescription = describe(TRIAL_ARGUMENTS, Purpose.TRIAL, "trial", trial_words)
    return description
