"""`embodied-iqa cell init`: asks, reads robot and cameras, and writes the parameter file of a cell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot, read_snapshot
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.cli.cell.arm_answers import (
    FoundArm,
    arm_of,
    box_below,
    box_beyond,
    check_options,
    check_values,
    describe_arm,
    tool_outside,
)
from embodied_iqa.cli.cell.init_options import NO_ROBOT, check_new
from embodied_iqa.cli.cell.questions import (
    Questions,
    ask_cameras,
    gate_file,
    policy,
    read_answer,
    vlm_or_none,
    word,
)
from embodied_iqa.cli.output import next_command, print_json, print_note
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.backends.policies import needs_convention
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.runs.cell.cell_file import CellFile
from embodied_iqa.runs.cell.discovery import DISCOVERY_S, await_topics

if TYPE_CHECKING:
    from embodied_iqa.runs.cell.seen_camera import SeenCamera

_READ_S: Final = 5.0
_STILL_S: Final = 0.5
_TYPED: Final = "as given"
_CONVENTION: Final = (
    "vla_node.policy.convention: what the actions of the policy mean, unless its server states that, as "
    "`embodied-iqa serve` does"
)


def run(arguments: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    out: Path = arguments.out
    _check_given(arguments)
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()  # what the cameras need is missed before anything is looked for
    questions = Questions(read_answer if arguments.is_asked else None)
    given: dict[View, str] = arguments.topics
    where = f"Address of the UR controller, or {NO_ROBOT}"
    given_ip: str | None = arguments.robot_ip
    # what cannot be read ends it before the person has answered the rest
    at = arm_at(given_ip) if given_ip is not None else questions.ask(where, arm_at, needed=True)
    robot, seen = at or (NO_ROBOT, None)
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
    check_new(out)
    write_text_whole(out, file.text())
    print_note(box_beyond(file.values()))
    print_note(box_below(file.values()))
    print_note("" if arm is None else tool_outside(file.values(), arm.seen.q_rad))
    if arguments.json:
        print_json({"file": str(out), "left_out": file.left_out})
        return 0
    print(out)
    for line in file.left_out:
        print(f"left out: {line}")
    next_command("cell", "check", out)
    return 0


def arm_at(address: str) -> tuple[str, RtdeSnapshot | None]:
    """Return an address with the state of the arm there; without a state where no arm answers.

    Raises:
        InputError: No arm answers there.
    """
    if word(address) == NO_ROBOT:
        return address, None
    try:
        return address, read_snapshot(address, _READ_S)
    except InputError as error:
        expected = f"the address of a running UR controller or emulator, or {NO_ROBOT} for no arm"
        raise InputError(f"no arm answers at {address}: {error}", expected=expected) from error


def _check_given(arguments: argparse.Namespace) -> None:
    """Check the options before anything is read or asked."""
    if arguments.tool_length is not None:
        arm_of({"arm_node.tool_length_m": arguments.tool_length})
    if arguments.calibration is not None:
        gate_file(str(arguments.calibration))
    if arguments.vla is not None:
        policy(arguments.vla)
    if arguments.vlm is not None:
        vlm_or_none(arguments.vlm)


# --- the cameras --------------------------------------------------------------------------------------------


def _describe_cameras(
    file: CellFile, given: dict[View, str], arguments: argparse.Namespace, questions: Questions
) -> None:
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


# --- gate, policy and VLM ----------------------------------------------------------------------------------


def _describe_rest(file: CellFile, arguments: argparse.Namespace, questions: Questions) -> None:
    file.set("gate_node.judge.still_s", _STILL_S, "sensors have noise; 0 for video that omits still parts")

    def fitting_gate(text: str) -> Path:
        path = gate_file(text)
        check_values(file.values() | {"gate_node.calibration": str(path)})
        return path

    def fitting_policy(text: str) -> str:
        check_values(file.values() | {"vla_node.subject": policy(text)})
        return text

    def fitting_vlm(text: str) -> str:
        check_values(file.values() | {"vlm_node.subject": vlm_or_none(text)})
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
        if needs_convention(parse_vla(vla)):
            file.left_out.append(_CONVENTION)
    vlm = arguments.vlm or questions.ask("VLM that answers about the images, or none", fitting_vlm)
    if vlm is None:
        file.left_out.append("vlm_node.subject: the VLM, or none (`embodied-iqa subjects list`)")
    else:
        file.set("vlm_node.subject", vlm, _TYPED)
