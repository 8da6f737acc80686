"""Options of `embodied-iqa cell init`, checked by themselves before the packages that read a cell load."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from embodied_iqa.arm.robot.limits import ArmLimits, check_corner
from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.models import NAMED_MODELS
from embodied_iqa.cli.gate_options import add_calibration
from embodied_iqa.cli.output import print_progress
from embodied_iqa.cli.parser import perform
from embodied_iqa.data.frames.cameras import parse_topics

NO_ROBOT: Final = "none"
_LIMITS: Final = ("--workspace-min", "--workspace-max", "--table-z", "--tool-height", "--wall-x")
_ARM_NUMBERS: Final = ("--tool-length", *_LIMITS)
_RANGED: Final = {"table_z": "table_z_m", "tool_height": "tool_height_m", "wall_x": "wall_x_m"}
"""Options whose limit of the arm has a range."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, default=Path("cell.yaml"), metavar="FILE", help="new file (default cell.yaml)")
    add("--robot-ip", metavar="ADDRESS", help=f"address of the UR controller; {NO_ROBOT} for no arm")
    models = [str(model) for model in NAMED_MODELS]
    add(
        "--model", choices=models, help="model on the nameplate of the arm, where its controller does not say"
    )
    add("--tool-length", type=float, metavar="M", help="from the flange to the tool centre point [m]")
    for name, corner in (("min", "lower"), ("max", "upper")):
        text = f"{corner} corner of the box that the tool never leaves, base frame [m]"
        add(f"--workspace-{name}", type=float, nargs=3, metavar=("X", "Y", "Z"), help=text)
    add("--table-z", type=float, metavar="M", help="height of the table top, base frame [m]")
    height = "smallest height of the tool above the table [m]"
    add("--tool-height", type=float, metavar="M", help=height)
    wall = "x of the wall behind the base, where no part of the arm may go, base frame [m]"
    add("--wall-x", type=float, metavar="M", help=wall)
    camera = "topic of a camera's images, such as top=/camera/camera/color/image_raw; may be repeated"
    add("--topic", action="append", metavar="VIEW=TOPIC", help=camera)
    add_calibration(add, ", if there is one already")
    add("--vla", metavar="SUBJECT", help="policy, such as pi0-ur5=openpi://gpu:8000")
    add("--vlm", metavar="SUBJECT", help="VLM that answers about the images; none for no VLM")
    add("--seconds", type=float, default=3.0, metavar="S", help="how long to look at the cameras (default 3)")
    add("--yes", action="store_true", help="ask nothing: accept what is read, leave out the rest")
    add("--json", action="store_true", help="print the file and what was left out as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Say what is looked for, then write the file; return the exit code."""
    check_new(arguments.out)
    if not 0.0 < arguments.seconds < math.inf:
        raise UsageError("--seconds", expected="a time above 0", got=arguments.seconds)
    _check_arm(arguments)
    arguments.is_asked = sys.stdin.isatty() and not arguments.yes
    if not arguments.is_asked:
        _check_answered(arguments)
    topics = parse_topics(arguments.topic or ())
    arguments.topics = {
        view: topic if topic.startswith("/") else f"/{topic}" for view, topic in topics.items()
    }
    print_progress(f"looking for {_sought(arguments.robot_ip, arguments.topics.values())}: some seconds")
    return perform("embodied_iqa.cli.cell.init:run", arguments)


def check_new(out: Path) -> None:
    """Refuse a file that is there.

    Raises:
        UsageError: It is.
    """
    if out.exists():
        raise UsageError(f"{out} exists", expected="--out with a new file")


def _sought(ip: str | None, topics: Iterable[str]) -> str:
    """Return in words what is looked for."""
    arm = "" if ip in {None, NO_ROBOT} else f"the arm at {ip} and "
    return f"{arm}images on {', '.join(topics) or 'all topics'}"


def _check_answered(arguments: argparse.Namespace) -> None:
    """Check that nobody has to be asked.

    Raises:
        UsageError: Options are missing; the message names all of them.
    """
    needed = ["--robot-ip", "--topic"]
    if not arguments.yes:
        arm = _LIMITS if arguments.robot_ip != NO_ROBOT else ()
        needed += [*arm, "--calibration", "--vla", "--vlm"]
    elif arguments.workspace_min is not None or arguments.workspace_max is not None:
        needed += ["--workspace-min", "--workspace-max"]  # the other corner would be of the simulated cell
    missing = [word for word in needed if getattr(arguments, word[2:].replace("-", "_")) is None]
    if missing:
        rest = "" if arguments.yes else ", or --yes to leave out what cannot be read"
        raise UsageError("nobody is asked for what is missing", expected=f"{' '.join(missing)}{rest}")


def _check_arm(arguments: argparse.Namespace) -> None:
    """Check that what is said of the arm is of one."""
    if arguments.model is not None and arguments.robot_ip == NO_ROBOT:
        raise UsageError("--model is of an arm", expected=f"--robot-ip with an address, not {NO_ROBOT}")
    for name in _ARM_NUMBERS:
        given = getattr(arguments, name[2:].replace("-", "_"))
        numbers = given if isinstance(given, list) else [given]
        if given is None:
            continue
        if arguments.robot_ip == NO_ROBOT:
            raise UsageError(f"{name} is of an arm", expected=f"--robot-ip with an address, not {NO_ROBOT}")
        if not all(map(math.isfinite, numbers)):
            raise UsageError(f"wrong {name}", expected="finite numbers", got=given)
        if isinstance(given, list):
            check_corner(given, name)
    check_corners(arguments.workspace_min, arguments.workspace_max)
    given = {name: getattr(arguments, option) for option, name in _RANGED.items()}
    build(ArmLimits, {name: value for name, value in given.items() if value is not None}, "arm_node.limits")


def check_corners(lower: Sequence[float] | None, upper: Sequence[float] | None) -> None:
    """Check that a box is none, or has both corners in the right order.

    Raises:
        UsageError: It is not.
    """
    if lower is None or upper is None or all(low < high for low, high in zip(lower, upper, strict=True)):
        return
    raise UsageError("no box lies between the corners", expected=f"each above {list(lower)}", got=list(upper))
