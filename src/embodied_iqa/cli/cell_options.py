"""Options of the commands that work in a cell: its cameras and its arm."""

from __future__ import annotations

import argparse
from pathlib import Path

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.kinematics.models import NAMED_MODELS
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.node_table import nodes_with


def add_cell_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that replace parameters of the cameras and of the arm."""
    add = parser.add_argument
    add(
        "--camera",
        choices=[str(source) for source in CameraSource],
        help="source of the images (default simulated)",
    )
    add(
        "--camera-path",
        metavar="PATH",
        help="folder of images or recording (--camera files or bag); module:factory or the name of a plug-in "
        "(--camera python)",
    )
    add(
        "--view",
        action="append",
        metavar="VIEW",
        help="name of a camera; may be repeated (default top and wrist)",
    )
    add(
        "--robot",
        choices=[str(kind) for kind in RobotKind],
        help="the arm (default sim); ur5 is a UR of any model",
    )
    models = [str(model) for model in NAMED_MODELS]
    add("--model", choices=models, help="model of the UR arm (--robot sim: ur5; --robot ur5 needs it)")
    add("--robot-ip", metavar="ADDRESS", help="address of the UR controller (--robot ur5)")


def cell_overrides(arguments: argparse.Namespace) -> dict[str, Scalar]:
    """Return the parameters that these options set.

    Raises:
        UsageError: ``--view`` is not the name of a view.
    """
    named = {
        "camera_node.source": arguments.camera,
        "arm_node.robot": arguments.robot,
        "camera_node.path": _camera_path(arguments),
        "arm_node.model": arguments.model,
        "arm_node.ur.ip": arguments.robot_ip,
    }
    overrides: dict[str, Scalar] = {name: value for name, value in named.items() if value is not None}
    if arguments.view:
        views = [str(parse_view(word)) for word in arguments.view]
        overrides |= {f"{node}.views": list(views) for node in nodes_with("views")}
    return overrides


def _camera_path(arguments: argparse.Namespace) -> str | None:
    path: str | None = arguments.camera_path
    if path is None or CameraSource.kind_of(arguments.camera) is CameraKind.OWN:
        return path
    return str(Path(path).resolve())
