"""`embodied-iqa experiment`: execution scores of subjects on distorted images, resumable."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.kinematics.models import NAMED_MODELS
from embodied_iqa.cli.distortion_options import add_distortion_options
from embodied_iqa.cli.gate_options import add_calibration, add_judge
from embodied_iqa.cli.node_options import add_node_options
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import add_engine_options, add_levels, seed_number
from embodied_iqa.runs.experiment.experiment_plan import EMBEDDED
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.world.worlds import CELL

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    vlas = f"VLAs by commas, or {EMBEDDED} (default)"
    add("--vla", dest="subjects", default=EMBEDDED, metavar="SUBJECTS", help=vlas)
    worlds = (
        f"{CELL} (default), libero_spatial, libero_object, ... (docs/libero.md), or your own (docs/extend.md)"
    )
    add("--world", default=CELL, metavar="NAME", help=worlds)
    add("--first-tasks", type=int, metavar="N", help="the first N of the world's tasks (default all)")
    add("--task", action="append", default=[], metavar="TEXT", help="a task in words; may be repeated")
    add("--bench", type=Path, metavar="BENCH", help="the tasks of a static benchmark, each in its scene")
    text = "scene of the first task (default 7); of LIBERO, the first initial state (default 0)"
    add("--scene-seed", type=seed_number, metavar="N", help=text)
    add("--distortions", default="all", metavar="IDS", help="such as 02,12,19, or all (default)")
    add_levels(parser, "of --distortions", "5")
    add_distortion_options(parser)
    add(
        "--gate",
        default="",
        metavar="GATES",
        help="conditions by commas; all runs are repeated under each: a mode (off, the default, as in the "
        "paper; shadow; on), a judge that is obeyed (statistics, learned, metric:NAME), oracle; on and "
        "judges also with +repair. Required for a real arm",
    )
    add_calibration(add, " (default: the shipped one, of the simulated cameras)")
    add_judge(add, None, "; of the gates on and shadow (default statistics)")
    scenes = "scenes, or initial states, of each task (default 1)"
    add("--scenes", type=int, default=1, metavar="N", help=scenes)
    add(
        "--peers",
        type=float,
        nargs="?",
        const=0.05,
        metavar="RATE",
        help="also compare the gate's judges with failure detectors of the literature, on the runs of the "
        "gate off; each may have an alarm in this share of the clean runs (default 0.05)",
    )
    _add_running(parser)
    add_node_options(parser)
    _add_ros(parser)


def _add_running(parser: argparse.ArgumentParser) -> None:
    """Add where results go and what else runs."""
    add = parser.add_argument
    add("--vlm", default="", metavar="SUBJECT", help="also query this VLM: cognition beside execution")
    add("--out", type=Path, required=True, metavar="DIR", help="new folder, or one of the same plan")
    extend = "extend the plan in --out by these subjects, tasks, distortions and gates, all combined"
    add("--add", action="store_true", help=extend)
    add_engine_options(parser, "processes, without --ros")
    add("--json", action="store_true", help="print the table as JSON")


def _add_ros(parser: argparse.ArgumentParser) -> None:
    """Add the options of runs through the ROS graph."""
    add = parser.add_argument
    add("--ros", action="store_true", help="through the ROS graph in real time, recorded")
    add(
        "--robot",
        choices=["sim", "ur5"],
        help="with --ros: arm to move; ur5 is a UR of any model (default sim)",
    )
    models = [str(model) for model in NAMED_MODELS]
    add("--model", choices=models, help="model of the UR arm (default in simulation: ur5)")
    add("--robot-ip", metavar="ADDRESS", help="address of the UR controller (--robot ur5)")
    live = [str(source) for source in CameraSource if source.kind is not CameraKind.STORED]
    add("--camera", choices=live, help="source of the images")
    add("--attach", action="store_true", help="with --ros: use a running graph (ros2 launch)")
    add("--namespace", default="", metavar="NAME", help="with --ros: namespace of the graph, such as cell1")


def run(arguments: argparse.Namespace) -> int:
    """Perform the missing runs and score all; return the exit code."""
    return perform(f"{__name__}.running:run", arguments)
