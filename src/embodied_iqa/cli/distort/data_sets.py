"""`embodied-iqa distort DATASET --format lerobot`: a LeRobot data set for a LeRobot data set."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import next_command, print_json, print_left_out
from embodied_iqa.data.lerobot.dataset import DatasetImage, LeRobotDataset
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.lerobot.video_output import VideoCodec
from embodied_iqa.data.lerobot.writing import Copied, DatasetCopy
from embodied_iqa.imaging.distortions import DistortionSpec, distort
from embodied_iqa.imaging.distortions.batch import random_level
from embodied_iqa.imaging.distortions.stream import frame_generator

LEROBOT: Final = "lerobot"
_NOT_FOR_IT: Final = ("region", "inside", "outside", "workers")


def copy_dataset(arguments: argparse.Namespace, wanted: Sequence[tuple[str, int | None]]) -> int:
    """Write the data set with distorted images; return the exit code: 1 if an episode was left out.

    Args:
        arguments: Of the command.
        wanted: Distortions and their levels, None for random ones; exactly one makes a data set.
    """
    path, out = Path(arguments.input), arguments.out
    if not path.exists():
        raise InputError("no such input", expected="a LeRobot data set", got=str(path))
    if not is_lerobot(path):
        raise InputError("--format lerobot is for a LeRobot data set", got=str(path))
    given = next((name for name in _NOT_FOR_IT if hasattr(arguments, name)), None)
    if given is not None:
        raise UsageError("not an option for a data set", got=f"--{given}")
    if len(wanted) != 1:
        raise UsageError(
            "a data set has one distortion", expected="such as --distortion 19:5", got=len(wanted)
        )
    (kind, level), seed = wanted[0], getattr(arguments, "seed", 0)
    dataset, topics = LeRobotDataset(path), tuple(getattr(arguments, "only_topic", ()))
    chosen = {camera.key for camera in dataset.cameras(topics)}
    views = {camera.key: camera.view or camera.key for camera in dataset.info.cameras}
    starts_ns = dataset.starts_ns()

    def distorted(image: DatasetImage) -> NDArray[np.uint8]:
        if image.key not in chosen:
            return image.rgb
        of_image = random_level(seed, kind, image.name) if level is None else level
        spec = DistortionSpec(kind, of_image, seed)
        stamp_ns = starts_ns[image.step.episode] + image.step.stamp_ns
        return distort(image.rgb, kind, of_image, frame_generator(spec, views[image.key], stamp_ns))

    with ProgressBars() as bars:
        total = dataset.count()
        codec = VideoCodec(arguments.video) if hasattr(arguments, "video") else None
        copy = DatasetCopy(dataset, out, distorted, codec)
        copied = copy.write(lambda done: bars.update("distorting", done, total))
    _report(arguments, dataset, copied)
    return int(bool(copied.left_out))


def _report(arguments: argparse.Namespace, dataset: LeRobotDataset, copied: Copied) -> None:
    if getattr(arguments, "json", False):
        failed = [{"episode": index, "reason": reason} for index, reason in copied.left_out.items()]
        tree = {"out": str(arguments.out), "episodes": copied.episodes, "steps": copied.steps}
        print_json(tree | {"left_out": list(dataset.info.depth), "failed": failed})
    else:
        print(f"{arguments.out}: LeRobot v3.0, {copied.episodes} episodes, {copied.steps} steps")
        for key in dataset.info.depth:
            print(f"left out: {key} holds depth")
        next_command("recording", "info", arguments.out)
    print_left_out(f"episode {index}: {reason}" for index, reason in copied.left_out.items())
