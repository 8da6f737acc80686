"""`embodied-iqa gate`: calibrates the gate, fits it to a policy, judges images, guards policies."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.cli.gate_options import add_calibration, add_judge
from embodied_iqa.cli.parser import Parser, perform
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS

_ACTIONS: Final = {
    "calibrate": "calibrating:calibrate_cameras",
    "check": "calibrating:check",
    "fit": "fitting:fit",
    "proxy": "proxying:proxy",
    "run": "running:run_gate",
}
_ELSEWHERE: Final = {
    "calibrate": "or make the file on another machine, and copy it",
    "check": "or check the file on another machine",
}
"""What else helps where an action that reads images of any kind lacks packages."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    calibrate = actions.add_parser("calibrate", help="calibrate cameras from 20 clean frames or more")
    calibrate.module = f"{__name__}.live_source"
    check = actions.add_parser("check", help="judge the images of a folder or recording")
    add_calibration(check.add_argument, required=True)
    fit = actions.add_parser("fit", help="fit the gate to what a policy loses, with a promise on new scenes")
    fit.module = f"{__name__}.fit_options"
    proxy = actions.add_parser("proxy", help="judge the images on their way to a policy server")
    proxy.module = f"{__name__}.proxy_options"
    run_node = actions.add_parser("run", help="judge image topics of ROS beside nodes of others")
    run_node.add_argument(
        "--topic",
        action="append",
        metavar="VIEW=TOPIC",
        help="image topic of a camera; may be repeated. A TOPIC alone is of the calibration's camera, {view} "
        "in it the name of each (default: /{view}/camera/color/image_raw of realsense-ros)",
    )
    more = "ROS parameter file; may be repeated, later ones win"
    run_node.add_argument("--config", action="append", default=[], metavar="FILE", help=more)
    for argument in GATE_ARGUMENTS:
        if argument.name not in {"image", "config"}:
            run_node.add_argument(f"--{argument.name}", metavar=argument.value, help=argument.description)
    run_node.add_argument("--json", action="store_true", help="print the topics as JSON")
    add_judge(check.add_argument, more="; the last two of `gate fit`")
    for action, count in ((calibrate, "?"), (check, None)):
        source = "images, a folder of them or of folders by camera, recording, data set, or database"
        action.add_argument("source", type=Path, nargs=count, help=source)
        action.add_argument("--view", action="append", metavar="VIEW", help="name of a camera")
        action.add_argument(
            "--topic",
            action="append",
            metavar="VIEW=TOPIC",
            help="image topic of a camera, or its key in a data set",
        )
        action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return the exit code.

    Raises:
        MissingDependencyError: Only the extra `gate` is installed, which reads PNG and JPEG files alone.
    """
    try:
        return perform(f"{__name__}.{_ACTIONS[arguments.action]}", arguments)
    except MissingDependencyError as error:
        if arguments.action not in _ELSEWHERE or _is_of_files(arguments.source):
            raise
        what = "from anything but a folder of PNG and JPEG files"
        needs = f"gate {arguments.action} {what} needs more than the extra `gate`"
        raise MissingDependencyError(f"{needs}: {error}; {_ELSEWHERE[arguments.action]}") from error


def _is_of_files(source: Path | None) -> bool:
    """Return whether images are in files, or of no stored source: what lacks is not what reads them."""
    from embodied_iqa.data.database.clean_frames import is_of_files

    return source is None or is_of_files(source)
