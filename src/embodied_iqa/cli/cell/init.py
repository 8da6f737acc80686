"""`embodied-iqa cell init`: asks, reads robot and cameras, and writes the parameter file of a cell."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot, read_snapshot
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.kinematics.models import NAMED_MODELS
from embodied_iqa.cli.cell.arm_answers import (
    FoundArm,
    arm_of,
    check_options,
    check_values,
    describe_arm,
    tool_outside,
)
from embodied_iqa.cli.cell.questions import (
    Questions,
    ask_cameras,
    check_corners,
    gate_file,
    policy,
    read_answer,
    word,
)
from embodied_iqa.cli.output import next_command, print_json, print_note, print_progress
from embodied_iqa.data.frames.cameras import parse_topics
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.cell.cell_file import CellFile
from embodied_iqa.runs.cell.discovery import DISCOVERY_S, await_topics

if TYPE_CHECKING:
    from embodied_iqa.runs.cell.seen_camera import SeenCamera

_READ_S: Final = 5.0
_TYPED: Final = "as given"
_NO_ROBOT: Final = "none"
_ARM_NUMBERS: Final = ("--tool-length", "--workspace-min", "--workspace-max", "--table-z")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--out", type=Path, default=Path("cell.yaml"), metavar="FILE", help="new file (default cell.yaml)")
    add("--robot-ip", metavar="ADDRESS", help=f"address of the UR controller; {_NO_ROBOT} for no arm")
    models = [str(model) for model in NAMED_MODELS]
    add(
        "--model", choices=models, help="model on the nameplate of the arm, where its controller does not say"
    )
    add("--tool-length", type=float, metavar="M", help="from the flange to the tool centre point [m]")
    for name, corner in (("min", "lower"), ("max", "upper")):
        text = f"{corner} corner of the box that the tool never leaves, base frame [m]"
        add(f"--workspace-{name}", type=float, nargs=3, metavar=("X", "Y", "Z"), help=text)
    add("--table-z", type=float, metavar="M", help="height of the table top, base frame [m]")
    camera = "topic of a camera's images, such as top=/camera/camera/color/image_raw; may be repeated"
    add("--topic", action="append", metavar="VIEW=TOPIC", help=camera)
    add("--calibration", type=Path, metavar="FILE", help="calibration of the gate, if there is one already")
    add("--vla", metavar="SUBJECT", help="policy, such as pi0-ur5=openpi://gpu:8000")
    add("--seconds", type=float, default=3.0, metavar="S", help="how long to look at the cameras (default 3)")
    add("--yes", action="store_true", help="ask nothing: accept what is read, leave out the rest")
    add("--json", action="store_true", help="print the file and what was left out as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    out: Path = arguments.out
    _check_new(out)
    if not 0.0 < arguments.seconds < math.inf:
        raise UsageError("--seconds", expected="a time above 0", got=arguments.seconds)
    _check_given(arguments)
    is_asked = sys.stdin.isatty() and not arguments.yes
    if not is_asked:
        _check_answered(arguments)
    questions = Questions(read_answer if is_asked else None)
    topics = parse_topics(arguments.topic or ())
    given = {view: topic if topic.startswith("/") else f"/{topic}" for view, topic in topics.items()}
    print_progress(f"looking for {_sought(arguments.robot_ip, given)}: some seconds")
    where = f"Address of the UR controller, or {_NO_ROBOT}"
    given_ip: str | None = arguments.robot_ip
    # what cannot be read ends it before the person has answered the rest
    at = arm_at(given_ip) if given_ip is not None else questions.ask(where, arm_at, needed=True)
    robot, seen = at or (_NO_ROBOT, None)
    arm = None if seen is None else FoundArm.at(robot, seen)
    if arm is not None:
        check_options(arguments, arm)
    file = CellFile()
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    file.remarks.append(f"Parameters of a cell, written by `embodied-iqa cell init` on {now}.")
    _describe_cameras(file, given, arguments, questions)
    describe_arm(file, arm, arguments, questions)
    _describe_rest(file, arguments, questions)
    check_values(file.values())
    _check_new(out)
    write_text_whole(out, file.text())
    print_note("" if arm is None else tool_outside(file.values(), arm.seen.q_rad))
    if arguments.json:
        print_json({"file": str(out), "left_out": file.left_out})
        return 0
    print(out)
    for line in file.left_out:
        print(f"left out: {line}")
    next_command("cell", "check", out)
    return 0


def _sought(ip: str | None, topics: Mapping[View, str]) -> str:
    """Return in words what is looked for."""
    arm = "" if ip in {None, _NO_ROBOT} else f"the arm at {ip} and "
    return f"{arm}images on {', '.join(topics.values()) or 'all topics'}"


def arm_at(address: str) -> tuple[str, RtdeSnapshot | None]:
    """Return an address with the state of the arm there; without a state where no arm answers.

    Raises:
        InputError: No arm answers there.
    """
    if word(address) == _NO_ROBOT:
        return address, None
    try:
        return address, read_snapshot(address, _READ_S)
    except InputError as error:
        expected = f"the address of a running UR controller or emulator, or {_NO_ROBOT} for no arm"
        raise InputError(f"no arm answers at {address}: {error}", expected=expected) from error


def _check_answered(arguments: argparse.Namespace) -> None:
    """Check that nobody has to be asked.

    Raises:
        UsageError: Options are missing; the message names all of them.
    """
    needed = ["--robot-ip", "--topic"]
    if not arguments.yes:
        arm = ["--workspace-min", "--workspace-max", "--table-z"] if arguments.robot_ip != _NO_ROBOT else []
        needed += [*arm, "--calibration", "--vla"]
    elif arguments.workspace_min is not None or arguments.workspace_max is not None:
        needed += ["--workspace-min", "--workspace-max"]  # the other corner would be of the simulated cell
    missing = [word for word in needed if getattr(arguments, word[2:].replace("-", "_")) is None]
    if missing:
        rest = "" if arguments.yes else ", or --yes to leave out what cannot be read"
        raise UsageError("nobody is asked for what is missing", expected=f"{' '.join(missing)}{rest}")


def _check_new(out: Path) -> None:
    if out.exists():
        raise UsageError(f"{out} exists", expected="--out with a new file")


def _check_given(arguments: argparse.Namespace) -> None:
    """Check the options before anything is read or asked."""
    if arguments.model is not None and arguments.robot_ip == _NO_ROBOT:
        raise UsageError("--model is of an arm", expected=f"--robot-ip with an address, not {_NO_ROBOT}")
    for name in _ARM_NUMBERS:
        given = getattr(arguments, name[2:].replace("-", "_"))
        numbers = given if isinstance(given, list) else [given]
        if given is None:
            continue
        if arguments.robot_ip == _NO_ROBOT:
            raise UsageError(f"{name} is of an arm", expected=f"--robot-ip with an address, not {_NO_ROBOT}")
        if not all(map(math.isfinite, numbers)):
            raise UsageError(f"wrong {name}", expected="finite numbers", got=given)
    check_corners(arguments.workspace_min, arguments.workspace_max)
    if arguments.tool_length is not None:
        arm_of({"arm_node.tool_length_m": arguments.tool_length})
    if arguments.calibration is not None:
        gate_file(str(arguments.calibration))
    if arguments.vla is not None:
        policy(arguments.vla)


# --- the cameras --------------------------------------------------------------------------------------------


def _describe_cameras(
    file: CellFile, given: dict[View, str], arguments: argparse.Namespace, questions: Questions
) -> None:
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    from embodied_iqa.live.cell.clean_recording import cell_node
    from embodied_iqa.live.cell.looking import info_topic, look_at_topics, spin_for
    from embodied_iqa.live.ros.image_topics import image_topics
    from embodied_iqa.runs.graph.topic_parameters import ViewTopics

    with cell_node("cell_init", "") as node:
        present = await_topics(partial(image_topics, node), partial(spin_for, node), given.values())
        if not present:
            raise InputError(
                f"nobody publishes images within {DISCOVERY_S:g} s",
                expected="a running camera driver in this ROS domain",
            )
        chosen = given or ask_cameras(questions, present)
        for view, topic in chosen.items():
            if topic not in present:
                raise InputError(
                    f"nobody publishes images of the {view} camera",
                    expected=beside if (beside := f"{topic}/compressed") in present else None,
                    got=topic,
                    available=present,
                )
        infos = {view: info_topic(node, topic) for view, topic in chosen.items()}
        topics = {view: ViewTopics(topic, infos[view], "") for view, topic in chosen.items()}
        seen = look_at_topics(node, topics, arguments.seconds)
    _check_read(seen, arguments.seconds)
    compressed = [topic.endswith("/compressed") for topic in chosen.values()]
    if any(compressed) and not all(compressed):
        raise InputError("cameras of one cell are all compressed or none", got=", ".join(chosen.values()))
    file.set("camera_node.source", "topic", "images come from other nodes")
    file.set("camera_node.views", [str(view) for view in chosen], _TYPED)
    about = "; ".join(f"{one.view}: {one.text}" for one in seen)
    file.set("camera_node.topic.image", ", ".join(chosen.values()), about)
    silent = "nobody publishes camera_info beside its images: not calibrated"
    lenses = "; ".join(f"{one.view}: {one.lens_text if infos[one.view] else silent}" for one in seen)
    file.set("camera_node.topic.info", ", ".join(info or "none" for info in infos.values()), lenses)
    if any(compressed):
        file.set("camera_node.topic.transport", "compressed", "the topics are of CompressedImage")
    for view in chosen:
        pose = f"camera_node.hand_eye.T_base_camera_{view} or T_flange_camera_{view}"
        file.left_out.append(f"{pose}: a hand-eye calibration")


def _check_read(cameras: Sequence[SeenCamera], seconds: float) -> None:
    """Check that an image of every camera was read.

    Raises:
        InputError: Of some there was none; the message names all of them.
    """
    silent, unread = f"no image within {seconds:g} s", [one for one in cameras if one.rgb is None]
    words = [f"{one.view}: {one.problem or silent} ({one.source})" for one in unread]
    if words:
        raise InputError("a camera cannot be read", expected="images", got="; ".join(words))


# --- gate and policy ----------------------------------------------------------------------------------------


def _describe_rest(file: CellFile, arguments: argparse.Namespace, questions: Questions) -> None:

    def fitting_gate(text: str) -> Path:
        path = gate_file(text)
        check_values(file.values() | {"gate_node.calibration": str(path)})
        return path

    def fitting_policy(text: str) -> str:
        check_values(file.values() | {"vla_node.subject": policy(text)})
        return text

    gate = arguments.calibration or questions.ask("Calibration of the gate, a file", fitting_gate)
    if gate is None:
        file.left_out.append("gate_node.calibration: `record` clean images, then `gate calibrate`")
    else:
        file.set("gate_node.calibration", str(gate.resolve()), _TYPED)
    vla = arguments.vla or questions.ask("Policy, such as pi0-ur5=openpi://gpu:8000", fitting_policy)
    if vla is None:
        file.left_out.append("vla_node.subject: the policy (`embodied-iqa subjects list`)")
    else:
        file.set("vla_node.subject", vla, _TYPED)
