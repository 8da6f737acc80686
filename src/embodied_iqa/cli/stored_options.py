"""Options of commands that read your own stored images: cameras, tasks, states of the robot."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.tasks.sentence import check_sentence

if TYPE_CHECKING:
    from embodied_iqa.data.database.sources.recorded import Sampling
    from embodied_iqa.data.recording.robot_states import StateTopics

_DEFAULT_EVERY_S = 1.0
_LIBERO = "libero"


class _Add(Protocol):
    """`add_argument` of a parser or of a group."""

    def __call__(self, *names: str, **options: Any) -> object: ...


def add_stored_options(add: _Add) -> None:
    """Add the options."""
    drivers = "realsense-ros, usb_cam or camera_ros"
    topic = f"image topic of a camera, its driver ({drivers}), or its key in a data set; repeatable"
    add("--topic", action="append", metavar="VIEW=TOPIC", help=topic)
    task = "the instruction of all images; of a data set: instead of its own"
    add("--task", metavar="TEXT", help=task)
    add("--every", type=float, metavar="S", help="least time between two images (default: 1 s)")
    states = "topics of the robot for a VLA: WHAT is tool, gripper or joints; repeatable"
    add("--state", action="append", metavar="WHAT=TOPIC", help=states)
    arm = "arm whose joints give the pose of the tool, and the length of the tool, such as ur5e:200"
    add("--arm", metavar="MODEL:MM", help=arm)


def sampling_of(arguments: argparse.Namespace, source: Path) -> Sampling:
    """Return what is taken of the images.

    Raises:
        UsageError: An option has another form, is given twice, or needs a recording and got something else.
    """
    from embodied_iqa.data.database.sources.recorded import Sampling
    from embodied_iqa.data.frames.cameras import parse_topics

    every_s = _DEFAULT_EVERY_S if arguments.every is None else arguments.every
    if not (math.isfinite(every_s) and every_s >= 0):
        raise UsageError("--every", expected="seconds from 0", got=every_s)
    task = check_sentence(arguments.task) if arguments.task else ""
    return Sampling(parse_topics(arguments.topic or ()), task, every_s, _states(arguments, source))


def refuse_stored_options(arguments: argparse.Namespace, why: str, besides: Sequence[str] = ()) -> None:
    """Refuse the options, besides some, where nothing stored is read.

    Raises:
        UsageError: One is given.
    """
    names = ("topic", "task", "every", "state", "arm")
    given = next(
        (name for name in names if getattr(arguments, name) is not None and name not in besides), None
    )
    if given is not None:
        raise UsageError(f"--{given} {why}")


def refuse_unused(arguments: argparse.Namespace, sampling: Sampling) -> None:
    """Refuse options that do nothing where a list or the decisions of a trial name the moments.

    Raises:
        UsageError: One is given, or two places of tasks.
    """
    if arguments.tasks is not None and sampling.task:
        raise UsageError("tasks come from one place", expected="--tasks or --task")
    if arguments.every is not None and not sampling.task:
        raise UsageError("--every needs --task")
    if arguments.state and arguments.tasks is None and not sampling.task:
        raise UsageError("--state needs --task or --tasks: decisions of a trial know where the tool was")


def refuse_half_a_state(sampling: Sampling) -> None:
    """Refuse states from which the pose of the tool and the gripper do not follow.

    Raises:
        UsageError: There are such.
    """
    if sampling.states.by_kind() and not sampling.states.has_pose:
        raise UsageError(
            "--state says too little",
            expected="gripper=TOPIC with tool=TOPIC, or with joints=TOPIC and --arm",
            got=" ".join(f"{kind}={topic}" for kind, topic in sampling.states.by_kind().items()),
        )


def _states(arguments: argparse.Namespace, source: Path) -> StateTopics:
    """Return where the recording says what of the robot."""
    from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel
    from embodied_iqa.data.lerobot.info import is_lerobot
    from embodied_iqa.data.recording.recording_names import is_recording
    from embodied_iqa.data.recording.robot_states import TYPES, StateTopics

    words: Sequence[str] = arguments.state or ()
    topics = dict(word.partition("=")[::2] for word in words)
    if not topics.keys() <= {*TYPES, _LIBERO} or not all(topics.values()) or len(words) > len(topics):
        expected = ", ".join(f"--state {kind}=TOPIC" for kind in TYPES)
        raise UsageError("wrong --state", expected=expected, got=" ".join(words))
    if _LIBERO in topics and (len(topics) > 1 or not is_lerobot(source)):
        raise UsageError(
            "--state libero is the whole state, of a data set",
            expected="such as libero=observation.state:0 alone",
            got=f"{' '.join(words)} of {source}",
        )
    if arguments.arm and "joints" not in topics:
        raise UsageError("--arm needs the joints", expected="--state joints=TOPIC")
    if arguments.arm and "tool" in topics:
        raise UsageError("the pose of the tool comes from one place", expected="--arm or --state tool=TOPIC")
    if words and not (is_recording(source) or is_lerobot(source)):
        raise UsageError("--state is of a recording or data set", got=str(source))
    model, _, length_mm = (arguments.arm or f"{ArmModel.UNSET}:0").partition(":")
    if (arguments.arm and model not in NAMED_MODELS) or not length_mm.isdecimal():
        expected = "the model and the length of its tool in mm, such as ur5e:200"
        raise UsageError("wrong --arm", expected=expected, got=arguments.arm, available=NAMED_MODELS)
    return StateTopics(**topics, arm=ArmModel(model), tool_m=int(length_mm) / 1000)
