"""`embodied-iqa distort`: distorts images; lists, calibrates, draws distortions; trains the denoiser.

The first argument is an action, `list`, `calibrate`, `sheet` or `train-denoiser`, or else the input.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.plan_options import add_levels, seed_number
from embodied_iqa.data.lerobot.video_output import VideoCodec
from embodied_iqa.world.simulation.camera import CameraModel

__all__ = ["configure", "run"]

IMAGES: Final = "images"
ACTIONS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "list": ("listing", frozenset({"json"})),
    "calibrate": ("calibrate", frozenset({"out", "curve_points", "images", "camera_model", "json"})),
    "sheet": ("sheet", frozenset({"out", "reference", "seed", "all_miqd"})),
    "train-denoiser": ("train", frozenset({"out", "training_steps", "seed", "images"})),
    IMAGES: (
        "distorting",
        frozenset(
            {"distortion", "all", "all_miqd", "levels", "region", "inside", "outside", "seed", "workers"}
            | {"out", "format", "json", "only_topic", "depth_out", "video"}
        ),
    ),
}
"""Action to the module of this folder that performs it, and its options."""

EPILOG: Final = """actions, given instead of IN:
  list              every distortion with its parameters and their sources   [--json]
  calibrate         find parameters with which levels look equally degraded
                    [--out --curve-points --images --camera-model --json]
  sheet             draw every distortion at every level; --out X.png, or a folder for a sheet
                    for each class   [--out --reference --seed --all-miqd]
  train-denoiser    train the network of distortion 17   [--out --training-steps --seed --images]

examples:
  embodied-iqa distort IN.png --distortion 15:4 --seed 3 --out DIR
  embodied-iqa distort FOLDER --all --levels 1,3,5 --workers 2 --out DIR
  embodied-iqa distort IN.png --distortion miqd:fog --region roi.png --inside 4 --outside 1 --out DIR
  embodied-iqa distort runs/X/trial.mcap --distortion 10:5 --out DIR
  embodied-iqa distort DATASET --only-topic observation.images.top --distortion 10:5 --out DIR
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.argument_default = argparse.SUPPRESS
    parser.add_argument(
        "input",
        metavar="IN",
        help="an image, a folder of images, a video, a recording, a LeRobot data set, or an action (below)",
    )
    add = parser.add_argument
    add(
        "--distortion",
        action="append",
        metavar="ID[:LEVEL]",
        help="such as 15:4, motion-blur, miqd:fog:2; repeatable",
    )
    add("--all", action="store_true", help="all 30 distortions")
    miqd = "all 10 machine-vision distortions (sheet: instead of the 30)"
    add("--all-miqd", action="store_true", help=miqd)
    one = "one for each image and distortion"
    add_levels(parser, "of distortions given without one", "all", random=one, is_set=False)
    add("--region", type=Path, metavar="MASK", help="mask of the region, white inside")
    add("--inside", type=int, metavar="L", help="level inside the region")
    add("--outside", type=int, metavar="L", help="level outside the region")
    add(
        "--only-topic",
        action="append",
        metavar="TOPIC",
        help="image topic of a recording, or camera of a data set; repeatable",
    )
    depth = "of a recording or data set: write the depth of each image there, 16 bits in mm, as it is"
    add("--depth-out", type=Path, metavar="DIR", help=depth)
    add("--seed", type=seed_number, metavar="N", help="random seed (default 0)")
    add("--workers", type=int, metavar="N", help="processes (default: one per processor)")
    add("--out", type=Path, metavar="PATH", help="output")
    forms = "lossless format of the images (default png), or lerobot: a data set for a data set"
    add("--format", choices=("png", "webp", "lerobot"), help=forms)
    codecs = [str(codec) for codec in VideoCodec]
    add("--video", choices=codecs, help="with --format lerobot: videos instead of images without loss")
    add("--curve-points", type=int, metavar="N", help="points of a calibration curve (default 24)")
    add("--training-steps", type=int, metavar="N", help="of the denoiser (default 12000)")
    add("--reference", type=Path, metavar="FILE", help="the image to draw the sheet from")
    add("--images", type=Path, metavar="DIR", help="images for calibration or training")
    models = [str(model) for model in CameraModel]
    add("--camera-model", choices=models, help="of rendered references (default ideal)")
    add("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Perform the action."""
    action = arguments.input if arguments.input in ACTIONS else IMAGES
    module, options = ACTIONS[action]
    unknown = sorted(set(vars(arguments)) - {"input"} - options)
    if unknown:
        available = sorted(map(_flag, options))
        raise UsageError(f"not an option for {action}", got=_flag(unknown[0]), available=available)
    return perform(f"{__name__}.{module}:run", arguments)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
